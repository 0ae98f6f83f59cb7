// tests/task/future_pool_test.cpp: futures on real pools: every one settles, and continuations follow their work.
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <latch>
#include <ostream>
#include <ranges>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::future;
using braid::relaxed;
using braid::shutdown_mode;
using braid::spawn;
using braid::spawn_all;
using braid::when_all;
using braid::testing::failure_code;
using braid::testing::failure_text;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

constexpr bool sanitized = braid::testing::under_address_sanitizer || braid::testing::under_thread_sanitizer;

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{200s};
};

auto with_workers(unsigned count) -> braid::pool::options { return {.workers = count}; }

/// How a future of an int ended.
enum class ending { value, thrown, dropped, closed, other };

auto find_ending(future<int>& one) -> ending {
  try {
    static_cast<void>(one.get());
    return ending::value;
  } catch (const std::system_error& error) {
    if (error.code() == errc::dropped) return ending::dropped;
    return error.code() == errc::closed ? ending::closed : ending::other;
  } catch (const std::runtime_error&) {
    return ending::thrown;
  }
}

}  // namespace

TEST_CASE("continuations run on a worker, and on the only one where there is one") {
  const watched by_dog;
  pool workers(with_workers(1));
  auto ids = spawn(workers, [] { return std::this_thread::get_id(); }).then([](std::thread::id first) {
    return std::pair(first, std::this_thread::get_id());
  });
  const auto [first, second] = ids.get();
  CHECK(first == second);
  CHECK((first != std::this_thread::get_id()) == braid::testing::chosen_has_threads());
}

TEST_CASE("the results of a batch come together") {
  const watched by_dog;
  pool workers(with_workers(2));
  auto sum = when_all(spawn_all(workers, std::views::iota(0, 1000), [](int n) { return n; })).then([](auto values) {
    int total = 0;
    for (const int value : values) total += value;
    return total;
  });
  CHECK(sum.get() == 499'500);
}

TEST_CASE("twenty thousand failing tasks with continuations all settle") {
  const watched by_dog;
  constexpr int count = 20'000;
  pool workers(with_workers(2));
  braid::atomic<int> called{0};
  std::vector<future<int>> futures;
  for (int i = 0; i < count; ++i) {
    auto failing = spawn(workers, []() -> int { throw std::runtime_error("failed"); });
    futures.push_back(std::move(failing).then([&called](int n) { return called.fetch_add(1, relaxed), n; }));
  }
  int failed = 0;
  for (auto& one : futures) failed += find_ending(one) == ending::thrown ? 1 : 0;
  CHECK(failed == count);
  CHECK(called.load(relaxed) == 0);
}

TEST_CASE("get on the only worker completes, however the work that it waits for came to the pool" *
          braid::testing::needs_queues()) {
  const watched by_dog;
  pool workers(with_workers(1));
  auto own = spawn(workers, [&workers] { return spawn(workers, [] { return 1; }).get(); });
  CHECK(own.get() == 1);
  std::latch opened(1);
  auto blocked = spawn(workers, [&opened] { opened.wait(); });
  future<int> from_outside;
  auto waiting = spawn(workers, [&from_outside] { return from_outside.get(); });
  from_outside = spawn(workers, [] { return 2; });  // behind the one that waits for it
  opened.count_down();
  blocked.get();
  CHECK(waiting.get() == 2);
}

TEST_CASE("of two jobs that wait for each other in turns, both finish on one worker" * braid::testing::needs_queues()) {
  const watched by_dog;
  pool workers(with_workers(1));
  braid::promise<int> question;
  braid::promise<int> answer;
  auto asked = question.get_future();
  auto answered = answer.get_future();
  std::latch opened(1);
  auto blocked = spawn(workers, [&opened] { opened.wait(); });  // so that both are there
  auto asking = spawn(workers, [&] { return question.set_value(6).has_value() ? answered.get() : 0; });
  auto answering = spawn(workers, [&] { return answer.set_value(7 * asked.get()).has_value(); });
  opened.count_down();
  CHECK(asking.get() == 42);
  CHECK(answering.get());
  blocked.get();
}

TEST_CASE("sums by waits in waits, thirty deep and more, complete on one worker and on two" *
          braid::testing::needs_queues()) {
  const watched by_dog;
  for (const unsigned count : {1U, 2U}) {
    pool workers(with_workers(count));
    struct adder {
      auto sum(int n) -> int {
        return n == 0 ? 0 : n + spawn(*where, [this, n] { return sum(n - 1); }).get();
      }
      pool* where;
    } all{&workers};
    CHECK(spawn(workers, [&all] { return all.sum(60); }).get() == 1830);
  }
}

TEST_CASE("a chain of a million links runs while it is made") {
  const watched by_dog;
  constexpr int links = sanitized ? 100'000 : 1'000'000;
  pool workers(with_workers(2));
  auto last = spawn(workers, [] { return 0; });
  for (int i = 0; i < links; ++i) last = std::move(last).then([](int n) { return n + 1; });
  CHECK(last.get() == links);
}

TEST_CASE("the first of several workers to give a value wins" * braid::testing::needs_threads()) {
  const watched by_dog;
  std::latch opened(1);  // outlives the job that waits for it
  pool workers(with_workers(2));
  auto slow = spawn(workers, [&opened] { return opened.wait(), 1; });
  auto fast = spawn(workers, [] { return 2; });
  const auto won = braid::when_any(std::move(slow), std::move(fast)).get();
  CHECK(won.index == 1);
  opened.count_down();
}

TEST_CASE("a shutdown that drops leaves no future behind: each has a value or says why not") {
  const watched by_dog;
  for (int round = 0; round < 20; ++round) {
    std::vector<future<int>> futures;
    int counts[5] = {};
    {
      pool workers(with_workers(2));
      for (int i = 0; i < 200; ++i)
        futures.push_back(spawn(workers, [] { return 1; }).then([](int n) { return n; }).then([](int n) { return n; }));
      CHECK(workers.shutdown(shutdown_mode::drop_pending));
      for (auto& one : futures) {
        REQUIRE(one.is_ready());
        ++counts[static_cast<int>(find_ending(one))];
      }
      CHECK(failure_code(spawn(workers, [] { return 1; })) == errc::closed);
    }
    CHECK(counts[static_cast<int>(ending::thrown)] == 0);
    CHECK(counts[static_cast<int>(ending::other)] == 0);
  }
}

TEST_CASE("a shutdown that drains leaves no future behind") {
  const watched by_dog;
  std::vector<future<int>> futures;
  std::vector<future<int>> after;
  {
    pool workers(with_workers(2));
    for (int i = 0; i < 200; ++i) {
      futures.push_back(spawn(workers, [] { return 1; }));
      after.push_back(futures.back().then([](const int& n) { return n; }));
    }
    CHECK(workers.shutdown(shutdown_mode::drain));
  }
  for (auto& one : futures) CHECK(find_ending(one) == ending::value);
  for (auto& one : after) CHECK(one.is_ready());
}
