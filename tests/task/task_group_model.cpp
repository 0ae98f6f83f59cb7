// tests/task/task_group_model.cpp: under no schedule does a wait return before the functions have ended, or hang, or
// miss what they did, threw or left out.
#include <braid/task/fork_join.hpp>

#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/executor_slots.hpp>
#include <tests/support/bare_workers.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/model.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

using braid::acquire;
using braid::atomic;
using braid::errc;
using braid::relaxed;
using braid::release;
using braid::task_group;
using braid::worker;
using braid::detail::fork_exchange;
using braid::detail::fork_record;
namespace model = braid::model;

namespace {

/// An executor whose n-th job the n-th caller of `run` or `drop` takes.
class numbered_jobs final : public braid::executor {
 public:
  [[nodiscard]] auto try_post(braid::job& work) noexcept -> bool override {
    if (refuses_) return false;
    place& free = places_[posted_.fetch_add(1, relaxed)];
    free.work = &work;
    free.is_there.store(1, release);
    braid::detail::futex_wake(free.is_there, 1);
    return true;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }

  void run() { take().run(); }
  void drop() { take().drop(); }
  void refuse() { refuses_ = true; }

 private:
  struct place {
    atomic<std::uint32_t> is_there{0};
    braid::job* work = nullptr;
  };

  auto take() -> braid::job& {
    place& mine = places_[taken_.fetch_add(1, relaxed)];
    while (mine.is_there.load(acquire) == 0) braid::detail::futex_wait(mine.is_there, 0);
    return *mine.work;
  }

  std::array<place, 4> places_;
  atomic<std::size_t> posted_{0};
  atomic<std::size_t> taken_{0};
  bool refuses_ = false;
};

/// A group of threads that are no workers; they post its functions to threads of the run.
struct posted_scene {
  posted_scene() {
    const braid::detail::worker_scope here(self);
    group.emplace();  // for the executor of the worker that makes it
  }

