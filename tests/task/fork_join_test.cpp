// tests/task/fork_join_test.cpp: results and exceptions of forks arrive, whichever worker ran them.
#include <braid/task/fork_join.hpp>

#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/environment.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/stack_extent.hpp>
#include <tests/support/stolen.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::fork_combine;
using braid::fork_join;
using braid::relaxed;
using braid::run_in;
using braid::testing::eventually;
using braid::testing::with_thief;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{100s};
};

auto fib(unsigned n) -> std::uint64_t {
  if (n < 2) return n;
  const auto [left, right] = fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return left + right;
}

/// A spine of forks, so deep.
auto depth(int n) -> int {
  if (n == 0) return 0;
  return fork_combine([n] { return depth(n - 1); }, [] { return 1; }, std::plus{});
}

}  // namespace

TEST_CASE("a default pool that has one worker forks on that") {
  const braid::testing::environment one("BRAID_WORKERS", "1");  // so early because there is one thread yet
  pool where;
  CHECK(where.size() == 1);
  CHECK(run_in(where, [] { return fib(15); }) == 610);
}

TEST_CASE_FIXTURE(watched, "two calls give both results") {
  pool where({.workers = 2});
  const auto [one, two] = run_in(where, [] { return fork_join([] { return 1; }, [] { return std::string("two"); }); });
  CHECK(one == 1);
  CHECK(two == "two");
}

TEST_CASE_FIXTURE(watched, "any number of calls give their results in order") {
  pool where({.workers = 2});
  run_in(where, [] {
    const auto [a, b, c, d, e] =
        fork_join([] { return 1; }, [] { return 2.5; }, [] { return 'c'; }, [] { return 4L; }, [] { return true; });
    CHECK(a == 1);
    CHECK(b == 2.5);
    CHECK(c == 'c');
    CHECK(d == 4L);
    CHECK(e);
  });
}

TEST_CASE_FIXTURE(watched, "calls that give nothing give nothing, and among others a monostate") {
  pool where({.workers = 2});
  run_in(where, [] {
    braid::atomic<int> calls{0};
    const auto count = [&calls] { calls.fetch_add(1, relaxed); };
    static_assert(std::is_void_v<decltype(fork_join(count, count))>);
    static_assert(std::is_void_v<decltype(fork_join(count, count, count))>);
    fork_join(count, count);
    fork_join(count, count, count);
    CHECK(calls.load(relaxed) == 5);
    const auto [nothing, seven] = fork_join(count, [] { return 7; });
    static_assert(std::is_same_v<decltype(nothing), const std::monostate>);
    CHECK(seven == 7);
  });
}

TEST_CASE_FIXTURE(watched, "references stay references, and what can only be moved is moved, also from a thief" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [] {
    int here = 1;
    int there = 2;
    auto [mine, stolen] = with_thief([&]() -> int& { return here; }, [&]() -> int& { return there; });
    CHECK(&mine == &here);
    CHECK(&stolen == &there);
    auto [own, theirs] = with_thief([] { return std::make_unique<int>(3); }, [] { return std::make_unique<int>(4); });
    CHECK(*own == 3);
    CHECK(*theirs == 4);
  });
}

TEST_CASE_FIXTURE(watched, "callables that can only be moved are forked") {
  pool where({.workers = 2});
  run_in(where, [] {
    const auto [left, right] = fork_join([held = std::make_unique<int>(1)] { return *held; },
                                         [held = std::make_unique<int>(2)] { return *held; });
    CHECK(left == 1);
    CHECK(right == 2);
  });
}

TEST_CASE_FIXTURE(watched, "a fork runs on another worker of the pool, when that has nothing to do" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [] {
    const auto [mine, stolen] =
        with_thief([] { return std::this_thread::get_id(); }, [] { return std::this_thread::get_id(); });
    CHECK(mine == std::this_thread::get_id());
    CHECK(stolen != mine);
  });
  CHECK(where.statistics().forks > 0);
}

