// tests/task/idle_set_model.cpp: under no schedule does a worker sleep beside a job, or is it woken for nothing.
#include <braid/task/detail/idle_set.hpp>

#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

using braid::atomic;
using braid::relaxed;
using braid::detail::idle_set;
namespace model = braid::model;

namespace {

enum class fault : std::uint8_t { none, looks_before_announcing, picks_before_placing };

/// What a pool is to its idle set: jobs under a lock, and workers that sleep when there are none.
template <fault Fault>
struct small_pool {
  static constexpr std::size_t workers = 2;

  void post() {
    if (Fault == fault::picks_before_placing) wake_one();
    place();
    if (Fault != fault::picks_before_placing) wake_one();
  }

  void place() {
    const std::scoped_lock held(lock);
    jobs = jobs + 1;
  }

  auto take() -> bool {
    const std::scoped_lock held(lock);
    if (jobs == 0) return false;
    jobs = jobs - 1;
    return true;
  }

  auto empty() -> bool {
    const std::scoped_lock held(lock);
    return jobs == 0;
  }

  void wake_one() {
    if (const auto picked = idle.claim_any()) places[*picked].unpark();
  }

  /// Runs jobs until so many have run.
  void work(std::size_t self, int wanted) {
    while (true) {
      while (take()) ran.fetch_add(1, relaxed);
      if (ran.load(relaxed) >= wanted) return;
      sleep(self);
    }
  }

  void sleep(std::size_t self) {
    const bool early = empty();
    idle.advertise(self);
    const bool nothing = Fault == fault::looks_before_announcing ? early : empty();
    if (!nothing && idle.try_cancel(self)) return;
    places[self].park();
  }

  model::mutex lock;
  model::shared<int> jobs{0};
  idle_set idle{workers};
  std::array<braid::detail::parker, workers> places;
  atomic<int> ran{0};
};

/// One worker, two posts.
template <fault Fault>
void two_posts(model::run& r) {
  small_pool<Fault> pool;
  r.thread([&] { pool.work(0, 2); });
  for (int i = 0; i < 2; ++i) r.thread([&] { pool.post(); });
  r.join();
}

/// Two workers that each sleep once, and a pick for each.
void picks(model::run& r) {
  idle_set idle(2);
  std::array<atomic<int>, 2> picked{};
  for (std::size_t self : {0U, 1U})
    r.thread([&, self] {
      idle.advertise(self);
      if (self == 0 && idle.try_cancel(self)) picked[self].fetch_add(1, relaxed);
    });
  r.thread([&] {
    for (int i = 0; i < 2; ++i)
      if (const auto chosen = idle.claim_any()) picked[*chosen].fetch_add(1, relaxed);
  });
  r.join();
  while (const auto chosen = idle.claim_any()) picked[*chosen].fetch_add(1, relaxed);
  r.check(picked[0].load(relaxed) == 1 && picked[1].load(relaxed) == 1,
          "who announces once is picked or retracts once");
  r.check(!idle.all(), "nobody idles at the end");
}

/// A thread that sees that all idle sees what they did before.
void all_idle(model::run& r) {
  idle_set idle(2);
  std::array<model::shared<int>, 2> done;
  for (std::size_t self : {0U, 1U})
    r.thread([&, self] {
      done[self] = 1;
      idle.advertise(self);
      if (self == 1 && idle.try_cancel(self)) idle.advertise(self);
    });
  r.thread([&] {
    if (idle.all()) r.check(done[0] == 1 && done[1] == 1, "their work is done");
  });
  r.join();
  r.check(idle.all(), "all idle at the end");
}

/// A worker that idles goes to work between two looks, or it does not.
void idle_since(model::run& r) {
  idle_set idle(2);
  atomic<int> works{0};
  r.thread([&] { idle.advertise(0); });
  r.thread([&] {
    idle.advertise(1);
    if (!idle.try_cancel(1)) return;
    works.store(1, braid::release);
    works.store(0, braid::relaxed);
    idle.advertise(1);
  });
  r.thread([&] {
    const auto before = idle.all_since();
    const bool seen_at_work = works.load(braid::acquire) != 0;
    const auto after = idle.all_since();
    if (before && before == after) r.check(!seen_at_work, "all have idled from the one look to the other");
  });
  r.join();
  r.check(idle.all_since() == 1, "one end of idleness");
}

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({.surprises = 1}, body).failure; }

}  // namespace

TEST_CASE("no worker sleeps beside a job") {
  const model::report all = model::explore_all({.surprises = 1}, two_posts<fault::none>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, two_posts<fault::none>).failure == "");
}

TEST_CASE("an announcement ends by one pick or one retract") {
  const model::report all = model::explore_all({}, picks);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("who sees that all idle sees what they did") {
  const model::report all = model::explore_all({.preemptions = 3}, all_idle);
  CHECK(all.failure == "");
  CHECK(all.complete);
  const std::string not_needed = model::orders_not_needed("idle_set.hpp", {}, {all_idle});
  // The two ends of idle_set.advertised: without them the count could sink below zero on a processor that reorders
  // writes, and writes of a run are not reordered.
  CHECK_MESSAGE(std::count(not_needed.begin(), not_needed.end(), ' ') == 2, not_needed);
}

TEST_CASE("two looks with the same answer have nobody at work in between") {
  const model::report all = model::explore_all({.preemptions = 3}, idle_since);
  CHECK(all.failure == "");
  CHECK(all.complete);
}

TEST_CASE("faults in the use of an idle set are found") {
  CHECK(failure_of(two_posts<fault::looks_before_announcing>).starts_with("deadlock"));
  CHECK(failure_of(two_posts<fault::picks_before_placing>).starts_with("deadlock"));
}
