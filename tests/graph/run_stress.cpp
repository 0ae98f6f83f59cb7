// tests/graph/run_stress.cpp: random graphs on real workers, with failures, timeouts and stops at random times.
#include <braid/base/random.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/graph/run.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/seed.hpp>
#include <tests/support/test_nodes.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

using namespace braid;

namespace {

using cause = graph_failure::cause;

enum class fate : std::uint8_t { good, says_no, throws };

struct plan {
  node_mode mode = node_mode::here;
  duration timeout = duration::max();
  duration takes = duration::zero();
  fate end = fate::good;
  bool is_certain = false;  // it says that it cannot fail
};

/// Satisfies `graph_nodes`; looks at every start whether it may happen. Of the nodes that do not fail and have no
/// timeout, a share says so.
class checked_nodes {
 public:
  checked_nodes(std::vector<plan> plans, const std::vector<graph_shape::edge>& edges)
      : plans_(std::move(plans)), started_(plans_.size()), ended_(plans_.size()), before_(plans_.size()) {
    for (const auto [from, to] : edges) before_[to].push_back(from);
  }

  [[nodiscard]] auto mode(node_index node) const noexcept -> node_mode { return plans_[node].mode; }
  [[nodiscard]] auto timeout(node_index node) const noexcept -> duration { return plans_[node].timeout; }

  [[nodiscard]] auto may_fail(node_index node) const noexcept -> bool { return !plans_[node].is_certain; }

  auto run(node_index node, const stop_flag& stop) -> node_status {
    begin(node);
    const auto until = steady_time().now() + plans_[node].takes;
    while (steady_time().now() < until && !stop.requested()) {}
    return finish(node);
  }

  auto start(node_index node) -> task<node_status> {
    begin(node);
    co_await sleep_for(plans_[node].takes);
    co_return finish(node);
  }

  [[nodiscard]] auto plan_of(node_index node) const -> const plan& { return plans_[node]; }
  [[nodiscard]] auto started() const -> std::size_t {
    return static_cast<std::size_t>(
        std::ranges::count_if(started_, [](const auto& n) { return n.load(relaxed) == 1; }));
  }
  [[nodiscard]] auto ended(node_index node) const -> bool { return ended_[node].load(relaxed); }
  [[nodiscard]] auto faults() const -> int { return faults_.load(relaxed); }

 private:
  void begin(node_index node) {
    if (started_[node].fetch_add(1, relaxed) != 0) faults_.fetch_add(1, relaxed);
    // Relaxed is enough to be right here, because the run itself orders a node behind its predecessors.
    for (const node_index earlier : before_[node])
      if (!ended(earlier)) faults_.fetch_add(1, relaxed);
  }

  auto finish(node_index node) -> node_status {
    ended_[node].store(true, relaxed);
    if (plans_[node].end == fate::throws) throw std::runtime_error("a node fails");
    return plans_[node].end == fate::good ? node_status::done : node_status::failed;
  }

