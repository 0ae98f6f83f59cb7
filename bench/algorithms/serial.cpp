// bench/algorithms/serial.cpp: the algorithms of the standard library, on one thread.
#include <bench/algorithms/problems.hpp>

#include <numeric>

namespace {

using bench::parameters;

constexpr auto sort = [](auto& all) { std::sort(all.begin(), all.end()); };
constexpr auto scan = [](const auto& in, auto& out) { std::inclusive_scan(in.begin(), in.end(), out.begin()); };
constexpr bench::standard_algorithms<> standard;
constexpr auto region = [](auto& all, std::uint64_t steps) {
  for (bench::worked_number& each : all) each.work(steps);
};
constexpr auto loop = [](auto& all) {
  for (double& each : all) bench::step(each);
};

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender serial{.name = "serial", .kind = bench::kind::reference, .version = ""};
  const auto alone = [](auto timed, const auto& work) {
    return [timed, &work](const parameters& given) {
      static_cast<void>(given.workers());
      return timed(given, work);
    };
  };
  return bench::run_program(
      count, arguments, "algorithms",
      {{"scan", serial, alone([](auto&... all) { return bench::timed_scan(all...); }, scan)},
       {"sort", serial, alone([](auto&... all) { return bench::timed_sort(all...); }, sort)},
       {"standard", serial, alone([](auto&... all) { return bench::timed_standard(all...); }, standard)},
       {"region", serial, alone([](auto&... all) { return bench::timed_regions(all...); }, region)},
       {"loop", serial, alone([](auto&... all) { return bench::timed_loop(all...); }, loop)}});
}
