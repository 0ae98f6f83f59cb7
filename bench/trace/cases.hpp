// bench/trace/cases.hpp: events that a thread notes, in bursts that its ring holds; between two of them it is emptied.
#pragma once

#include <bench/harness/program.hpp>

#include <braid/trace/trace.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace bench {

/// Whether the process is traced is decided when the library is loaded: so the program begins anew, with that variable
/// or without it.
inline void begin_with(const char* traced, char** arguments) {
  const char* const now = std::getenv("BRAID_TRACE");
  const bool is_so = traced == nullptr ? now == nullptr : now != nullptr && std::string(now) == traced;
  if (is_so) return;
  if (traced == nullptr)
    ::unsetenv("BRAID_TRACE");
  else
    ::setenv("BRAID_TRACE", traced, 1);
  ::execv("/proc/self/exe", arguments);
  std::abort();
}

/// `event` notes `events` of them.
template <bool Traced, std::uint64_t Events, auto Event>
auto bursts(const parameters& given) -> sample {
  using namespace std::chrono_literals;
  const std::uint64_t size = given.number("burst", 4'096);
  const std::uint64_t count = given.number("bursts", 200);
  sample all{.items = static_cast<double>(size * count * Events), .is_right = true};
  Event();  // makes the ring
  for (std::uint64_t burst = 0; burst < count; ++burst) {
    std::this_thread::sleep_for(4ms);  // the ring is emptied meanwhile
    const sample one = timed(1, Traced, [size] {
      for (std::uint64_t i = 0; i < size; ++i) Event();
      return braid::trace::is_on();
    });
    all.wall_ns += one.wall_ns;
    all.cpu_ns += one.cpu_ns;
    all.is_right = all.is_right && one.is_right;
  }
  return all;
}

inline void note_span() { const braid::trace::span shown("span"); }
inline void note_counter() { braid::trace::counter("counter", 1); }

template <bool Traced>
auto trace_cases(const contender& who) -> std::vector<solution> {
  return {{"span", who, bursts<Traced, 2, &note_span>}, {"counter", who, bursts<Traced, 1, &note_counter>}};
}

}  // namespace bench
