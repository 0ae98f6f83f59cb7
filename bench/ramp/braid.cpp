// bench/ramp/braid.cpp: leaves that are long, in every form in which work is given to a pool.
#include <bench/ramp/leaves.hpp>

#include <braid/coro/fork_task.hpp>
#include <braid/graph/static_graph.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/job_slab.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/worker.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::leaves;
using bench::parameters;
using bench::sample;
using braid::fork_task;
using braid::pool;

using form = void (*)(pool&, leaves&);

auto scheduler_of(const std::string& name) -> braid::scheduler {
  if (name == "least_loaded") return braid::scheduler::least_loaded;
  if (name == "shared_queue") return braid::scheduler::shared_queue;
  return braid::scheduler::work_stealing;
}

// --- from outside ---

void post(pool& on, leaves& each) {
  std::latch left(static_cast<std::ptrdiff_t>(each.count()));
  for (std::size_t i = 0; i < each.count(); ++i) {
    static_cast<void>(braid::post(on, [&each, &left, i] {
      each(i);
      left.count_down();
    }));
  }
  left.wait();
}

void spawn(pool& on, leaves& each) {
  std::vector<braid::future<void>> all;
  for (std::size_t i = 0; i < each.count(); ++i) all.push_back(braid::spawn(on, [&each, i] { each(i); }));
  for (auto& one : all) one.get();
}

// --- by a job ---

void post_by_a_job(pool& on, leaves& each) {
  std::latch left(static_cast<std::ptrdiff_t>(each.count()));
  static_cast<void>(braid::post(on, [&on, &each, &left] {
    for (std::size_t i = 0; i < each.count(); ++i) {
      static_cast<void>(braid::post(on, [&each, &left, i] {
        each(i);
        left.count_down();
      }));
    }
  }));
  left.wait();
}

void tree_of(leaves& each, std::size_t first, std::size_t last) {
  if (last - first == 1) return each(first);
  const std::size_t middle = first + (last - first) / 2;
  braid::fork_join([&, first, middle] { tree_of(each, first, middle); },
                   [&, middle, last] { tree_of(each, middle, last); });
}

void tree(pool& /*on*/, leaves& each) { tree_of(each, 0, each.count()); }

/// The first call goes on with all that is left, so the leaves are forked before any has begun.
void spine_of(leaves& each, std::size_t left) {
  if (left == 1) return each(0);
  braid::fork_join([&, left] { spine_of(each, left - 1); }, [&, left] { each(left - 1); });
}

void spine(pool& /*on*/, leaves& each) { spine_of(each, each.count()); }

void group(pool& on, leaves& each) {
  braid::task_group all(on);
  for (std::size_t i = 0; i < each.count(); ++i) all.run([&each, i] { each(i); });
  static_cast<void>(all.wait());
}

void two_groups(pool& on, leaves& each) {
  const std::size_t middle = each.count() / 2;
  const auto part = [&](std::size_t first, std::size_t last) {
    braid::task_group all(on);
    for (std::size_t i = first; i < last; ++i) all.run([&each, i] { each(i); });
    static_cast<void>(all.wait());
  };
  braid::fork_join([&] { part(0, middle); }, [&] { part(middle, each.count()); });
}

void parallel_for(pool& /*on*/, leaves& each) {
  braid::parallel_for(std::size_t{0}, each.count(), [&](std::size_t i) { each(i); });
}

void parallel_for_each(pool& /*on*/, leaves& each) {
  std::vector<std::size_t> numbers(each.count());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  braid::parallel_for_each(numbers, [&](std::size_t i) { each(i); });
}

/// A loop of as many rounds as there are workers, each of which has a loop.
void nested_for(pool& /*on*/, leaves& each) {
  const std::size_t rows = each.workers();
  const std::size_t columns = each.count() / rows;
  braid::parallel_for(std::size_t{0}, rows, [&](std::size_t row) {
    braid::parallel_for(std::size_t{0}, columns, [&](std::size_t column) { each(row * columns + column); });
  });
}

void reduce(pool& /*on*/, leaves& each) {
  braid::parallel_reduce(std::views::iota(std::size_t{0}, each.count()), 0, std::plus{}, [&](std::size_t i) {
    each(i);
    return 1;
  });
}

auto task_tree_of(leaves& each, std::size_t first, std::size_t last) -> fork_task<void> {
  if (last - first == 1) {
    each(first);
    co_return;
  }
  const std::size_t middle = first + (last - first) / 2;
  co_await braid::fork_join(task_tree_of(each, first, middle), task_tree_of(each, middle, last));
}

void task_tree(pool& on, leaves& each) { braid::run_in(on, task_tree_of(each, 0, each.count())); }

auto one_leaf(leaves& each, std::size_t index) -> fork_task<void> {
  each(index);
  co_return;
}

auto all_leaves(leaves& each) -> fork_task<void> {
  auto child = [&each](std::size_t i) { return one_leaf(each, i); };
  co_await braid::fork_each(std::views::iota(std::size_t{0}, each.count()), std::ref(child));
}

void fork_each(pool& on, leaves& each) { braid::run_in(on, all_leaves(each)); }

void graph(pool& /*on*/, leaves& each) {
  braid::graph_builder draft;
  const auto first = draft.add([] {});
  const auto last = draft.add([] {});
  for (std::size_t i = 0; i < each.count(); ++i) {
    const auto node = draft.add([&each, i] { each(i); });
    draft.precede(first, node);
    draft.precede(node, last);
  }
  braid::static_graph built = std::move(draft).build().value();
  built.run();
}

auto from_outside(const parameters& given, form chosen) -> sample {
  leaves each(given);
  pool on({.workers = given.workers(), .scheduler = scheduler_of(given.word("scheduler", "work_stealing"))});
  return each.timed([&] { chosen(on, each); });
}

auto by_a_worker(const parameters& given, form chosen) -> sample {
  leaves each(given);
  pool on({.workers = given.workers(), .scheduler = scheduler_of(given.word("scheduler", "work_stealing"))});
  return braid::run_in(on, [&] { return each.timed([&] { chosen(on, each); }); });
}

auto slab(const parameters& given) -> sample {
  leaves each(given);
  braid::job_slab jobs({.jobs_per_thread = each.count() + 1, .threads = given.workers() - 1});
  static_cast<void>(jobs.start());
  std::vector<braid::job_slab::handle> all(each.count());
  return each.timed([&] {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = jobs.allocate([&each, i] { each(i); }).value();
    for (const auto& one : all) static_cast<void>(jobs.schedule(one));
    for (const auto& one : all) static_cast<void>(jobs.wait(one));
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  std::vector<bench::solution> all;
  const auto add = [&](const char* name, auto (*run)(const parameters&, form)->sample, form chosen) {
    all.push_back({name, braid, [run, chosen](const parameters& given) { return run(given, chosen); }});
  };
  add("post", from_outside, post);
  add("spawn", from_outside, spawn);
  add("post_by_a_job", from_outside, post_by_a_job);
  add("tree", by_a_worker, tree);
  add("spine", by_a_worker, spine);
  add("group", by_a_worker, group);
  add("two_groups", by_a_worker, two_groups);
  add("for", by_a_worker, parallel_for);
  add("for_each", by_a_worker, parallel_for_each);
  add("nested_for", by_a_worker, nested_for);
  add("reduce", by_a_worker, reduce);
  add("coro_tree", from_outside, task_tree);
  add("coro_each", from_outside, fork_each);
  add("graph", by_a_worker, graph);
  all.push_back({"slab", braid, slab});
  return bench::run_program(count, arguments, "ramp", all);
}
