// tests/sync/inbox_test.cpp: what is posted is run once and in order, stolen, dropped or refused, and memory comes
// back.
#include <braid/sync/detail/inbox.hpp>

#include <doctest/doctest.h>

#include <tests/support/sanitizer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using braid::relaxed;
using braid::detail::asymmetric_barrier;
using braid::detail::post_outcome;

namespace {

/// How many segments there are in this process, and ports: nothing else here asks for memory with an alignment. 0
/// throughout under the thread sanitizer, which has such functions of its own.
braid::atomic<int> segments{0};
braid::atomic<int> segments_made{0};

}  // namespace

#if !defined(BRAID_TEST_THREAD)

auto operator new(std::size_t size, std::align_val_t alignment) -> void* {
  void* const memory = operator new(size, alignment, std::nothrow);
  return memory != nullptr ? memory : throw std::bad_alloc();
}

auto operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept -> void* {
  segments.fetch_add(1, relaxed);
  segments_made.fetch_add(1, relaxed);
  const auto step = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(step, (size + step - 1) / step * step);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  if (memory != nullptr) segments.fetch_sub(1, relaxed);
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/, std::align_val_t alignment) noexcept {
  operator delete(memory, alignment);
}
#endif

namespace {

/// Segments of a few callables.
template <typename Lock = std::mutex, std::size_t Producers = 16>
using small_inbox_with = braid::detail::inbox<Lock, Producers, 256>;
using small_inbox = small_inbox_with<>;
using numbers = std::vector<int>;

auto counted(int count) -> numbers {
  numbers out;
  for (int i = 0; i < count; ++i) out.push_back(i);
  return out;
}

template <typename Inbox>
void run_all(Inbox& all) {
  while (all.run_one()) {}
}

/// A callable with this many bytes of captures that adds the first of them to a log.
template <std::size_t Size>
struct sized {
  void operator()() { log->push_back(number); }
  numbers* log;
  int number;
  std::array<char, Size - 16> rest{};
};

}  // namespace

TEST_CASE("callables are run in the order of their posts, however many there are") {
  asymmetric_barrier barrier;
  for (const int count : {0, 1, 3, 4, 5, 6, 7, 100}) {
    small_inbox all(barrier);
    numbers log;
    for (int i = 0; i < count; ++i) CHECK(all.post([&log, i] { log.push_back(i); }) == post_outcome::posted);
    CHECK(all.empty() == (count == 0));
    run_all(all);
    CHECK(log == counted(count));
    CHECK(all.empty());
  }
}

TEST_CASE("the order holds when posts and runs take turns") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  for (int i = 0; i < 200; ++i) {
    all.post([&log, i] { log.push_back(i); });
    if (i % 7 < 3) all.run_one();
    if (i % 50 == 49) run_all(all);
  }
  run_all(all);
  CHECK(log == counted(200));
}

TEST_CASE("try_post refuses a producer of whom as many wait as the capacity says, and leaves the callable alone") {
  asymmetric_barrier barrier;
  for (const int capacity : {0, 1, 4, 100, 1 << 20}) {
    braid::detail::inbox<> all(barrier, static_cast<std::size_t>(capacity));
    int runs = 0;
    for (int i = 0; i < capacity; ++i) REQUIRE(all.try_post([&runs] { ++runs; }) == post_outcome::posted);
    auto kept = std::make_unique<int>(7);
    auto refused = [&runs, mine = std::move(kept)] { runs += *mine; };
    CHECK(all.try_post(std::move(refused)) == post_outcome::full);
    refused();
    CHECK(all.run_one() == (capacity > 0));
    CHECK(all.try_post([&runs] { ++runs; }) == (capacity > 0 ? post_outcome::posted : post_outcome::full));
    CHECK(all.try_post([&runs] { ++runs; }) == post_outcome::full);
    CHECK(all.post([&runs] { ++runs; }) == post_outcome::posted);
    CHECK(all.try_post_from(nullptr, [&runs] { ++runs; }) ==
          (capacity > 0 ? post_outcome::posted : post_outcome::full));
    run_all(all);
    CHECK(runs == 7 + capacity + 1 + (capacity > 0 ? 2 : 0));
  }
}

