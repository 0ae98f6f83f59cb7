// tests/coro/fork_task_model.cpp: under no schedule do two strands of a fork go on with its caller, or none, or one
// that does not see what all children did.
#include <braid/coro/detail/join_balance.hpp>

#include <braid/sync/detail/futex.hpp>
#include <braid/sync/detail/split_deque.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

using braid::atomic;
using braid::relaxed;
using braid::detail::join_balance;
namespace model = braid::model;

namespace {

enum class fault : std::uint8_t { none, forgets_the_theft, counts_what_it_took_back };

/// A fork of so many children, played without coroutines: what a strand does is done by the thread that has it.
template <fault Fault, std::size_t Children>
class played_fork {
 public:
  using deque = braid::detail::split_deque<played_fork>;

  explicit played_fork(model::run& r) : run_(r) {}

  /// Starts the next child, and what follows.
  void go_on(deque& own) {
    const std::size_t child = next_;
    next_ = child + 1;
    if (child + 1 == Children) {
      end(child);
      return join();
    }
    run_.check(own.try_push(*this), "there is room");
    end(child);
    if (own.pop() == this) {
      if (Fault == fault::counts_what_it_took_back) balance_.took();
      return go_on(own);
    }
    if (balance_.child_ended()) resume();
  }

  /// As a thief.
  void go_on_after_theft(deque& own) {
    if (Fault != fault::forgets_the_theft) balance_.took();
    go_on(own);
  }

  [[nodiscard]] auto resumed() const -> bool { return resumed_.load(relaxed) != 0; }

 private:
  void end(std::size_t child) { ended_[child] = ended_[child] + 1; }
  void join() {
    if (balance_.is_one() || balance_.continuation_ended()) resume();
  }
  void resume() {
    for (model::shared<int>& each : ended_) run_.check(each == 1, "each child has run once");
    run_.check(resumed_.fetch_add(1, relaxed) == 0, "one strand goes on");
  }

  model::run& run_;
  join_balance balance_;
  model::shared<std::size_t> next_{0};
  std::array<model::shared<int>, Children> ended_;
  atomic<std::uint32_t> resumed_{0};
};

/// The owner forks, others steal what there is. In the end somebody has gone on.
template <fault Fault, std::size_t Children, std::size_t Thieves>
void fork(model::run& r) {
  using played = played_fork<Fault, Children>;
  played all(r);
  braid::detail::asymmetric_barrier barrier;
  typename played::deque deques[]{typename played::deque(2, barrier), typename played::deque(2, barrier),
                                  typename played::deque(2, barrier)};
  deques[0].ask();
  deques[1].ask();
  r.thread([&] { all.go_on(deques[0]); });
  for (std::size_t thief = 1; thief <= Thieves; ++thief)
    r.thread([&, thief] {
      for (std::size_t victim = 0; victim < thief; ++victim)
        if (played* const stolen = deques[victim].steal(); stolen != nullptr) stolen->go_on_after_theft(deques[thief]);
    });
  r.join();
  r.check(all.resumed(), "somebody goes on");
}

template <fault Fault>
void two_children(model::run& r) {
  fork<Fault, 2, 1>(r);
}
template <fault Fault>
void three_children(model::run& r) {
  fork<Fault, 3, 2>(r);
}

}  // namespace

TEST_CASE("one strand goes on, and sees what all children did") {
  const model::report all = model::explore_all({.preemptions = 3}, two_children<fault::none>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, two_children<fault::none>).failure == "");
  CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, three_children<fault::none>).failure == "");
}

TEST_CASE("every order of the join is needed") {
  CHECK(model::orders_not_needed("join_balance.hpp", {}, {two_children<fault::none>, three_children<fault::none>}) ==
        "");
}

TEST_CASE("a theft that is not counted, and a count without a theft, are found") {
  CHECK(model::explore_all({}, two_children<fault::forgets_the_theft>).failure != "");
  CHECK(model::explore_all({}, two_children<fault::counts_what_it_took_back>).failure != "");
}
