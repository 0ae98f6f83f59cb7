// bench/algorithms/braid.cpp: parallel_inclusive_scan, parallel_sort and parallel_for_each.
#include <bench/algorithms/problems.hpp>

#include <braid/task/parallel_for_each.hpp>
#include <braid/task/parallel_scan.hpp>
#include <braid/task/parallel_sort.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/run_in.hpp>

namespace {

using bench::parameters;
using bench::sample;

/// Starting and stopping the pool is not part of the time.
template <typename Fn>
auto in_pool(const parameters& given, Fn fn) -> sample {
  braid::pool pool({.workers = given.workers()});
  return braid::run_in(pool, fn);
}

auto run_scan(const parameters& given) -> sample {
  return in_pool(given, [&] {
    return bench::timed_scan(given, [](const auto& in, auto& out) { braid::parallel_inclusive_scan(in, out.begin()); });
  });
}

auto run_sort(const parameters& given) -> sample {
  return in_pool(given, [&] { return bench::timed_sort(given, [](auto& all) { braid::parallel_sort(all); }); });
}

auto run_loop(const parameters& given) -> sample {
  return in_pool(given, [&] {
    return bench::timed_loop(given,
                             [](auto& all) { braid::parallel_for_each(all, [](double& each) { bench::step(each); }); });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  return bench::run_program(count, arguments, "algorithms",
                            {{"scan", braid, run_scan}, {"sort", braid, run_sort}, {"loop", braid, run_loop}});
}