TEST_CASE("without a capacity try_post refuses nothing") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  int runs = 0;
  for (int i = 0; i < 1000; ++i) REQUIRE(all.try_post([&runs] { ++runs; }) == post_outcome::posted);
  run_all(all);
  CHECK(runs == 1000);
}

TEST_CASE("a producer knows how many of its own are waiting, and anybody how many there are") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  const auto mine = all.open_producer();
  CHECK(mine->backlog() == 0);
  for (std::size_t i = 1; i <= 20; ++i) {
    all.post_from(mine.get(), [] {});
    CHECK(mine->backlog() == i);
  }
  all.post([] {});
  all.post_from(nullptr, [] {});
  CHECK(all.size() == 22);
  for (std::size_t left = 22; left > 0; --left) {
    CHECK(all.size() == left);
    CHECK(all.run_one());
  }
  CHECK(mine->backlog() == 0);
  CHECK(all.size() == 0);
}

TEST_CASE("captures of any size and alignment arrive") {
  struct alignas(64) wide {
    void operator()() const { log->push_back(reinterpret_cast<std::uintptr_t>(this) % 64 == 0 ? 2 : -1); }
    numbers* log;
  };
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  all.post(sized<56>{.log = &log, .number = 0});
  all.post(sized<400>{.log = &log, .number = 1});
  all.post(wide{.log = &log});
  run_all(all);
  CHECK(log == counted(3));
}

TEST_CASE("captures are destroyed once, when the callable has run, was dropped, or nobody ran it") {
  asymmetric_barrier barrier;
  const auto owned = std::make_shared<int>(0);
  {
    small_inbox all(barrier);
    for (int i = 0; i < 8; ++i) all.post([owned] { ++*owned; });
    CHECK(owned.use_count() == 9);
    CHECK(all.run_one());
    CHECK(owned.use_count() == 8);
    CHECK(all.drop_one());
    CHECK(owned.use_count() == 7);
  }
  CHECK(owned.use_count() == 1);
  CHECK(*owned == 1);
}

TEST_CASE("what a callable throws comes out of run_one, and the inbox goes on") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  const auto owned = std::make_shared<int>(0);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) all.post([owned] { throw std::runtime_error("no"); });
    for (int i = 0; i < 6; ++i) CHECK_THROWS_AS(all.run_one(), std::runtime_error);
    CHECK(owned.use_count() == 1);
  }
  CHECK_FALSE(all.run_one());
}

TEST_CASE("a callable whose copy throws is not posted") {
  struct reluctant {
    explicit reluctant(int& runs) : run_count(&runs) {}
    reluctant(const reluctant& other) : run_count(other.run_count) { throw std::runtime_error("no copy"); }
    reluctant(reluctant&& other) noexcept = default;
    void operator()() const { ++*run_count; }
    int* run_count;
  };
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  int runs = 0;
  const reluctant mine(runs);
  CHECK_THROWS_AS(all.post(mine), std::runtime_error);
  CHECK(all.empty());
  CHECK(all.post(reluctant(runs)) == post_outcome::posted);
  all.close();
  run_all(all);
  CHECK(runs == 1);
}

TEST_CASE("a callable may run others of its inbox, and its captures stay whole meanwhile") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  int nested = 0;
  for (int depth = 0; depth < 3; ++depth) {
    all.post([&, depth, mine = std::array<int, 4>{depth, 1, 2, 3}] {
      for (int i = 0; i < 200; ++i) {
        all.post([&nested] { ++nested; });
        all.run_one();
      }
      log.push_back(mine == std::array<int, 4>{depth, 1, 2, 3} ? depth : -1);
    });
  }
  run_all(all);
  CHECK(log == numbers{2, 1, 0});
  CHECK(nested == 600);
}

