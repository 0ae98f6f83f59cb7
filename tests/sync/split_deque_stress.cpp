// tests/sync/split_deque_stress.cpp: an owner and thieves take every entry of a split deque exactly once.
#include <braid/sync/detail/split_deque.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using braid::random_source;
using braid::relaxed;
using braid::detail::split_deque;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

/// Written by the owner before the push and by the thread that took it, without atomics: TSan sees an order that is
/// missing.
struct entry {
  std::uint64_t payload = 0;
  std::uint32_t pushed = 0;
  std::uint32_t taken = 0;
};

/// What an owner and thieves did with the entries of one deque.
struct ledger {
  ledger(std::size_t capacity, std::size_t count, braid::detail::barrier_kind kind)
      : barrier(kind), deque(capacity, barrier), entries(count) {}

  /// The entry is one that the caller alone holds now.
  void take(entry& taken) {
    ++taken.taken;
    if (taken.payload != taken.pushed * std::uint64_t{3}) broken.store(true, relaxed);
  }

  /// Pushes every entry once, and pops, shares and pushes again as the seed has it.
  void own(std::uint64_t seed) {
    random_source random(seed);
    for (std::size_t next = 0; next < entries.size();) {
      const std::uint64_t choice = random.below(16);
      if (choice < 8) {
        next += push(entries[next]) ? 1 : 0;
      } else if (choice < 15) {
        pop_one(random.below(8) == 0);
      } else {
        deque.share();
        if (random.below(64) == 0) std::this_thread::yield();  // or thieves never run where there is one CPU
      }
    }
    while (entry* const left = deque.pop()) take(*left);
    over.store(true, relaxed);
  }

  void thieve(std::uint64_t seed) {
    random_source random(seed);
    while (!over.load(relaxed)) {
      entry* stolen = deque.steal();
      if (stolen == nullptr && random.below(4) == 0) {
        stolen = deque.take();
        if (stolen != nullptr) takes.fetch_add(1, relaxed);
      }
      if (stolen != nullptr) {
        take(*stolen);
        steals.fetch_add(1, relaxed);
      }
      for (std::uint64_t pause = random.below(100); pause > 0; --pause) over.load(relaxed);
    }
  }

  braid::detail::asymmetric_barrier barrier;
  split_deque<entry> deque;
  std::vector<entry> entries;
  braid::atomic<std::uint64_t> steals{0};
  braid::atomic<std::uint64_t> takes{0};  // of these
  braid::atomic<bool> over{false};
  braid::atomic<bool> broken{false};

 private:
  auto push(entry& pushed) -> bool {
    ++pushed.pushed;
    pushed.payload = pushed.pushed * std::uint64_t{3};
    if (deque.try_push(pushed)) return true;
    --pushed.pushed;
    return false;
  }

  /// Some of what is popped is pushed again, so that slots are filled anew behind the thieves' backs.
  void pop_one(bool again) {
    entry* const popped = deque.pop();
    if (popped == nullptr) return;
    take(*popped);
    if (again && !push(*popped)) broken.store(true, relaxed);  // its own slot cannot be gone
  }
};

void check_ledgers(braid::detail::barrier_kind kind) {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  std::uint64_t steals = 0;
  std::uint64_t takes = 0;
  for (std::size_t capacity : {1U, 2U, 4U, 64U}) {
    for (std::size_t thieves = 1; thieves <= 3; ++thieves) {
      ledger book(capacity, scaled(60'000), kind);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < thieves; ++i) threads.emplace_back([&, i] { book.thieve(seed + i + 1); });
      book.own(seed);
      for (std::thread& thread : threads) thread.join();
      bool each_once = true;
      for (const entry& each : book.entries) each_once = each_once && each.pushed > 0 && each.taken == each.pushed;
      CHECK(each_once);
      CHECK_FALSE(book.broken.load(relaxed));
      steals += book.steals.load(relaxed);
      takes += book.takes.load(relaxed);
    }
  }
  CHECK(steals > takes);
  CHECK(takes > 0);
}

}  // namespace

TEST_CASE("every entry is taken once for each time that it was pushed") {
  check_ledgers(braid::detail::asymmetric_barrier::best_kind());
}

TEST_CASE("every entry is taken once, where the system refuses barriers") {
  check_ledgers(braid::detail::barrier_kind::symmetric);
}
