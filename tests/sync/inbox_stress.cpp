// tests/sync/inbox_stress.cpp: producers, owners that sleep, and thieves run every callable exactly once.
#include <braid/sync/detail/inbox.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using braid::relaxed;
using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::detail::post_outcome;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

/// What belongs to one producer. The counts are plain, so that the thread sanitizer sees two runs of one callable.
struct account {
  std::vector<std::uint32_t> runs;
  std::size_t accepted = 0;
  std::size_t next = 0;  // where everything is run by one thread: the number that must come
  bool in_order = true;
};

void run_plain(account& of, std::size_t number) { ++of.runs[number]; }

void run_in_order(account& of, std::size_t number) {
  ++of.runs[number];
  of.in_order = of.in_order && number == of.next;
  of.next = number + 1;
}

template <typename Inbox>
class office {
 public:
  office(std::size_t producers, std::size_t each, barrier_kind kind) : barrier(kind), accounts(producers) {
    for (account& one : accounts) one.runs.resize(each);
  }

  /// Posts until it is refused or done; wakes the owner when it sleeps.
  template <typename Run>
  void produce(account& mine, Inbox& to, Run run, std::uint64_t seed) {
    braid::random_source random(seed);
    for (std::size_t number = 0; number < mine.runs.size(); ++number) {
      if (to.post([run, &mine, number] { run(mine, number); }) == post_outcome::closed) return;
      ++mine.accepted;
      if (asleep.load(relaxed) != 0 && asleep.exchange(0, relaxed) != 0) sleep.unpark();
      for (std::uint64_t pause = random.below(100); pause > 0; --pause) static_cast<void>(asleep.load(relaxed));
    }
  }

  /// Runs, and sleeps when there is nothing, until so many have run.
  void consume(Inbox& from, std::size_t total) {
    for (std::size_t done = 0; done < total;) {
      if (from.run_one()) {
        ++done;
        continue;
      }
      asleep.store(1, relaxed);
      barrier.heavy();
      if (from.empty() || asleep.exchange(0, relaxed) == 0) sleep.park();
    }
  }

  [[nodiscard]] auto every_run_is_one_acceptance() const -> bool {
    return std::all_of(accounts.begin(), accounts.end(), [](const account& one) {
      const auto split = one.runs.begin() + static_cast<std::ptrdiff_t>(one.accepted);
      return std::all_of(one.runs.begin(), split, [](auto runs) { return runs == 1; }) &&
             std::all_of(split, one.runs.end(), [](auto runs) { return runs == 0; });
    });
  }

  [[nodiscard]] auto in_order() const -> bool {
    return std::all_of(accounts.begin(), accounts.end(), [](const account& one) { return one.in_order; });
  }

  asymmetric_barrier barrier;
  std::vector<account> accounts;
  braid::atomic<int> asleep{0};
  braid::detail::parker sleep;
};

/// More producers than ports, an owner that sleeps.
template <typename Inbox>
void sleep_and_run(barrier_kind kind, std::size_t each, std::uint64_t seed) {
  for (std::size_t producers = 1; producers <= 4; ++producers) {
    office<Inbox> here(producers, each, kind);
    Inbox all(here.barrier);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i)
      threads.emplace_back([&, i] { here.produce(here.accounts[i], all, run_in_order, seed + i); });
    here.consume(all, producers * each);
    for (std::thread& thread : threads) thread.join();
    CHECK(here.every_run_is_one_acceptance());
    CHECK(here.in_order());
    CHECK(all.empty());
  }
}

}  // namespace

TEST_CASE("an owner that sleeps when there is nothing runs everything once and in order") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(250s);
  for (const barrier_kind kind : {asymmetric_barrier::best_kind(), barrier_kind::symmetric}) {
    sleep_and_run<braid::detail::inbox<std::mutex, 2, 256>>(kind, scaled(20'000), seed);
    sleep_and_run<braid::detail::inbox<>>(kind, scaled(100'000), seed);
  }
}

TEST_CASE("owners that hold claims, and thieves, run everything once") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(250s);
  using inbox = braid::detail::inbox<std::mutex, 4, 256>;
  const std::size_t each = scaled(100'000);
  office<inbox> here(2, each, asymmetric_barrier::best_kind());
  std::vector<std::unique_ptr<inbox>> all;
  for (int i = 0; i < 3; ++i) all.push_back(std::make_unique<inbox>(here.barrier));
  braid::atomic<std::size_t> done{0};
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < all.size(); ++me)
    threads.emplace_back([&, me] {
      braid::random_source random(seed + 10 + me);
      std::vector<inbox::work> held;
      const auto run_held = [&] {
        inbox::work& last = held[random.below(held.size())];
        last.run();
        std::swap(last, held.back());
        held.pop_back();
        done.fetch_add(1, relaxed);
      };
      while (done.load(relaxed) < 2 * each) {
        if (inbox::work next = all[me]->claim()) held.push_back(std::move(next));
        if (held.size() > random.below(8)) {
          run_held();
          continue;
        }
        const std::size_t victim = random.below(all.size());
        if (victim == me || all[me]->steal_half_from(*all[victim]) == 0) std::this_thread::yield();
      }
    });
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { here.produce(here.accounts[i], *all[0], run_plain, seed + i); });
  for (std::thread& thread : threads) thread.join();
  CHECK(here.every_run_is_one_acceptance());
}

TEST_CASE("a producer that may have few waiting never has more, and loses nothing") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(250s);
  constexpr std::size_t capacity = 100;
  const std::size_t count = scaled(200'000);
  asymmetric_barrier barrier;
  braid::detail::inbox<> all(barrier, capacity);
  std::size_t runs = 0;
  bool bounded = true;
  std::thread producer([&] {
    const auto mine = all.open_producer();
    for (std::size_t number = 0; number < count; ++number) {
      while (all.try_post_from(mine.get(), [&runs, number] { runs += runs == number ? 1 : 0; }) == post_outcome::full)
        std::this_thread::yield();
      bounded = bounded && mine->backlog() <= capacity;
    }
  });
  braid::random_source random(seed);
  while (runs < count)
    if (!all.run_one() || random.below(1000) == 0) std::this_thread::yield();
  producer.join();
  CHECK(bounded);
}

TEST_CASE("a close between posts splits them into those that run and those that are refused") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(250s);
  using inbox = braid::detail::inbox<std::mutex, 1, 256>;
  braid::random_source random(seed);
  const std::size_t rounds = scaled(500);
  for (std::size_t round = 0; round < rounds; ++round) {
    office<inbox> here(2, 300, asymmetric_barrier::best_kind());
    inbox all(here.barrier);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] { here.produce(here.accounts[i], all, run_in_order, seed + round + i); });
    for (std::uint64_t runs = random.below(300); runs > 0; --runs) all.run_one();
    all.close();
    while (all.run_one()) {}
    for (std::thread& thread : threads) thread.join();
    REQUIRE(all.empty());
    REQUIRE(here.every_run_is_one_acceptance());
    REQUIRE(here.in_order());
  }
}
