// tests/task/fork_join_model.cpp: under no schedule does a fork get lost, is its result seen too early, or does a
// worker sleep for ever beside a worker that goes on forking.
#include <braid/task/detail/fork_exchange.hpp>

#include <braid/sync/detail/futex.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/manual_executor.hpp>
#include <tests/support/model.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

using braid::acquire;
using braid::atomic;
using braid::placement;
using braid::relaxed;
using braid::worker;
using braid::detail::asymmetric_barrier;
using braid::detail::end_signal;
using braid::detail::fork_exchange;
using braid::detail::fork_record;
using braid::detail::sleepers;
using braid::detail::wake_cause;
namespace model = braid::model;

namespace {

enum class fault : std::uint8_t {
  none,
  asks_before_announcing,
  asks_for_itself_alone,
  wakes_nobody,
  looks_at_no_forks,
};

/// A fork that writes a result, and may wait for another one to begin.
class fork final : public fork_record {
 public:
  explicit fork(const fork* waits_for = nullptr) : fork_record(&run_it), waits_for_(waits_for) {}

  [[nodiscard]] auto begun() const -> bool { return begun_.load(relaxed) != 0; }
  [[nodiscard]] auto result() const -> int { return result_; }

 private:
  static void run_it(fork_record& self) noexcept {
    auto& mine = static_cast<fork&>(self);
    mine.begun_.store(1, relaxed);
    braid::detail::futex_wake(mine.begun_, 1);
    // No loop that yields: the owner has one, and the two would let nobody else go on.
    while (mine.waits_for_ != nullptr && !mine.waits_for_->begun())
      braid::detail::futex_wait(mine.waits_for_->begun_, 0);
    mine.result_ = mine.result_ + 1;
    mine.ended.set();
  }

  const fork* waits_for_;
  atomic<std::uint32_t> begun_{0};
  model::shared<int> result_{0};
};

/// The workers of a pool, and a scheduler without jobs.
template <fault Fault>
class small_pool final : public braid::detail::scheduler_base {
 public:
  explicit small_pool(std::size_t count) : workers_(made(count)), asleep_(workers_, barrier_) {
    for (const auto& each : workers_) each->exchange = &forks_;
  }

  [[nodiscard]] auto owner() -> worker& { return *workers_[0]; }

  auto push(fork& forked) -> bool {
    if (Fault != fault::wakes_nobody) return braid::detail::push_fork(owner(), forked);
    return owner().forks.try_push(forked);
  }

  /// The loop of a worker, as a pool has it.
  void work(worker& self) noexcept override {
    bool relied_on = false;
    for (auto woken = wake_cause::own; woken != wake_cause::stop;) {
      fork_record* const stolen = forks_.steal(self);
      if (woken == wake_cause::claimed) asleep_.end_search();
      if (std::exchange(woken, wake_cause::own) != wake_cause::own) relied_on = true;
      if (stolen == nullptr) {
        if (Fault == fault::asks_before_announcing) forks_.ask_all();
        woken = asleep_.sleep(self, *this);
        continue;
      }
      if (std::exchange(relied_on, false)) {
        asleep_.pass_on(self, *this);
        if (Fault != fault::asks_for_itself_alone) forks_.ask_for_sleepers();
      }
      forks_.run_stolen(self, *stolen);
    }
  }

  void thief(std::size_t index) { work(*workers_[index]); }
  void stop() { asleep_.stop(*this); }

  void falls_asleep() noexcept override {
    if (Fault != fault::asks_before_announcing) forks_.ask_all();
  }
  [[nodiscard]] auto may_park(worker& /*self*/) noexcept -> bool override {
    return Fault == fault::looks_at_no_forks || forks_.empty();
  }
  [[nodiscard]] auto empty() noexcept -> bool override { return forks_.empty(); }

  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return false; }
  auto place(braid::job& /*work*/, worker* /*poster*/, braid::priority /*level*/) noexcept -> placement override {
    return {};
  }
  auto worker_for(worker* /*poster*/) noexcept -> worker* override { return nullptr; }
  auto run_one(worker& /*self*/, braid::search /*why*/) noexcept -> bool override { return false; }
  void close() noexcept override {}
  void drop_all() noexcept override {}

 private:
  auto made(std::size_t count) -> braid::worker_list {
    braid::worker_list all;
    for (std::size_t index = 0; index < count; ++index) {
      all.push_back(std::make_unique<worker>(nowhere_, index, barrier_));
      for (std::size_t step = 1; step < count; ++step) all.back()->victims.push_back((index + step) % count);
    }
    return all;
  }

