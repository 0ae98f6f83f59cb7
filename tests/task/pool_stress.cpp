// tests/task/pool_stress.cpp: under load, and under shutdowns in the middle of it, no job is lost and none is doubled.
#include <braid/task/pool.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/busy.hpp>
#include <tests/support/chosen_pool.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

using braid::relaxed;
using braid::shutdown_mode;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

class ledger;

/// One line of the ledger: a job, and what became of it.
struct entry final : braid::job {
  entry() : job(&act) {}
  static void act(braid::job& self, action what);

  ledger* book = nullptr;
  std::size_t children = 0;  // entries behind this one that it posts when it runs
  bool accepted = false;     // written by its poster
  braid::atomic<int> runs{0};
  braid::atomic<int> drops{0};
};

/// All jobs of one round. An entry posts its children itself, so each entry is posted by one thread.
class ledger {
 public:
  ledger(pool& where, std::size_t size) : where_(where), entries_(size) {
    for (entry& one : entries_) one.book = this;
  }

  /// Posts `roots` entries, each with `children` of its own behind it, from `first` on.
  void post(std::size_t first, std::size_t roots, std::size_t children) {
    for (std::size_t root = 0; root < roots; ++root) {
      entry& one = entries_[first + root * (children + 1)];
      one.children = children;
      post(one);
    }
  }

  void post(entry& one) {
    one.accepted = true;  // before the post, because afterwards it may be running
    braid::executor& target = where_;
    if (!target.try_post(one)) one.accepted = false;
  }

  void ran(entry& one) {
    ran_.fetch_add(1, relaxed);
    for (std::size_t child = 1; child <= one.children; ++child) post((&one)[child]);
  }

  /// Waits until so many entries have run.
  void wait_for(std::size_t count) const {
    braid::testing::wait_until([&] { return ran_.load(relaxed) >= count; });
  }

  /// How many entries were neither run once nor dropped once although accepted, or touched although not.
  [[nodiscard]] auto wrong() const -> std::ptrdiff_t {
    return std::count_if(entries_.begin(), entries_.end(), [](const entry& one) {
      return one.runs.load(relaxed) + one.drops.load(relaxed) != (one.accepted ? 1 : 0);
    });
  }

  [[nodiscard]] auto dropped() const -> std::ptrdiff_t {
    return std::count_if(entries_.begin(), entries_.end(),
                         [](const entry& one) { return one.drops.load(relaxed) > 0; });
  }

  [[nodiscard]] auto refused() const -> std::ptrdiff_t {
    return std::count_if(entries_.begin(), entries_.end(), [](const entry& one) { return !one.accepted; });
  }

 private:
  pool& where_;
  std::vector<entry> entries_;
  braid::atomic<std::size_t> ran_{0};
};

void entry::act(braid::job& self, action what) {
  auto& one = static_cast<entry&>(self);
  if (what == action::drop) {
    one.drops.fetch_add(1, relaxed);
    return;
  }
  one.runs.fetch_add(1, relaxed);
  one.book->ran(one);
  for (int i = 0; i < 500; ++i) one.drops.load(relaxed);  // takes a while, so that jobs pile up
}

