// bench/memory/cases.hpp: what a small program has resident.
#pragma once

#include <bench/harness/program.hpp>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

namespace bench {

/// Of this process, in units of 10^6 bytes.
inline auto resident_mb() -> double {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (double kib = 0; word == "VmRSS:" && status >> kib) return kib * 1024 / 1e6;
  return 0;
}

/// `run(span, look)` makes a runtime, lets a task of it wait for so long, and calls `look` before the runtime ends.
template <typename Run>
auto small_program(const parameters& given, Run run) -> sample {
  const std::chrono::milliseconds span(given.number("ms", 1));
  double resident = 0;
  const auto begin = std::chrono::steady_clock::now();
  sample measured = timed(1, true, [&] {
    run(span, [&] { resident = resident_mb(); });
    return resident > 0 && std::chrono::steady_clock::now() - begin >= span;
  });
  measured.extra = {{"resident_mb", resident}};
  return measured;
}

}  // namespace bench
