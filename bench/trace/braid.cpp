// bench/trace/braid.cpp: what an event costs the thread that notes it, with the flight recorder on.
#include <bench/trace/cases.hpp>

#include <filesystem>

auto main(int count, char** arguments) -> int {
  const auto file = std::filesystem::temp_directory_path() / ("bench_trace." + std::to_string(::getpid()));
  bench::begin_with((file.string() + ",last=1s").c_str(), arguments);
  return bench::run_program(count, arguments, "trace", bench::trace_cases<true>(bench::braid_contender()));
}