/// Producers that post their share of the ledger, with pauses by seed, and end.
auto start_producers(ledger& book, std::size_t producers, std::size_t roots, std::uint64_t seed)
    -> std::vector<std::thread> {
  constexpr std::size_t children = 3;
  std::vector<std::thread> threads;
  for (std::size_t producer = 0; producer < producers; ++producer)
    threads.emplace_back([&book, producer, roots, seed] {
      braid::random_source random(seed + producer);
      for (std::size_t root = 0; root < roots; ++root) {
        book.post((producer * roots + root) * (children + 1), 1, children);
        if (random.below(8) != 0) continue;  // mostly bursts, now and then a gap in which workers fall asleep
        braid::testing::busy_for(std::chrono::nanoseconds(random.below(50'000)));
      }
    });
  return threads;
}

void join(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
}

constexpr std::size_t entries_a_root = 4;

}  // namespace

TEST_CASE("with 1, 2 and 8 workers everything that producers and jobs post has run once when the pool is idle") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  for (const unsigned workers : {1U, 2U, 8U}) {
    constexpr std::size_t producers = 3;
    const std::size_t roots = scaled(15'000);
    pool where({.workers = workers});
    ledger book(where, producers * roots * entries_a_root);
    auto threads = start_producers(book, producers, roots, seed);
    join(threads);
    REQUIRE(where.wait_idle());
    CHECK(book.wrong() == 0);
    CHECK(book.dropped() == 0);
    CHECK(book.refused() == 0);
  }
}

TEST_CASE("one job at a time: the worker that fell asleep is woken for each") {
  const braid::testing::watchdog dog(200s);
  for (const unsigned workers : {1U, 2U, 8U}) {
    const std::size_t rounds = scaled(8'000);
    pool where({.workers = workers});
    ledger book(where, rounds);
    for (std::size_t i = 0; i < rounds; ++i) {
      book.post(i, 1, 0);
      if (i % 3 != 0) REQUIRE(where.wait_idle());
    }
    REQUIRE(where.wait_idle());
    CHECK(book.wrong() == 0);
  }
}

namespace {

/// Spends up to `max_count` steps, so that what follows meets other threads at every point of what they do.
void dawdle(braid::random_source& random, std::uint64_t max_count) {
  for (std::uint64_t step = random.below(max_count); step > 0; --step) static_cast<void>(random());
}

/// What was done before the flag was set is visible afterwards, so that the flag may go.
void wait_until_set(const braid::atomic<bool>& flag) {
  for (int look = 1; !flag.load(braid::acquire); ++look)
    if (look % 1'000 == 0) std::this_thread::yield();
}

}  // namespace

TEST_CASE("a job that is posted just while the worker falls asleep is run") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  braid::random_source random(seed);
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    for (std::size_t round = scaled(5'000); round > 0; --round) {
      braid::atomic<bool> done{false};
      // The job goes on for a moment, so that the next post meets the worker at the end of the job and later.
      REQUIRE(braid::post(where, [&done, tail = braid::random_source(seed + round)]() mutable {
        done.store(true, braid::release);
        dawdle(tail, 600);
      }));
      wait_until_set(done);
      dawdle(random, 600);
    }
  }
}

TEST_CASE("a job that is posted while the worker that was woken for another one wakes up gets a worker of its own") {
  const braid::testing::watchdog dog(200s);
  braid::random_source random(1);
  std::uint64_t delay =
      5'000;  // follows the time that a worker takes to wake up, so that the second post meets its end
  pool where({.workers = 2});
  for (std::size_t round = scaled(4'000); round > 0; --round) {
    braid::atomic<bool> first_runs{false};
    braid::atomic<bool> second_ran{false};
    REQUIRE(braid::post(where, [&first_runs, &second_ran] {
      first_runs.store(true, relaxed);
      wait_until_set(second_ran);
    }));
    for (std::uint64_t step = delay; step > 0; --step) static_cast<void>(random());
    const bool late = first_runs.load(relaxed);
    REQUIRE(braid::post(where, [&second_ran] { second_ran.store(true, relaxed); }));
    delay = late ? delay - delay / 64 : delay + delay / 64 + 1;
    REQUIRE(where.wait_idle());
  }
}

TEST_CASE("threads that wait for idleness while others post all come back") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  constexpr std::size_t producers = 2;
  const std::size_t roots = scaled(4'000);
  pool where({.workers = 2});
  ledger book(where, producers * roots * entries_a_root);
  auto threads = start_producers(book, producers, roots, seed);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i)
    waiters.emplace_back([&where] {
      for (int round = 0; round < 2'000; ++round) static_cast<void>(where.wait_idle());
    });
  join(threads);
  join(waiters);
  REQUIRE(where.wait_idle());
  CHECK(book.wrong() == 0);
}

TEST_CASE("a shutdown in the middle of the load runs or drops what was accepted, and refuses the rest") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  braid::random_source random(seed);
  std::ptrdiff_t dropped = 0;
  std::ptrdiff_t refused = 0;
  for (std::size_t round = 0; round < scaled(600); ++round) {
    constexpr std::size_t producers = 2;
    constexpr std::size_t roots = 40;
    const auto mode = round % 2 == 0 ? shutdown_mode::drain : shutdown_mode::drop_pending;
    const unsigned workers = std::vector{1U, 2U, 8U}[round % 3];
    pool where({.workers = workers});
    ledger book(where, producers * roots * entries_a_root);
    auto threads = start_producers(book, producers, roots, seed + round);
    book.wait_for(random.below(producers * roots * entries_a_root));
    std::thread second;
    std::thread waiter;
    if (round % 5 == 0) second = std::thread([&] { static_cast<void>(where.shutdown(mode)); });
    if (round % 7 == 0) waiter = std::thread([&] { static_cast<void>(where.wait_idle()); });
    REQUIRE(where.shutdown(mode));
    join(threads);
    if (second.joinable()) second.join();
    if (waiter.joinable()) waiter.join();
    REQUIRE(book.wrong() == 0);
    if (mode == shutdown_mode::drain) REQUIRE(book.dropped() == 0);
    dropped += book.dropped();
    refused += book.refused();
  }
  std::printf("dropped %td, refused %td\n", dropped, refused);
  CHECK(dropped + refused > 0);  // else every shutdown came after the load
}