TEST_CASE("what was here at the last look can be claimed without another one") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  const auto post = [&](int i) { all.post([&log, i] { log.push_back(i); }); };
  const auto run_seen = [&] {
    while (small_inbox::work seen = all.claim_seen()) seen.run();
  };
  for (int i = 0; i < 100; ++i) post(i);
  run_seen();
  CHECK(log.empty());
  all.run_one();
  post(100);
  run_seen();
  CHECK(log == counted(100));
  CHECK_FALSE(all.empty());
  CHECK(all.run_one());
  CHECK(log == counted(101));
  run_seen();
  CHECK(all.empty());
}

TEST_CASE("who claims only what was seen takes turns between producers, too") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  const auto first = all.open_producer();
  const auto second = all.open_producer();
  numbers log;
  for (int i = 0; i < 100; ++i)
    for (const auto& from : {first, second})
      all.post_from(from.get(), [&log, one = from == first] { log.push_back(one); });
  all.run_one();
  while (small_inbox::work seen = all.claim_seen()) seen.run();
  REQUIRE(log.size() == 200);
  for (std::size_t i = 0; i < 192; i += 64) CHECK(std::count(log.data() + i, log.data() + i + 64, 1) == 32);
}

TEST_CASE("work that was claimed is run once or dropped, in any order, while others come and go") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  const auto owned = std::make_shared<int>(0);
  numbers log;
  std::vector<small_inbox::work> held;
  for (int i = 0; i < 60; ++i) {
    all.post([&log, i, owned] { log.push_back(i); });
    held.push_back(all.claim());
    REQUIRE(held.back());
    for (int other = 0; other < 7; ++other) {
      all.post([owned] { ++*owned; });
      all.run_one();
    }
  }
  CHECK_FALSE(all.claim());
  CHECK(all.empty());
  for (std::size_t i = 0; i < held.size(); i += 2) held[i * 7 % 60].run();
  CHECK_FALSE(held[0]);
  CHECK(held[1]);
  CHECK(owned.use_count() == 31);
  std::sort(log.begin(), log.end());
  for (int i = 0; i < 30; ++i) CHECK(log[static_cast<std::size_t>(i)] == 2 * i);
  while (held.size() > 30) held.erase(held.begin() + static_cast<std::ptrdiff_t>(held.size() / 3));
  held.front() = std::move(held.back());
  held.clear();
  CHECK(owned.use_count() == 1);
  CHECK(*owned == 420);
}

TEST_CASE("a callable that is dropped and not run is told so, before its end") {
  struct told {
    explicit told(numbers& in, std::size_t bytes = 1) : log(&in), big(bytes > 1) {}
    told(const told&) = delete;
    auto operator=(const told&) -> told& = delete;
    told(told&& other) noexcept : log(std::exchange(other.log, nullptr)), big(other.big) {}
    ~told() {
      if (log != nullptr) log->push_back(3);
    }
    void operator()() { log->push_back(1); }
    void drop() noexcept { log->push_back(2); }
    numbers* log;
    bool big;
  };
  struct large : told {
    using told::told;
    std::array<char, 100> rest{};
  };
  asymmetric_barrier barrier;
  const auto check_with = [&](auto make) {
    numbers log;
    {
      small_inbox all(barrier, 0);
      small_inbox other(barrier);
      for (int i = 0; i < 5; ++i) all.post(make(log));
      CHECK(all.run_one());
      CHECK(std::exchange(log, {}) == numbers{1, 3});
      CHECK(all.drop_one());
      CHECK(std::exchange(log, {}) == numbers{2, 3});
      static_cast<void>(all.claim());
      CHECK(std::exchange(log, {}) == numbers{2, 3});
      CHECK(other.steal_half_from(all) == 1);
      CHECK(log.empty());
      CHECK(other.run_one());
      CHECK(std::exchange(log, {}) == numbers{1, 3});
      CHECK(all.try_post(make(log)) == post_outcome::full);
      all.close();
      CHECK(all.post(make(log)) == post_outcome::closed);
      CHECK(std::exchange(log, {}) == numbers{3, 3});
    }
    CHECK(log == numbers{2, 3});
  };
  check_with([](numbers& log) { return told(log); });
  check_with([](numbers& log) { return large(log, 100); });
}

