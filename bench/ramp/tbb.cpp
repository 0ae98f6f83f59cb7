// bench/ramp/tbb.cpp: the same leaves with oneTBB.
#include <bench/harness/tbb.hpp>
#include <bench/ramp/leaves.hpp>

#include <tbb/flow_graph.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <span>
#include <vector>

namespace {

using bench::leaves;
using bench::parameters;
using bench::sample;

void tree_of(leaves& each, std::size_t first, std::size_t last) {
  if (last - first == 1) return each(first);
  const std::size_t middle = first + (last - first) / 2;
  tbb::parallel_invoke([&, first, middle] { tree_of(each, first, middle); },
                       [&, middle, last] { tree_of(each, middle, last); });
}

void spine_of(leaves& each, std::size_t left) {
  if (left == 1) return each(0);
  tbb::parallel_invoke([&, left] { spine_of(each, left - 1); }, [&, left] { each(left - 1); });
}

void group_of(leaves& each, std::size_t first, std::size_t last) {
  tbb::task_group all;
  for (std::size_t i = first; i < last; ++i) all.run([&each, i] { each(i); });
  all.wait();
}

void parallel_for(leaves& each) {
  tbb::parallel_for(std::size_t{0}, each.count(), [&](std::size_t i) { each(i); });
}

void nested_for(leaves& each, std::size_t rows) {
  const std::size_t columns = each.count() / rows;
  tbb::parallel_for(std::size_t{0}, rows, [&](std::size_t row) {
    tbb::parallel_for(std::size_t{0}, columns, [&](std::size_t column) { each(row * columns + column); });
  });
}

void reduce(leaves& each) {
  tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, each.count()), 0,
      [&](const auto& part, int total) {
        for (std::size_t i = part.begin(); i != part.end(); ++i) each(i);
        return total + static_cast<int>(part.size());
      },
      std::plus{});
}

void graph(leaves& each) {
  using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
  tbb::flow::graph all;
  node first(all, [](const auto&) {});
  node last(all, [](const auto&) {});
  std::vector<std::unique_ptr<node>> nodes;
  for (std::size_t i = 0; i < each.count(); ++i) {
    nodes.push_back(std::make_unique<node>(all, [&each, i](const auto&) { each(i); }));
    tbb::flow::make_edge(first, *nodes.back());
    tbb::flow::make_edge(*nodes.back(), last);
  }
  first.try_put({});
  all.wait_for_all();
}

/// The combiner of totals is slow, too; oneTBB decides where a pass begins.
void scan(leaves& each, std::span<const int> numbers, std::span<int> totals) {
  const auto slow_plus = [&each](int a, int b) {
    each(0);
    return a + b;
  };
  tbb::parallel_scan(
      tbb::blocked_range<std::size_t>(0, numbers.size(), numbers.size() / each.workers()), 0,
      [&](const auto& part, int total, bool is_final) {
        for (std::size_t i = part.begin(); i != part.end(); ++i) {
          total = slow_plus(total, numbers[i]);
          if (is_final) totals[i] = total;
        }
        return total;
      },
      slow_plus);
}

void sort(leaves& each, std::span<int> numbers) {
  tbb::parallel_sort(numbers.begin(), numbers.end(), [&each](int a, int b) {
    each(0);
    return a < b;
  });
}

auto post(const parameters& given) -> sample {
  leaves each(given);
  bench::tbb_system on(given.workers());
  return each.timed([&] {
    std::latch left(static_cast<std::ptrdiff_t>(each.count()));
    for (std::size_t i = 0; i < each.count(); ++i) {
      on.post([&each, &left, i] {
        each(i);
        left.count_down();
      });
    }
    left.wait();
  });
}

template <typename Fn>
auto in_arena(const parameters& given, Fn fn) -> sample {
  leaves each(given);
  return bench::in_arena(given.workers(), [&] { return each.timed([&] { fn(each); }); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender tbb = bench::tbb_contender();
  const auto inside = [](auto fn) { return [fn](const parameters& given) { return in_arena(given, fn); }; };
  const auto by_calls = [](auto fn) {
    return [fn](const parameters& given) {
      leaves each(given);
      return bench::in_arena(given.workers(), [&] { return fn(each); });
    };
  };
  return bench::run_program(count, arguments, "ramp",
                            {{"post", tbb, post},
                             {"tree", tbb, inside([](leaves& each) { tree_of(each, 0, each.count()); })},
                             {"spine", tbb, inside([](leaves& each) { spine_of(each, each.count()); })},
                             {"group", tbb, inside([](leaves& each) { group_of(each, 0, each.count()); })},
                             {"two_groups", tbb, inside([](leaves& each) {
                                tbb::parallel_invoke([&] { group_of(each, 0, each.count() / 2); },
                                                     [&] { group_of(each, each.count() / 2, each.count()); });
                              })},
                             {"for", tbb, inside(parallel_for)},
                             {"nested_for", tbb,
                              [](const parameters& given) {
                                return in_arena(given, [&](leaves& each) { nested_for(each, given.workers()); });
                              }},
                             {"reduce", tbb, inside(reduce)},
                             {"scan", tbb, by_calls([](leaves& each) { return bench::timed_scan(each, scan); })},
                             {"sort", tbb, by_calls([](leaves& each) { return bench::timed_sort(each, sort); })},
                             {"graph", tbb, inside(graph)}});
}