  braid::testing::manual_executor nowhere_;
  asymmetric_barrier barrier_;
  braid::worker_list workers_;
  sleepers asleep_;
  fork_exchange forks_{workers_, barrier_, asleep_, 0};
};

/// The child is taken back, or its thief tells when it has ended.
void join(model::run& r) {
  asymmetric_barrier barrier;
  braid::detail::split_deque<fork_record> forks(2, barrier);
  fork child;
  forks.ask();
  r.thread([&] {
    r.check(forks.try_push(child), "there is room");
    if (forks.pop() == &child)
      child.run(child);
    else
      child.ended.wait();
    r.check(child.result() == 1, "a fork has run once, and its result is there");
  });
  r.thread([&] {
    if (fork_record* const stolen = forks.steal(); stolen != nullptr) stolen->run(*stolen);
  });
  r.join();
}

/// The owner forks once, with a question from before, and then does something else for long.
template <fault Fault>
void forks_once(model::run& r) {
  small_pool<Fault> pool(2);
  fork child;
  pool.owner().forks.ask();
  r.thread([&] {
    r.check(pool.push(child), "there is room");
    child.ended.wait();
    r.check(child.result() == 1, "its result is there");
    pool.stop();
  });
  r.thread([&] { pool.thief(1); });
  r.join();
}

/// The owner forks next to nothing again and again, until one of these has gone.
template <fault Fault>
void goes_on_forking(model::run& r) {
  small_pool<Fault> pool(2);
  r.thread([&] {
    for (bool is_back = true; is_back;) {
      fork child;
      r.check(pool.push(child), "there is room");
      r.yield();
      is_back = pool.owner().forks.pop() == &child;
      if (is_back)
        child.run(child);
      else
        child.ended.wait();
      r.check(child.result() == 1, "it ran once");
    }
    pool.stop();
  });
  r.thread([&] { pool.thief(1); });
  r.join();
}

/// The owner forks two children, of which the first can only end when the second has been taken, too, and then goes on.
template <fault Fault>
void two_thieves(model::run& r) {
  small_pool<Fault> pool(3);
  fork second;
  fork first(&second);
  r.thread([&] {
    r.check(pool.push(first) && pool.push(second), "there is room");
    while (!first.begun() || !second.begun()) {
      fork nothing;
      r.check(pool.push(nothing), "there is room");
      r.yield();
      if (pool.owner().forks.pop() == &nothing)
        nothing.run(nothing);
      else
        nothing.ended.wait();
    }
    first.ended.wait();
    second.ended.wait();
    pool.stop();
  });
  for (const std::size_t index : {1U, 2U}) r.thread([&, index] { pool.thief(index); });
  r.join();
  r.check(first.result() == 1 && second.result() == 1, "each ran once");
}

constexpr model::options narrow{.preemptions = 2, .surprises = 1, .steps = 3'000};
// Not all schedules: the owner's loop may go round at no cost while a thread that could end it is never chosen.
constexpr model::options by_seed{.seeds = 3'000, .preemptions = 4, .surprises = 2, .steps = 20'000};

auto failure_of(void (*body)(model::run&)) -> std::string {
  const std::string failure = model::explore_all(narrow, body).failure;
  return failure.substr(0, failure.find('\n'));
}

}  // namespace

TEST_CASE("a join sees what its fork has done, whoever ran it") {
  const model::report all = model::explore_all({.preemptions = 3}, join);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, join).failure == "");
}

TEST_CASE("every order of an end signal is needed") {
  CHECK(model::orders_not_needed("end_signal.hpp", {}, {join}) == "");
}

TEST_CASE("a fork that was shared is taken, though its owner forks no more") {
  const model::report all = model::explore_all(narrow, forks_once<fault::none>);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("a worker that sleeps gets forks of one that goes on forking") {
  const model::report all = model::explore_all(narrow, goes_on_forking<fault::none>);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("who has stolen asks for those who still sleep") {
  CHECK(model::explore(by_seed, two_thieves<fault::none>).failure == "");
}

TEST_CASE("the barrier between sharing and waking is needed") {
  CHECK(model::orders_not_needed("fork_exchange.cpp", narrow, {forks_once<fault::none>}) == "");
}

TEST_CASE("faults in how workers ask, share and sleep are found") {
  CHECK(failure_of(goes_on_forking<fault::asks_before_announcing>) != "");
  CHECK(model::explore(by_seed, two_thieves<fault::asks_for_itself_alone>).failure.starts_with("no end"));
  CHECK(failure_of(goes_on_forking<fault::wakes_nobody>) != "");
  CHECK(failure_of(forks_once<fault::looks_at_no_forks>) != "");
}
