// bench/ramp/openmp.cpp: the same leaves with tasks of OpenMP.
#include <bench/harness/openmp.hpp>
#include <bench/ramp/leaves.hpp>

#include <cstddef>

namespace {

using bench::leaves;
using bench::parameters;
using bench::sample;

void tree_of(leaves& each, std::size_t first, std::size_t last) {
  if (last - first == 1) return each(first);
  const std::size_t middle = first + (last - first) / 2;
#pragma omp task shared(each)
  tree_of(each, first, middle);
  tree_of(each, middle, last);
#pragma omp taskwait
}

void spine_of(leaves& each, std::size_t left) {
  if (left == 1) return each(0);
#pragma omp task shared(each)
  each(left - 1);
  spine_of(each, left - 1);
#pragma omp taskwait
}

void group(leaves& each) {
  for (std::size_t i = 0; i < each.count(); ++i) {
#pragma omp task shared(each)
    each(i);
  }
#pragma omp taskwait
}

void loop(leaves& each) {
#pragma omp taskloop shared(each) grainsize(1)
  for (std::size_t i = 0; i < each.count(); ++i) each(i);
}

template <typename Fn>
auto in_team(const parameters& given, Fn fn) -> sample {
  leaves each(given);
  return bench::in_team(given.workers(), [&] { return each.timed([&] { fn(each); }); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender openmp = bench::openmp_contender();
  const auto inside = [](auto fn) { return [fn](const parameters& given) { return in_team(given, fn); }; };
  return bench::run_program(count, arguments, "ramp",
                            {{"tree", openmp, inside([](leaves& each) { tree_of(each, 0, each.count()); })},
                             {"spine", openmp, inside([](leaves& each) { spine_of(each, each.count()); })},
                             {"group", openmp, inside(group)},
                             {"for", openmp, inside(loop)}});
}
