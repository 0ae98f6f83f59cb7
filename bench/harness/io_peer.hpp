// bench/harness/io_peer.hpp: asking io_peer.cpp, which lies beside the measuring program.
#pragma once

#include <bench/harness/program.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace bench {

/// What the peer has seen. Wrong where it said nothing, or an answer was wrong or did not come.
struct peer_result {
  bool is_right = false;
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
  double goes_first = 0;
};

/// Talks to an echo server at that port, as the parameters say. Blocks: until it has done so.
inline auto asked_by_peer(const parameters& given, std::uint16_t port) -> peer_result {
  const auto number = [&](const char* name, std::uint64_t otherwise) {
    return " " + std::to_string(given.number(name, otherwise));
  };
  const std::filesystem::path peer = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench_io_peer";
  const std::string command = peer.string() + " " + std::to_string(port) + number("connections", 8) +
                              number("ms", 1'000) + number("gap_us", 250);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "re"), &::pclose);
  peer_result seen;
  std::array<double, 3> counts{};
  const int read = std::fscanf(output.get(), "%lf %lf %lf %lf %lf %lf %lf %lf", &counts[0], &counts[1], &counts[2],
                               &seen.p50_us, &seen.p99_us, &seen.p999_us, &seen.max_us, &seen.goes_first);
  seen.is_right = read == 8 && counts[0] == counts[1] && counts[2] == 0;
  return seen;
}

}  // namespace bench
