// tests/sync/inbox_test.cpp: what is posted is run once and in order, spilled, stolen, dropped or refused.
#include <braid/sync/inbox.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

using braid::asymmetric_barrier;
using braid::post_outcome;

namespace {

using small_inbox = braid::inbox<4>;
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
  for (const int count : {0, 1, 3, 4, 5, 100}) {
    small_inbox all(barrier);
    numbers log;
    for (int i = 0; i < count; ++i) CHECK(all.post([&log, i] { log.push_back(i); }) == post_outcome::posted);
    CHECK(all.empty() == (count == 0));
    run_all(all);
    CHECK(log == counted(count));
    CHECK(all.empty());
  }
}

TEST_CASE("the order holds when the ring runs full and empty by turns") {
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

TEST_CASE("try_post refuses when the ring is full, and leaves the callable alone") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  for (int i = 0; i < 4; ++i) CHECK(all.try_post([&log, i] { log.push_back(i); }) == post_outcome::posted);
  auto kept = std::make_unique<int>(7);
  auto refused = [&log, mine = std::move(kept)] { log.push_back(*mine); };
  CHECK(all.try_post(std::move(refused)) == post_outcome::full);
  refused();
  CHECK(all.run_one());
  CHECK(log == numbers{7, 0});
  CHECK(all.try_post([&log] { log.push_back(4); }) == post_outcome::posted);
  run_all(all);
  CHECK(log == numbers{7, 0, 1, 2, 3, 4});
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

TEST_CASE("a callable may run others of its inbox, also when the ring has come round to its slot") {
  asymmetric_barrier barrier;
  small_inbox all(barrier);
  numbers log;
  all.post([&] {
    for (int i = 1; i < 10; ++i) all.post([&log, i] { log.push_back(i); });
    run_all(all);
    log.push_back(0);
  });
  run_all(all);
  CHECK(log == numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 0});
}

TEST_CASE("a thief moves the older half to its own inbox, and at least one") {
  asymmetric_barrier barrier;
  braid::inbox<16> victim(barrier);
  braid::inbox<16> mine(barrier);
  numbers log;
  for (int i = 0; i < 8; ++i) victim.post([&log, i] { log.push_back(i); });
  CHECK(mine.steal_half_of(victim) == 4);
  run_all(mine);
  CHECK(log == counted(4));
  run_all(victim);
  CHECK(log == counted(8));
  CHECK(mine.steal_half_of(victim) == 0);
  victim.post([&log] { log.push_back(8); });
  CHECK(mine.steal_half_of(victim) == 1);
  CHECK(victim.empty());
  run_all(mine);
  CHECK(log == counted(9));
}

TEST_CASE("steals get what has spilled, too, and nothing once the thief's inbox is closed") {
  asymmetric_barrier barrier;
  small_inbox victim(barrier);
  small_inbox mine(barrier);
  numbers log;
  for (int i = 0; i < 20; ++i) victim.post([&log, i] { log.push_back(i); });
  for (int i = 0; i < 19; ++i) {
    CHECK(mine.steal_half_of(victim) > 0);
    run_all(mine);
    if (victim.empty()) break;
  }
  CHECK(log == counted(20));
  victim.post([&log] { log.push_back(20); });
  mine.close();
  CHECK(mine.steal_half_of(victim) == 0);
  run_all(victim);
  CHECK(log == counted(21));
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

TEST_CASE("threads beyond the number of ports post to the list, and ports of ended threads are used again") {
  asymmetric_barrier barrier;
  braid::inbox<4, std::mutex, 2> all(barrier);
  numbers log;
  {
    const auto first = all.open_port();
    const auto second = all.open_port();
    CHECK(all.open_port() == nullptr);
    all.post_from(nullptr, [&log] { log.push_back(0); });
    run_all(all);
    first->give_back();
    CHECK(all.open_port() == first);
    first->give_back();
  }
  for (int i = 1; i < 10; ++i) std::thread([&all, &log, i] { all.post([&log, i] { log.push_back(i); }); }).join();
  run_all(all);
  CHECK(log == counted(10));
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