TEST_CASE_FIXTURE(watched, "a fork wakes a worker that sleeps" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  for (int i = 0; i < 20; ++i) {
    // Both have gone to sleep, but for the one that is about to run this.
    const auto sleeps = [&where] { return where.statistics().sleeps; };
    const auto before = sleeps();
    run_in(where, [] { with_thief([] {}, [] {}); });
    CHECK(eventually([&] { return sleeps() > before; }));
  }
}

TEST_CASE_FIXTURE(watched, "a thief that finds nothing more goes to sleep while the others work on" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [&where] {
    std::uint64_t sleeps = 0;
    with_thief([] {}, [&] { sleeps = where.statistics().sleeps; });  // read by the other one, which so is awake
    CHECK(eventually([&] { return where.statistics().sleeps > sleeps; }));
  });
}

TEST_CASE_FIXTURE(watched, "all of four workers get forks" * braid::testing::needs_threads()) {
  pool where({.workers = 4});
  run_in(where, [] {
    with_thief([] { with_thief([] { with_thief([] {}, [] {}); }, [] {}); }, [] {});
    braid::testing::begun second;
    braid::testing::begun third;
    braid::testing::begun fourth;
    fork_join(
        [&] {
          second.await();
          third.await();
          fourth.await();
        },
        [&] {
          second.raise();
          fourth.await();
        },
        [&] {
          third.raise();
          fourth.await();
        },
        [&] { fourth.raise(); });
  });
  CHECK(where.statistics().forks >= 3);
}

TEST_CASE_FIXTURE(watched,
                  "what the first call throws leaves when the stolen one has ended" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [] {
    bool ended = false;
    const auto throws = [] { throw std::runtime_error("first"); };
    const auto ends = [&ended] {
      std::this_thread::yield();
      ended = true;
    };
    CHECK_THROWS_WITH_AS(with_thief(throws, ends), "first", std::runtime_error);
    CHECK(ended);
  });
}

TEST_CASE_FIXTURE(watched, "what the first call throws keeps a fork from beginning that nobody has taken") {
  pool where({.workers = 1});
  run_in(where, [] {
    bool began = false;
    CHECK_THROWS_WITH(fork_join([] { throw std::runtime_error("first"); }, [&] { began = true; }), "first");
    CHECK_FALSE(began);
  });
}

TEST_CASE_FIXTURE(watched, "what a stolen call throws arrives, unless the first call has thrown" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [] {
    const auto throws = [](const char* what) { return [what] { throw std::runtime_error(what); }; };
    CHECK_THROWS_WITH_AS(with_thief([] {}, throws("stolen")), "stolen", std::runtime_error);
    CHECK_THROWS_WITH_AS(with_thief(throws("first"), throws("stolen")), "first", std::runtime_error);
    CHECK_THROWS_WITH_AS(fork_join([] {}, [] {}, throws("last")), "last", std::runtime_error);
  });
}

TEST_CASE_FIXTURE(watched, "a combination gives what its function makes of both results") {
  pool where({.workers = 2});
  run_in(where, [] {
    CHECK(fork_combine([] { return 20; }, [] { return 1; }, std::minus{}) == 19);
    const auto joined = fork_combine([] { return std::make_unique<int>(5); }, [] { return 2; },
                                     [](std::unique_ptr<int> left, int right) { return *left * right; });
    CHECK(joined == 10);
  });
}

TEST_CASE_FIXTURE(watched, "a recursion gives the same in every pool and outside of all") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    CHECK(run_in(where, [] { return fib(20); }) == 6765);
  }
  braid::manual_executor here;
  CHECK(run_in(here, [] { return fib(15); }) == 610);
  braid::inline_executor in_place;
  CHECK(run_in(in_place, [] { return fib(15); }) == 610);
  CHECK(fib(20) == 6765);
}

TEST_CASE_FIXTURE(watched, "a job of an executor without threads forks on its own thread") {
  braid::inline_executor where;
  const auto self = std::this_thread::get_id;
  const auto [left, right] = run_in(where, [self] { return fork_join(self, self); });
  CHECK(left == self());
  CHECK(right == self());
}