TEST_CASE("a steady stream uses its memory again, and a burst leaves little behind") {
  asymmetric_barrier barrier;
  const int before = segments.load(relaxed);
  std::shared_ptr<braid::detail::inbox<>::producer> mine;
  {
    braid::detail::inbox<> all(barrier);
    mine = all.open_producer();
    int runs = 0;
    const auto post_some = [&](int count) {
      for (int i = 0; i < count; ++i) all.post_from(mine.get(), [&runs] { ++runs; });
    };
    for (int round = 0; round < 2; ++round) {
      post_some(1000);
      run_all(all);
    }
    const int steady = segments_made.load(relaxed);
    for (int round = 0; round < 100; ++round) {
      post_some(1000);
      run_all(all);
    }
    CHECK(segments_made.load(relaxed) == steady);
    post_some(100'000);
    if (!braid::testing::under_thread_sanitizer) CHECK(segments.load(relaxed) - before >= 100'000 / 256);
    run_all(all);
    CHECK(segments.load(relaxed) - before <= 64 + 2);
    CHECK(runs == 202'000);
    post_some(1);
  }
  if (!braid::testing::under_thread_sanitizer) CHECK(segments.load(relaxed) == before + 1);  // the port itself
  mine.reset();
  CHECK(segments.load(relaxed) == before);
}

TEST_CASE("memory comes back while a callable runs others for long") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  int runs = 0;
  int max_count = 0;
  const int before = segments.load(relaxed);
  all.post([&] {
    for (int i = 0; i < 10'000; ++i) {
      all.post([&runs] { ++runs; });
      all.run_one();
      max_count = std::max(max_count, segments.load(relaxed) - before);
    }
  });
  run_all(all);
  CHECK(runs == 10'000);
  CHECK(max_count <= 4);
}

TEST_CASE("memory comes back although each claim begins before the last one ends") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  int runs = 0;
  int max_count = 0;
  const int before = segments.load(relaxed);
  all.post([&runs] { ++runs; });
  small_inbox::work current = all.claim();
  for (int i = 0; i < 1000; ++i) {
    all.post([&runs] { ++runs; });
    small_inbox::work next = all.claim();
    current.run();
    current = std::move(next);
    max_count = std::max(max_count, segments.load(relaxed) - before);
  }
  CHECK(runs == 1000);
  CHECK(max_count <= 4);
}

TEST_CASE("a thief moves the older half to its own inbox, and at least one") {
  asymmetric_barrier barrier;
  small_inbox victim(barrier);
  small_inbox mine(barrier);
  numbers log;
  for (int i = 0; i < 8; ++i) victim.post([&log, i] { log.push_back(i); });
  CHECK(mine.steal_half_from(victim) == 4);
  run_all(mine);
  CHECK(log == counted(4));
  run_all(victim);
  CHECK(log == counted(8));
  CHECK(mine.steal_half_from(victim) == 0);
  victim.post([&log] { log.push_back(8); });
  CHECK(mine.steal_half_from(victim) == 1);
  CHECK(victim.empty());
  run_all(mine);
  CHECK(log == counted(9));
}

TEST_CASE("a thief moves 128 at most, large ones too, and also when its own inbox is closed") {
  asymmetric_barrier barrier;
  small_inbox victim(barrier);
  small_inbox mine(barrier);
  numbers log;
  for (int i = 0; i < 300; ++i) {
    if (i % 2 == 0)
      victim.post(sized<56>{.log = &log, .number = i});
    else
      victim.post(sized<400>{.log = &log, .number = i});
  }
  CHECK(mine.steal_half_from(victim) == 128);
  CHECK(mine.steal_half_from(victim) == 86);
  CHECK(mine.size() == 214);
  run_all(mine);
  run_all(victim);
  CHECK(log == counted(300));
  victim.post([&log] { log.push_back(300); });
  mine.close();
  CHECK(mine.steal_half_from(victim) == 1);
  run_all(mine);
  CHECK(log == counted(301));
}

TEST_CASE("memory comes back from what thieves took") {
  asymmetric_barrier barrier;
  small_inbox victim(barrier);
  small_inbox mine(barrier);
  int runs = 0;
  int max_count = 0;
  const int before = segments.load(relaxed);
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 20; ++i) victim.post([&runs] { ++runs; });
    for (int i = 0; i < round % 4; ++i) victim.run_one();
    while (mine.steal_half_from(victim) > 0) max_count = std::max(max_count, segments.load(relaxed) - before);
    run_all(mine);
  }
  CHECK(runs == 2000);
  CHECK(max_count <= 10);
}

