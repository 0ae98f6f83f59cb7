// bench/algorithms/braid.cpp: parallel_inclusive_scan, parallel_sort, parallel_for_each, and the algorithms that have
// names of the standard.
#include <bench/algorithms/problems.hpp>

#include <braid/runtime/default_runtime.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/parallel_algorithms.hpp>
#include <braid/task/pool.hpp>

#include <ranges>

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

struct algorithms {
  static auto transform(auto& in, auto out, auto fn) { return braid::parallel_transform(in, out, fn); }
  static auto find_if(auto& in, auto pred) { return braid::parallel_find_if(in, pred); }
  static auto count_if(auto& in, auto pred) { return braid::parallel_count_if(in, pred); }
  static auto min_element(auto& in) { return braid::parallel_min_element(in); }
  static auto copy_if(auto& in, auto out, auto pred) { return braid::parallel_copy_if(in, out, pred); }
  static auto merge(auto& in, auto middle, auto out) {
    return braid::parallel_merge(std::ranges::subrange(in.begin(), middle), std::ranges::subrange(middle, in.end()),
                                 out);
  }
  static auto partition(auto& in, auto pred) { return braid::parallel_partition(in, pred); }
  static auto unique(auto& in) { return braid::parallel_unique(in); }
  static void nth_element(auto& in, auto nth) { braid::parallel_nth_element(in, nth); }
};

auto run_standard(const parameters& given) -> sample {
  return in_pool(given, [&] { return bench::timed_standard(given, algorithms()); });
}

void work_on_all(std::vector<bench::worked_number>& all, std::uint64_t steps) {
  braid::parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) { all[i].work(steps); });
}

/// By a thread that is no worker, with the pool of the process.
auto run_region(const parameters& given) -> sample {
  braid::or_throw(braid::initialize({.workers = given.workers()}));
  const sample taken = bench::timed_regions(given, work_on_all);
  braid::or_throw(braid::finalize());
  return taken;
}

/// The same, handed over to a worker.
auto run_region_in(const parameters& given) -> sample {
  braid::pool pool({.workers = given.workers()});
  return bench::timed_regions(given, [&](std::vector<bench::worked_number>& all, std::uint64_t steps) {
    braid::run_in(pool, [&] { work_on_all(all, steps); });
  });
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
                            {{"scan", braid, run_scan},
                             {"sort", braid, run_sort},
                             {"standard", braid, run_standard},
                             {"region", braid, run_region},
                             {"region", bench::braid_contender("braid run_in"), run_region_in},
                             {"loop", braid, run_loop}});
}
