// tests/graph/static_graph_model.cpp: under no schedule does a node begin twice or before a predecessor has ended, is a
// countdown not whole again, or is a run over too early or never.
#include <braid/graph/detail/countdown.hpp>
#include <braid/graph/detail/walk_count.hpp>

#include <braid/sync/detail/split_deque.hpp>
#include <braid/task/detail/end_signal.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

using braid::atomic;
using braid::relaxed;
using braid::detail::countdown;
using braid::detail::end_signal;
using braid::detail::split_deque;
using braid::detail::walk_count;
namespace model = braid::model;

namespace {

/// So many predecessors end, each on a thread of its own; each has written something.
template <std::uint32_t Count>
void arrivals(model::run& r) {
  countdown left;
  left.set(Count);
  std::array<model::shared<int>, Count> written;
  atomic<std::uint32_t> begun{0};
  for (std::uint32_t i = 0; i < Count; ++i)
    r.thread([&, i] {
      written[i] = 1;
      if (!left.arrive(Count)) return;
      begun.fetch_add(1, relaxed);
      for (const auto& each : written) r.check(each == 1, "a node sees what all its predecessors did");
    });
  r.join();
  r.check(begun.load(relaxed) == 1, "a node begins once");
  r.check(left.get() == Count, "a countdown is whole again");
}

/// When the first walk takes itself for alone.
enum class alone_if : std::uint8_t {
  nothing_is_pinned,
  nothing_was_shared,  // as the product does: by the border and the base
  nothing_is_shared,
  it_is_the_first,
};

/// A small graph, run as static_graph.cpp does it, by threads that do nothing else. 0 comes before `leaves` nodes, each
/// of which has a successor of its own; all of these come before the last node.
template <alone_if When>
class small_graph {
 public:
  static constexpr std::uint32_t leaves = 2;
  static constexpr std::uint32_t last = 1 + 2 * leaves;

  explicit small_graph(model::run& r) : run_(r) {
    waiting_for_last_.set(leaves);
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].mode = static_cast<std::uint32_t>(i);
  }

  /// What the running thread does.
  void run_all() {
    if (!walks_.end(walk(0, *deques_[0], order::first))) ended_.wait();
    for (const node& each : nodes_) run_.check(each.calls == 1, "when a run is over each node has run once");
    run_.check(waiting_for_last_.get() == leaves, "the countdown is whole again");
  }

  /// What a thread does that looks once for work of another one.
  void help(std::size_t self, std::size_t victim) {
    const node* stolen = deques_[victim]->steal();
    if (stolen == nullptr) stolen = deques_[victim]->take();
    if (stolen == nullptr) return;
    walks_.begin();
    if (walks_.end(walk(stolen->mode, *deques_[self], order::later))) ended_.set();
  }

  /// Somebody will come to steal.
  void ask(std::size_t victim) { deques_[victim]->ask(); }

 private:
  struct node {
    std::uint32_t mode = 0;
    model::shared<int> calls{0};
  };
  using deque = split_deque<node>;
  enum class order : std::uint8_t { first, later };

  /// The base of the first walk is 0.
  static auto is_alone(const deque& own, order which) -> bool {
    if (which == order::later) return false;
    if (When == alone_if::nothing_is_shared) return own.shared_size() == 0;
    return When == alone_if::it_is_the_first || own.position() == own.private_size();
  }

  auto arrive(deque& own, order which) -> bool {
    if (When != alone_if::nothing_is_pinned && !own.try_pin()) return waiting_for_last_.arrive(leaves);
    const bool ready = is_alone(own, which) ? waiting_for_last_.arrive_alone(leaves) : waiting_for_last_.arrive(leaves);
    if (When != alone_if::nothing_is_pinned) own.unpin();
    return ready;
  }

  auto walk(std::uint32_t at, deque& own, order which) -> std::int32_t {
    std::int32_t pushed = 0;
    for (std::uint32_t next = at; next != none; at = next) {
      nodes_[at].calls = nodes_[at].calls + 1;
      next = none;
      if (at == 0) {
        for (std::uint32_t leaf = 2; leaf <= leaves; ++leaf) {
          run_.check(own.try_push(nodes_[leaf]), "there is room");
          ++pushed;
        }
        next = 1;
      } else if (at <= leaves) {
        next = at + leaves;
      } else if (at != last && arrive(own, which)) {
        for (std::uint32_t before = 1; before < last; ++before)
          run_.check(nodes_[before].calls == 1, "the last node begins after all others");
        next = last;
      }
      if (next == none) {
        if (node* const newest = own.pop(); newest != nullptr) {
          --pushed;
          next = newest->mode;
        }
      }
    }
    return pushed;
  }