  numbered_jobs jobs;
  braid::detail::asymmetric_barrier barrier;
  worker self{jobs, 0, barrier};
  std::optional<task_group> group;
};

void ends_of_all(model::run& r) {
  posted_scene on;
  std::array<model::shared<int>, 2> written{};
  r.thread([&] {
    for (auto& each : written) on.group->run([&each] { each = 1; });
    r.check(on.group->wait().has_value(), "all have run");
    for (const auto& each : written) r.check(each == 1, "what was done is seen");
    on.group.reset();  // nobody may touch it any more
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { on.jobs.run(); });
  r.join();
}

void used_anew(model::run& r) {
  posted_scene on;
  model::shared<int> written{0};
  r.thread([&] {
    for (int round = 1; round <= 2; ++round) {
      on.group->run([&] { written = written + 1; });
      r.check(on.group->wait().has_value(), "it has run");
      r.check(written == round, "what was done is seen, each time");
    }
  });
  r.thread([&] {
    for (int i = 0; i < 2; ++i) on.jobs.run();
  });
  r.join();
}

/// A function gives the group another one, as its last act.
void grows(model::run& r) {
  posted_scene on;
  model::shared<int> written{0};
  r.thread([&] {
    on.group->run([&] { on.group->run([&] { written = 1; }); });
    r.check(on.group->wait().has_value(), "both have run");
    r.check(written == 1, "what the second has done is seen");
    on.group.reset();
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { on.jobs.run(); });
  r.join();
}

/// One function throws, and the other one runs or is left out.
void throws(model::run& r) {
  posted_scene on;
  model::shared<int> thrown{0};
  r.thread([&] {
    on.group->run([&] {
      thrown = 1;
      throw 7;
    });
    on.group->run([] {});
    int caught = 0;
    try {
      static_cast<void>(on.group->wait());
    } catch (int what) {
      caught = what;
    }
    r.check(caught == 7, "what was thrown is thrown again");
    r.check(thrown == 1, "what was done before is seen");
    r.check(on.group->wait().has_value(), "once");
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { on.jobs.run(); });
  r.join();
}

void both_throw(model::run& r) {
  posted_scene on;
  r.thread([&] {
    for (int i = 1; i <= 2; ++i) on.group->run([i] { throw i; });
    int caught = 0;
    try {
      static_cast<void>(on.group->wait());
    } catch (int what) {
      caught = what;
    }
    r.check(caught == 1 || caught == 2, "one of them is thrown again");
  });
  for (int i = 0; i < 2; ++i) r.thread([&] { on.jobs.run(); });
  r.join();
}

/// An executor runs one function and drops the other.
void dropped(model::run& r) {
  posted_scene on;
  model::shared<int> written{0};
  r.thread([&] {
    on.group->run([&] { written = written + 1; });
    on.group->run([&] { written = written + 1; });
    r.check(on.group->wait() == braid::fail(errc::dropped), "the wait says so");
    r.check(written == 1, "what the other has done is seen");
  });
  r.thread([&] { on.jobs.run(); });
  r.thread([&] { on.jobs.drop(); });
  r.join();
}

/// A stop is requested while a function is about to begin.
void stopped(model::run& r) {
  numbered_jobs jobs;
  braid::detail::asymmetric_barrier barrier;
  worker self{jobs, 0, barrier};
  braid::stop_flag flag;
  std::optional<task_group> group;
  {
    const braid::detail::worker_scope here(self);
    group.emplace(flag);
  }
  bool ran = false;
  r.thread([&] {
    group->run([&] { ran = true; });
    const auto ended = group->wait();
    r.check(ended.has_value() == ran, "a function that was left out is told");
    if (!ended) r.check(ended.error() == errc::deadline_exceeded, "with the reason");
  });
  r.thread([&] { jobs.run(); });
  r.thread([&] { flag.request(errc::deadline_exceeded); });
  r.join();
}

/// The owner is a worker; a thief takes what it has forked. The threads of a run share their thread-local variables, so
/// that functions here give the group nothing.
struct forked_scene {
  forked_scene() {
    for (std::size_t index : {0U, 1U}) {
      workers.push_back(std::make_unique<worker>(nowhere, index, barrier));
      workers.back()->victims.push_back(1 - index);
      workers.back()->exchange = &forks;
    }
  }

  void steal_once() {
    if (fork_record* const stolen = forks.steal(*workers[1]); stolen != nullptr)
      fork_exchange::run_stolen(*workers[1], *stolen);
  }

  braid::testing::manual_executor nowhere;
  braid::detail::asymmetric_barrier barrier;
  braid::worker_list workers;
  braid::detail::sleepers asleep{workers, barrier};
  fork_exchange forks{workers, barrier, asleep, 0};
};

void stolen(model::run& r) {
  forked_scene on;
  const braid::detail::worker_scope here(*on.workers[0]);
  std::array<model::shared<int>, 2> written{};
  on.workers[0]->forks.ask();
  r.thread([&] {
    task_group group;
    for (auto& each : written) group.run([&each] { each = each + 1; });
    r.check(group.wait().has_value(), "all have run");
    for (const auto& each : written) r.check(each == 1, "once, and it is seen");
  });
  r.thread([&] { on.steal_once(); });
  r.join();
}

constexpr model::options narrow{.preemptions = 2, .surprises = 1};
constexpr model::options by_seed{.seeds = 3'000, .preemptions = 6, .surprises = 4};

/// By seeds first: afterwards the thread has memory at hand for all jobs of a run, so that runs take the same steps.
void holds(model::body body) {
  CHECK(model::explore(by_seed, body).failure == "");
  const model::report all = model::explore_all(narrow, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

}  // namespace

TEST_CASE("a wait sees that all functions have ended and what they did, and then the group may go") {
  holds(ends_of_all);
}

TEST_CASE("a group that was waited for is used anew") { holds(used_anew); }

TEST_CASE("a function that gives the group another one does not end it") { holds(grows); }

TEST_CASE("what a function throws reaches the wait, on whichever thread it runs") {
  holds(throws);
  holds(both_throw);
}

TEST_CASE("functions that are dropped or left out are told") {
  holds(dropped);
  holds(stopped);
}

TEST_CASE("a function that was stolen runs once, and the wait of its owner sees what it did") { holds(stolen); }

TEST_CASE("every order of a group is needed") {
  CHECK(model::explore({.seeds = 1}, ends_of_all).failure == "");  // as in `holds`
  CHECK(model::orders_not_needed("task_group.cpp", narrow, {ends_of_all}) == "");
}
