// bench/algorithms/tbb.cpp: parallel_scan, parallel_sort and parallel_for of oneTBB, and std::execution::par, which
// libstdc++ builds on it.
#include <bench/algorithms/problems.hpp>
#include <bench/harness/tbb.hpp>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <execution>
#include <functional>

namespace {

using bench::parameters;
using bench::sample;

auto run_scan(const parameters& given) -> sample {
  // clang-format off: a page shows these lines
  // [scan]
  const auto scan = [](const std::vector<double>& in,
                       std::vector<double>& out) {
    tbb::parallel_scan(
        tbb::blocked_range<std::size_t>(0, in.size()), 0.0,
        [&](const tbb::blocked_range<std::size_t>& part, double total,
            bool is_final) {
          for (std::size_t i = part.begin(); i != part.end(); ++i) {
            total += in[i];
            if (is_final) out[i] = total;
          }
          return total;
        },
        std::plus{});
  };
  // [/scan]
  // clang-format on
  return bench::in_arena(given.workers(), [&] { return bench::timed_scan(given, scan); });
}

auto run_sort(const parameters& given) -> sample {
  return bench::in_arena(given.workers(),
                         [&] { return bench::timed_sort(given, [](auto& all) { tbb::parallel_sort(all); }); });
}

auto run_standard(const parameters& given) -> sample {
  return bench::in_arena(
      given.workers(), [&] { return bench::timed_standard(given, bench::standard_algorithms<std::execution::par>()); });
}

/// By a thread that is in no arena of its own: oneTBB counts it as one of the workers.
auto run_region(const parameters& given) -> sample {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, given.workers());
  return bench::timed_regions(given, [](std::vector<bench::worked_number>& all, std::uint64_t steps) {
    tbb::parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) { all[i].work(steps); });
  });
}

auto run_loop(const parameters& given) -> sample {
  const auto loop = [](std::vector<double>& all) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, all.size()), [&](const tbb::blocked_range<std::size_t>& part) {
      for (std::size_t i = part.begin(); i != part.end(); ++i) bench::step(all[i]);
    });
  };
  return bench::in_arena(given.workers(), [&] { return bench::timed_loop(given, loop); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender tbb = bench::tbb_contender();
  return bench::run_program(count, arguments, "algorithms",
                            {{"scan", tbb, run_scan},
                             {"sort", tbb, run_sort},
                             {"standard", tbb, run_standard},
                             {"region", tbb, run_region},
                             {"loop", tbb, run_loop}});
}