  static constexpr std::uint32_t none = 99;

  model::run& run_;
  std::array<node, last + 1> nodes_;
  braid::detail::asymmetric_barrier barrier_;
  std::array<std::unique_ptr<deque>, 3> deques_{
      std::make_unique<deque>(2, barrier_), std::make_unique<deque>(2, barrier_), std::make_unique<deque>(2, barrier_)};
  countdown waiting_for_last_;
  walk_count walks_;
  end_signal ended_;
};

enum class question : std::uint8_t { stands, may_come };

template <alone_if When, question First>
void run_with_thief(model::run& r) {
  small_graph<When> graph(r);
  if (First == question::stands) graph.ask(0);
  r.thread([&] { graph.run_all(); });
  r.thread([&] { graph.help(1, 0); });
  r.join();
}

/// A count that forgets that walks are under way: what was heard of, less what has ended.
class forgetful_count {
 public:
  void begin() noexcept {}
  auto end(std::uint32_t children) noexcept -> bool {
    const std::uint32_t change = children - 1;
    return word_.fetch_add(change, braid::acq_rel) + change == 0;
  }

 private:
  atomic<std::uint32_t> word_{1};
};

/// Walks alone: the first leaves one behind, which leaves one behind in turn. Each begins when it was left, in whatever
/// order they end.
template <typename Count>
void three_walks(model::run& r) {
  Count walks;
  end_signal ended;
  std::array<end_signal, 2> left;
  std::array<model::shared<int>, 3> done{};
  const auto end = [&](std::int32_t children) {
    if (walks.end(children)) ended.set();
  };
  r.thread([&] {
    left[0].set();
    done[0] = 1;
    end(1);
    ended.wait();
    for (const auto& each : done) r.check(each == 1, "a run is over when all walks are");
  });
  r.thread([&] {
    if (!left[0].wait()) return;
    walks.begin();
    left[1].set();
    done[1] = 1;
    end(1);
  });
  r.thread([&] {
    if (!left[1].wait()) return;
    walks.begin();
    done[2] = 1;
    end(0);
  });
  r.join();
}

constexpr model::options bounds{.preemptions = 3, .surprises = 2};
constexpr model::options narrow{.preemptions = 2, .surprises = 1};

void check_all(model::body body, const model::options& within = bounds) {
  const model::report all = model::explore_all(within, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

}  // namespace

TEST_CASE("the last of several predecessors begins the node, and sees what the others did") {
  check_all(arrivals<2>);
  check_all(arrivals<3>);
}

TEST_CASE("a run is over once, when all walks have ended") { check_all(three_walks<walk_count>, narrow); }

TEST_CASE("a count that forgets which walks are under way is found out") {
  CHECK(model::explore_all(bounds, three_walks<forgetful_count>).failure != "");
}

TEST_CASE("a small graph runs whole beside a thief") {
  check_all(run_with_thief<alone_if::nothing_was_shared, question::stands>);
  check_all(run_with_thief<alone_if::nothing_was_shared, question::may_come>);
}

TEST_CASE("a walk that takes itself for alone when it is not is found out") {
  CHECK(model::explore_all(bounds, run_with_thief<alone_if::nothing_is_shared, question::stands>).failure != "");
  CHECK(model::explore_all(bounds, run_with_thief<alone_if::it_is_the_first, question::stands>).failure != "");
  CHECK(model::explore_all(bounds, run_with_thief<alone_if::nothing_is_pinned, question::may_come>).failure != "");
}

TEST_CASE("every order of the countdown is needed") {
  CHECK(model::orders_not_needed("countdown.hpp", bounds, {arrivals<2>, arrivals<3>}) == "");
}

TEST_CASE("every order of the count of walks is needed") {
  CHECK(model::orders_not_needed("walk_count.hpp", narrow, {three_walks<walk_count>}) == "");
}