TEST_CASE_FIXTURE(watched,
                  "posted and spawned jobs fork in the pool that runs them" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  std::vector<braid::future<std::uint64_t>> all;
  for (int i = 0; i < 20; ++i) all.push_back(braid::spawn(where, [] { return fib(12); }));
  for (auto& each : all) CHECK(each.get() == 144);
  const bool inside = run_in(where, [&where] {
    const auto [left, right] = with_thief([&] { return where.is_current(); }, [&] { return where.is_current(); });
    return left && right;
  });
  CHECK(inside);
}

TEST_CASE_FIXTURE(watched, "a worker that waits for a fork runs no posted job" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  braid::atomic<bool> waits{true};
  braid::atomic<int> ran_meanwhile{0};
  run_in(where, [&] {
    const auto waiter = std::this_thread::get_id();
    with_thief(
        [&] {
          for (int i = 0; i < 100; ++i)
            REQUIRE(braid::post(where, [&, waiter] {
              if (std::this_thread::get_id() == waiter && waits.load(relaxed)) ran_meanwhile.fetch_add(1, relaxed);
            }));
        },
        [] { std::this_thread::sleep_for(2ms); });  // so that the other one comes to wait
    waits.store(false, relaxed);
  });
  CHECK(where.wait_idle());
  CHECK(ran_meanwhile.load(relaxed) == 0);
}

TEST_CASE_FIXTURE(watched, "a spine deeper than the deque holds is forked as far as it goes") {
  pool where({.workers = 2});
  CHECK(run_in(where, [] { return depth(5000); }) == 5000);
}

TEST_CASE_FIXTURE(watched, "workers that steal from each other thirty deep need little stack for it" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  std::array<braid::testing::stack_extent, 2> stacks;
  std::array<std::uint32_t, 2> helps{};
  // The worker that waits for the stolen call steals the one that this forks in turn.
  const auto descend = [&](const auto& self, int n) -> void {
    const braid::worker& here = *braid::detail::current_worker();
    stacks[here.index].mark();
    helps[here.index] = std::max(helps[here.index], here.forking.helps);
    if (n > 0) with_thief([] {}, [&self, n] { self(self, n - 1); });
  };
  run_in(where, [&] { descend(descend, 60); });
  for (const std::size_t index : {0U, 1U}) {
    CHECK(stacks[index].marks() >= 30);
    CHECK(helps[index] >= 29);
    CHECK(stacks[index].bytes() < std::size_t{256} * 1024);
  }
}

TEST_CASE_FIXTURE(watched, "forks that have not begun are left out after a stop") {
  pool where({.workers = 1});
  run_in(where, [] {
    std::stop_source source;
    const auto whole = fork_join(source.get_token(), [] { return 1; }, [] { return 2; });
    REQUIRE(whole);
    CHECK(std::get<1>(*whole) == 2);
    bool began = false;
    const auto stopped = fork_join(source.get_token(), [&] { source.request_stop(); }, [&] { began = true; });
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error() == errc::stopped);
    CHECK_FALSE(began);
  });
}

TEST_CASE_FIXTURE(watched, "a stop flag says why there are no results") {
  pool where({.workers = 2});
  braid::stop_flag flag;
  flag.request(errc::deadline_exceeded);
  const auto stopped = run_in(where, [&] { return fork_join(flag, [] { return 1; }, [] { return 2; }); });
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error() == errc::deadline_exceeded);
}

TEST_CASE_FIXTURE(watched, "a drained pool ends its forks, and one that drops pending jobs those that run" *
                               braid::testing::needs_threads()) {
  for (const auto mode : {braid::shutdown_mode::drain, braid::shutdown_mode::drop_pending}) {
    pool where({.workers = 2});
    braid::testing::begun there;
    auto sum = braid::spawn(where, [&there] {
      there.raise();
      return fib(22);
    });
    CHECK(eventually([&] { return where.statistics().jobs > 0; }));
    CHECK(where.shutdown(mode));
    CHECK(sum.get() == 17711);
  }
}