  std::vector<plan> plans_;
  std::vector<atomic<int>> started_;
  std::vector<atomic<bool>> ended_;
  std::vector<std::vector<node_index>> before_;
  atomic<int> faults_{0};
};

enum class trouble : std::uint8_t { failures, timeouts, deadline, stop };

auto random_plan(random_source& random, trouble with) -> plan {
  plan made;
  made.mode = std::array{node_mode::here, node_mode::worker, node_mode::task}[random.below(3)];
  made.takes = duration(static_cast<duration::rep>(random.below(made.mode == node_mode::here ? 500 : 10'000)));
  if (random.below(20) == 0) made.end = random.below(2) == 0 ? fate::says_no : fate::throws;
  if (with == trouble::timeouts && random.below(3) == 0)
    made.timeout = duration(static_cast<duration::rep>(random.below(20'000)));
  made.is_certain = made.end == fate::good && made.timeout == duration::max() && random.below(4) != 0;
  return made;
}

class storm {
 public:
  storm(runtime& on, std::uint64_t seed) : on_(&on), random_(seed) {}

  auto drive(std::size_t rounds) -> task<void> {
    for (std::size_t i = 0; i < rounds; ++i) co_await one_run(static_cast<trouble>(random_.below(4)));
  }

  std::array<std::uint64_t, 4> ends{};  // runs by how they ended: done, node failed, node timeout, stopped
  std::uint64_t late = 0;
  std::uint64_t wrong = 0;

 private:
  auto one_run(trouble with) -> task<void> {
    const std::size_t count = 1 + random_.below(30);
    const auto edges = testing::random_acyclic_edges(random_, count, random_.below(2 * count));
    const graph_shape shape = graph_shape::make(count, edges).value();
    std::vector<plan> plans(count);
    for (plan& each : plans) each = random_plan(random_, with);
    checked_nodes nodes(std::move(plans), edges);

    scope& around = co_await this_scope();
    const duration span(static_cast<duration::rep>(random_.below(100'000)));
    scope inside(around, with == trouble::deadline ? around.where().now() + span : time_point::max());
    graph_run run(shape, nodes, on_->workers(), inside);
    auto body = [&](scope& helpers) -> task<void> {
      if (with == trouble::stop) helpers.spawn(stop_after(span / 4, inside));
      run.start();
      co_await run.settled();
      judge(shape, nodes, with, run.failure());
    };
    co_await with_scope(body);
    co_await run.join();
    late += run.late();
    if (nodes.faults() != 0 || inside.tasks() != 0) ++wrong;
  }

  auto stop_after(duration span, scope& whom) -> task<void> {
    auto spin = [span, &whom] {
      for (const auto until = steady_time().now() + span; steady_time().now() < until;) {}
      whom.request_stop();
    };
    auto hop = offload(on_->workers(), spin);
    co_await hop;
  }

  /// Whether a run may have settled like this.
  void judge(const graph_shape& shape, const checked_nodes& nodes, trouble with,
             const std::optional<graph_failure>& failure) {
    const auto broken =
        std::ranges::find_if(shape.order(), [&](node_index node) { return nodes.plan_of(node).end != fate::good; });
    const auto first_broken = static_cast<std::size_t>(broken - shape.order().begin());
    if (!failure) {
      ++ends[0];
      if (first_broken != shape.size() || nodes.started() != shape.size()) ++wrong;
      return;
    }
    ++ends[1 + static_cast<std::size_t>(failure->why)];
    if (failure->why == cause::run_stopped) {
      if (with != trouble::deadline && with != trouble::stop) ++wrong;
      return;
    }
    const std::size_t at = shape.position(failure->node);
    const bool timed_out = failure->why == cause::node_timeout;
    if (timed_out ? with != trouble::timeouts || at > first_broken : at != first_broken) ++wrong;
    for (const node_index node : shape.order().first(at))
      if (!nodes.ended(node) && nodes.may_fail(node)) ++wrong;
  }

  runtime* on_;
  random_source random_;
};

void run_storm(unsigned workers) {
  const testing::watchdog guard(std::chrono::seconds(120));
  const std::uint64_t seed = testing::printed_seed();
  const auto all = runtime::create({.workers = workers}).value();
  storm what(*all, seed);
  all->run(what.drive(testing::scaled(10'000)));
  std::printf("%u workers: %llu done, %llu failed, %llu timed out, %llu stopped; %llu nodes late\n", workers,
              static_cast<unsigned long long>(what.ends[0]), static_cast<unsigned long long>(what.ends[1]),
              static_cast<unsigned long long>(what.ends[2]), static_cast<unsigned long long>(what.ends[3]),
              static_cast<unsigned long long>(what.late));
  CHECK(what.wrong == 0);
}

}  // namespace

TEST_CASE("with one worker every run ends as its graph demands") { run_storm(1); }

TEST_CASE("with two workers every run ends as its graph demands") { run_storm(2); }

TEST_CASE("with more workers than processors every run ends as its graph demands") { run_storm(8); }