TEST_CASE("what the owner has claimed stays whole when a thief passes it") {
  asymmetric_barrier barrier;
  small_inbox victim(barrier);
  small_inbox mine(barrier);
  numbers log;
  int others = 0;
  for (int i = 0; i < 30; ++i) {
    victim.post(sized<56>{.log = &log, .number = i});
    const auto post_others = [&] {
      for (int other = 0; other < 20; ++other) victim.post([&others] { ++others; });
    };
    small_inbox::work held = victim.claim();
    post_others();
    while (mine.steal_half_from(victim) > 0) run_all(mine);
    post_others();
    run_all(victim);
    held.run();
  }
  CHECK(log == counted(30));
  CHECK(others == 1200);
}

TEST_CASE("anybody may drop all that is here, and the memory is used again") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  const auto owned = std::make_shared<int>(0);
  int max_count = 0;
  const int before = segments.load(relaxed);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20; ++i) all.post([owned] { ++*owned; });
    all.post_from(nullptr, [owned, rest = std::array<char, 400>{}] { *owned += 1 + rest[0]; });
    all.run_one();
    std::thread([&all] { all.drop_all(); }).join();
    CHECK(all.empty());
    CHECK(owned.use_count() == 1);
    max_count = std::max(max_count, segments.load(relaxed) - before);
  }
  CHECK(*owned == 20);
  CHECK(max_count <= 10);
}

TEST_CASE("a closed inbox refuses, and what it had can be taken") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  for (int i = 0; i < 6; ++i) all.post([&log, i] { log.push_back(i); });
  all.close();
  all.close();
  CHECK(all.post([&log] { log.push_back(-1); }) == post_outcome::closed);
  CHECK(all.try_post([&log] { log.push_back(-1); }) == post_outcome::closed);
  CHECK(all.post_from(nullptr, [&log] { log.push_back(-1); }) == post_outcome::closed);
  run_all(all);
  CHECK(log == counted(6));
}

TEST_CASE("threads beyond the number of ports share one, and ports of ended threads are used again") {
  asymmetric_barrier barrier;
  small_inbox_with<std::mutex, 2> all(barrier);
  numbers log;
  {
    const auto first = all.open_producer();
    const auto second = all.open_producer();
    CHECK(all.open_producer() == nullptr);
    for (int i = 0; i < 10; ++i) all.post_from(nullptr, [&log, i] { log.push_back(i); });
    run_all(all);
    first->give_back();
    CHECK(all.open_producer() == first);
    first->give_back();
  }
  for (int i = 10; i < 20; ++i) std::thread([&all, &log, i] { all.post([&log, i] { log.push_back(i); }); }).join();
  run_all(all);
  CHECK(log == counted(20));
}

TEST_CASE("one thread may post to many inboxes, also after some of them are gone") {
  asymmetric_barrier barrier;
  int runs = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<small_inbox>> all;
    for (int i = 0; i < 40; ++i) all.push_back(std::make_unique<small_inbox>(barrier));
    for (int again = 0; again < 2; ++again)
      for (auto& one : all) one->post([&runs] { ++runs; });
    for (auto& one : all) run_all(*one);
  }
  CHECK(runs == 240);
}

TEST_CASE("an inbox may be gone before the threads that posted to it end") {
  asymmetric_barrier barrier;
  auto all = std::make_unique<small_inbox>(barrier);
  int runs = 0;
  braid::atomic<int> stage{0};
  std::thread poster([&] {
    all->post([&runs] { ++runs; });
    stage.store(1, braid::release);
    while (stage.load(braid::acquire) != 2) std::this_thread::yield();
  });
  while (stage.load(braid::acquire) != 1) std::this_thread::yield();
  run_all(*all);
  all.reset();
  stage.store(2, braid::release);
  poster.join();
  CHECK(runs == 1);
}
