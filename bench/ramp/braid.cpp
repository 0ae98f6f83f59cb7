// bench/ramp/braid.cpp: leaves that are long, in every form in which work is given to a pool.
#include <bench/ramp/leaves.hpp>

#include <braid/coro/fork_task.hpp>
#include <braid/coro/scope.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/shape.hpp>
#include <braid/graph/static_graph.hpp>
#include <braid/runtime/runtime.hpp>
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
#include <memory>
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

/// Each addition is a leaf; as many groups as workers.
void scan(leaves& each, std::span<const int> numbers, std::span<int> totals) {
  const auto slow_plus = [&each](int a, int b) {
    each(0);
    return a + b;
  };
  braid::parallel_inclusive_scan(numbers, totals.begin(), slow_plus, {.grain = numbers.size() / each.workers()});
}

/// Each comparison is a leaf.
void sort(leaves& each, std::span<int> numbers) {
  const auto slow_less = [&each](int a, int b) {
    each(0);
    return a < b;
  };
  braid::parallel_sort(numbers, slow_less, {}, {.grain = 1});
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

/// What the workers did beyond the leaves, by leaf: it must not grow with their number.
void note_counts(sample& measured, const pool::totals& before, const pool::totals& after) {
  const auto by_leaf = [&](std::uint64_t pool::totals::* count) {
    return static_cast<double>(after.*count - before.*count) / measured.items;
  };
  measured.extra["wakes_by_leaf_count"] = by_leaf(&pool::totals::wakes);
  measured.extra["steals_by_leaf_count"] = by_leaf(&pool::totals::steals);
  measured.extra["stolen_forks_by_leaf_count"] = by_leaf(&pool::totals::forks);
  measured.extra["sleeps_by_leaf_count"] = by_leaf(&pool::totals::sleeps);
  measured.extra["lost_exchanges_by_leaf_count"] = by_leaf(&pool::totals::lost_exchanges);
  measured.extra["heavy_barriers_by_leaf_count"] = by_leaf(&pool::totals::heavy_barriers);
}

auto counted(pool& on, leaves& each, form chosen) -> sample {
  const pool::totals before = on.statistics();
  sample measured = each.timed([&] { chosen(on, each); });
  note_counts(measured, before, on.statistics());
  return measured;
}

auto options_of(const parameters& given) -> pool::options {
  return {.workers = given.workers(), .scheduler = scheduler_of(given.word("scheduler", "work_stealing"))};
}

auto from_outside(const parameters& given, form chosen) -> sample {
  leaves each(given);
  pool on(options_of(given));
  return counted(on, each, chosen);
}

auto by_a_worker(const parameters& given, form chosen) -> sample {
  leaves each(given);
  pool on(options_of(given));
  return braid::run_in(on, [&] { return counted(on, each, chosen); });
}

/// An algorithm that calls leaves as often as it likes, on a worker of a pool or of a merged runtime.
using algorithm = bench::sample (*)(leaves&);

auto counted_by_calls(pool& on, leaves& each, algorithm chosen) -> sample {
  return braid::run_in(on, [&] {
    const pool::totals before = on.statistics();
    sample measured = chosen(each);
    note_counts(measured, before, on.statistics());
    return measured;
  });
}

auto scanned(leaves& each) -> sample { return bench::timed_scan(each, scan); }
auto sorted(leaves& each) -> sample { return bench::timed_sort(each, sort); }

auto runtime_of(const parameters& given, braid::runtime_shape shape) -> std::unique_ptr<braid::runtime> {
  return braid::runtime::create({.workers = given.workers(),
                                 .scheduler = scheduler_of(given.word("scheduler", "work_stealing")),
                                 .shape = shape})
      .value();
}

/// The workers of a merged runtime wait in loops.
auto merged(const parameters& given, form chosen) -> sample {
  leaves each(given);
  const auto all = runtime_of(given, braid::runtime_shape::merged);
  return counted(all->workers(), each, chosen);
}

auto merged_by_a_worker(const parameters& given, form chosen) -> sample {
  leaves each(given);
  const auto all = runtime_of(given, braid::runtime_shape::merged);
  return braid::run_in(all->workers(), [&] { return counted(all->workers(), each, chosen); });
}

auto algorithm_by_a_worker(const parameters& given, algorithm chosen) -> sample {
  leaves each(given);
  pool on(options_of(given));
  return counted_by_calls(on, each, chosen);
}

auto merged_algorithm(const parameters& given, algorithm chosen) -> sample {
  leaves each(given);
  const auto all = runtime_of(given, braid::runtime_shape::merged);
  return counted_by_calls(all->workers(), each, chosen);
}

/// Satisfies `graph_nodes`: nodes that compute on workers.
class leaf_nodes {
 public:
  explicit leaf_nodes(leaves& each) : each_(&each) {}

  [[nodiscard]] auto mode(braid::node_index /*node*/) const noexcept -> braid::node_mode {
    return braid::node_mode::worker;
  }
  [[nodiscard]] auto timeout(braid::node_index /*node*/) const noexcept -> braid::duration {
    return braid::duration::max();
  }
  auto run(braid::node_index node, const braid::stop_flag& /*stop*/) -> braid::node_status {
    if (node != 0 && node <= each_->count()) (*each_)(node - 1);
    return braid::node_status::done;
  }
  auto start(braid::node_index /*node*/) -> braid::task<braid::node_status> { co_return braid::node_status::done; }

 private:
  leaves* each_;
};

/// One node, the leaves, one node.
auto shape_of(std::size_t leaf_count) -> braid::graph_shape {
  std::vector<braid::graph_shape::edge> edges;
  const auto last = static_cast<braid::node_index>(leaf_count + 1);
  for (braid::node_index leaf = 1; leaf < last; ++leaf) {
    edges.push_back({0, leaf});
    edges.push_back({leaf, last});
  }
  return braid::graph_shape::make(leaf_count + 2, edges).value();
}

auto run_graph(braid::pool& on, const braid::graph_shape& shape, leaf_nodes& nodes) -> braid::task<void> {
  braid::scope inside(co_await braid::this_scope());
  braid::graph_run run(shape, nodes, on, inside);
  run.start();
  co_await run.settled();
  co_await run.join();
}

auto task_graph(const parameters& given, braid::runtime_shape where) -> sample {
  leaves each(given);
  const auto all = runtime_of(given, where);
  const braid::graph_shape shape = shape_of(each.count());
  leaf_nodes nodes(each);
  const pool::totals before = all->workers().statistics();
  sample measured = each.timed([&] { all->run(run_graph(all->workers(), shape, nodes)); });
  note_counts(measured, before, all->workers().statistics());
  return measured;
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
  const bench::contender of_loops = bench::braid_contender("braid merged");
  std::vector<bench::solution> all;
  const auto add = [&](const char* name, auto (*run)(const parameters&, form)->sample, form chosen,
                       const bench::contender& who) {
    all.push_back({name, who, [run, chosen](const parameters& given) { return run(given, chosen); }});
  };
  const auto add_outside = [&](const char* name, form chosen) {
    add(name, from_outside, chosen, braid);
    add(name, merged, chosen, of_loops);
  };
  const auto add_inside = [&](const char* name, form chosen) {
    add(name, by_a_worker, chosen, braid);
    add(name, merged_by_a_worker, chosen, of_loops);
  };
  const auto add_graph = [&](const bench::contender& who, braid::runtime_shape shape) {
    all.push_back({"task_graph", who, [shape](const parameters& given) { return task_graph(given, shape); }});
  };
  const auto add_algorithm = [&](const char* name, algorithm chosen) {
    all.push_back({name, braid, [=](const parameters& given) { return algorithm_by_a_worker(given, chosen); }});
    all.push_back({name, of_loops, [=](const parameters& given) { return merged_algorithm(given, chosen); }});
  };
  add_outside("post", post);
  add_outside("spawn", spawn);
  add_outside("post_by_a_job", post_by_a_job);
  add_inside("tree", tree);
  add_inside("spine", spine);
  add_inside("group", group);
  add_inside("two_groups", two_groups);
  add_inside("for", parallel_for);
  add_inside("for_each", parallel_for_each);
  add_inside("nested_for", nested_for);
  add_inside("reduce", reduce);
  add_algorithm("scan", scanned);
  add_algorithm("sort", sorted);
  add_outside("coro_tree", task_tree);
  add_outside("coro_each", fork_each);
  add_inside("graph", graph);
  add_graph(braid, braid::runtime_shape::separate);
  add_graph(of_loops, braid::runtime_shape::merged);
  all.push_back({"slab", braid, slab});
  return bench::run_program(count, arguments, "ramp", all);
}
