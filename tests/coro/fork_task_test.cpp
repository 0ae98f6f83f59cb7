// tests/coro/fork_task_test.cpp: coroutines that fork give what plain calls give, whichever worker runs which part of
// them.
#include <braid/coro/fork_task.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/stack_extent.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <latch>
#include <memory>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::eventually;
using testing::failure_code;
using testing::failure_text;
using testing::mortal;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  testing::watchdog dog{std::chrono::seconds(100)};
};

auto fib(unsigned n) -> fork_task<std::uint64_t> {
  if (n < 2) co_return n;
  const auto [left, right] = co_await fork_join(fib(n - 1), fib(n - 2));
  co_return left + right;
}

auto give(int value) -> fork_task<int> { co_return value; }
auto nothing() -> fork_task<void> { co_return; }
auto count_in(atomic<int>& in) -> fork_task<void> {
  in.fetch_add(1, relaxed);
  co_return;
}
auto fail_with(const char* what) -> fork_task<int> {
  throw std::runtime_error(what);
  co_return 0;
}
auto find_thread() -> fork_task<std::thread::id> { co_return std::this_thread::get_id(); }

/// What two children tell each other.
class meeting {
 public:
  void come() noexcept { here_.fetch_add(1, release); }  // edge test.meeting: publish

  /// Until so many have come. Each push answers a thief's request, so that another worker gets what lies in the deque.
  void await(int so_many) const {
    while (here_.load(acquire) < so_many) {  // edge test.meeting: observe
      fork_join([] {}, [] {});
      std::this_thread::yield();
    }
  }

 private:
  atomic<int> here_{0};
};

/// Ends only when `so_many` have come: where others are behind it, they run on another worker.
auto meet(meeting& at, int so_many) -> fork_task<std::thread::id> {
  at.come();
  at.await(so_many);
  co_return std::this_thread::get_id();
}

template <typename Promise>
concept may_await = requires(decltype(give(0).operator co_await())& by, std::coroutine_handle<Promise> from) {
  by.await_suspend(from);
};
static_assert(may_await<fork_task<int>::promise_type>);
static_assert(!may_await<task<int>::promise_type>, "a task has a home, where it would not come back to");
static_assert(detail::computed<fork_task<int>>);
static_assert(!detail::computed<task<int>>, "what computes does not wait");

}  // namespace

TEST_CASE_FIXTURE(watched, "a tree of forks gives the same on any number of workers") {
  for (const unsigned workers : {1U, 2U, 4U})
    for (const auto chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
      pool where({.workers = workers, .scheduler = chosen});
      CHECK(run_in(where, fib(20)) == 6'765);
    }
}

TEST_CASE_FIXTURE(watched, "executors without threads run it on the thread that waits") {
  const auto run_on = [](braid::executor& where) {
    CHECK(run_in(where, fib(15)) == 610);
    auto both = []() -> fork_task<bool> {
      const auto [one, two] = co_await fork_join(find_thread(), find_thread());
      co_return one == std::this_thread::get_id() && one == two;
    };
    CHECK(run_in(where, both()));
    CHECK(run_in(where, [&] { return run_in(where, fib(15)); }) == spawn(where, fib(15)).get());
  };
  braid::manual_executor waits;
  run_on(waits);
  braid::inline_executor posts;
  run_on(posts);
}

TEST_CASE_FIXTURE(watched, "a task does nothing until it is run, and dies where it never is") {
  deaths seen;
  bool ran = false;
  auto body = [&ran](mortal /*held*/) -> fork_task<void> {
    ran = true;
    co_return;
  };
  {
    fork_task<void> never = body(mortal(seen));
    fork_task<void> other = body(mortal(seen));
    CHECK(seen.count == 0);
    other = std::move(never);
    CHECK(seen.count == 1);
    CHECK_FALSE(never);
    [[maybe_unused]] auto forks = fork_join(body(mortal(seen)), std::move(other));
    CHECK(seen.count == 1);
  }
  CHECK(seen.count == 3);
  CHECK_FALSE(ran);
}

TEST_CASE_FIXTURE(watched, "values, references, nothing and what can only be moved arrive") {
  pool where({.workers = 2});
  int object = 5;
  auto refer = [&object]() -> fork_task<int&> { co_return object; };
  auto constant = [&object]() -> fork_task<const int&> { co_return object; };
  auto pointer = []() -> fork_task<std::unique_ptr<int>> { co_return std::make_unique<int>(9); };
  auto convert = []() -> fork_task<std::string> { co_return "converted"; };
  auto body = [&]() -> fork_task<void> {
    static_assert(std::is_void_v<braid::detail::await_result_t<decltype(fork_join(nothing(), nothing()))>>);
    co_await fork_join(nothing(), nothing(), nothing());
    auto [one, two, three] = co_await fork_join(refer(), nothing(), pointer());
    static_assert(std::is_same_v<decltype(two), std::monostate>);
    CHECK(&one == &object);
    CHECK(*three == 9);
    int& awaited = co_await refer();
    CHECK(&awaited == &object);
    const int& same = co_await constant();
    CHECK(&same == &object);
    const std::string text = co_await convert();
    CHECK(text == "converted");
    const std::unique_ptr<int> moved = co_await pointer();
    CHECK(*moved == 9);
    co_await nothing();
  };
  run_in(where, body());
  CHECK(&run_in(where, refer()) == &object);
  CHECK(*run_in(where, pointer()) == 9);
}

TEST_CASE_FIXTURE(watched, "any number of children give their values in order") {
  pool where({.workers = 2});
  auto body = []() -> fork_task<std::string> {
    auto forks = fork_join(give(1), give(2), give(3), give(4), give(5), give(6), give(7));
    const auto [a, b, c, d, e, f, g] = co_await forks;
    std::string all;
    for (const int each : {a, b, c, d, e, f, g}) all += std::to_string(each);
    co_return all;
  };
  CHECK(run_in(where, body()) == "1234567");
}

TEST_CASE_FIXTURE(watched,
                  "what comes after a child is taken by another worker, and the last one goes on with the caller") {
  pool where({.workers = 2});
  for (int i = 0; i < 50; ++i) {
    meeting both;
    auto body = [&both]() -> fork_task<bool> {
      const auto [one, two] = co_await fork_join(meet(both, 2), meet(both, 2));
      const auto here = std::this_thread::get_id();
      co_return one != two && (here == one || here == two);
    };
    REQUIRE(run_in(where, body()));
  }
  CHECK(where.statistics().forks > 0);
}

TEST_CASE_FIXTURE(watched, "as many children as there are workers are under way at the same time") {
  pool where({.workers = 4});
  for (int i = 0; i < 50; ++i) {
    meeting all;
    // It ends only if all meet. A worker that waits for a fork in there may run another child meanwhile, on the same
    // thread.
    auto body = [&all]() -> fork_task<int> {
      const auto [a, b, c, d] = co_await fork_join(meet(all, 4), meet(all, 4), meet(all, 4), meet(all, 4));
      co_return static_cast<int>(std::ranges::count(std::array{a, b, c, d}, std::thread::id()));
    };
    REQUIRE(run_in(where, body()) == 0);
  }
}

TEST_CASE_FIXTURE(watched, "who waits for the first child, for the last, or for one between, goes on when it ends") {
  pool where({.workers = 2});
  // One child ends after all others have: the fork is joined by that one.
  auto late = [](meeting& at, int others) -> fork_task<int> {
    at.await(others);
    co_return 1;
  };
  auto early = [](meeting& at) -> fork_task<int> {
    at.come();
    co_return 1;
  };
  auto first = [&](meeting& at) -> fork_task<int> {
    const auto [a, b, c] = co_await fork_join(late(at, 2), early(at), early(at));
    co_return a + b + c;
  };
  auto second = [&](meeting& at) -> fork_task<int> {
    const auto [a, b, c] = co_await fork_join(early(at), late(at, 2), early(at));
    co_return a + b + c;
  };
  for (int i = 0; i < 50; ++i) {
    meeting one;
    REQUIRE(run_in(where, first(one)) == 3);
    meeting two;
    REQUIRE(run_in(where, second(two)) == 3);
  }
}

TEST_CASE_FIXTURE(watched, "what a child throws arrives when the others have ended") {
  pool where({.workers = 2});
  atomic<int> ended{0};
  auto slow = [&ended](meeting& at) -> fork_task<void> {
    at.await(1);
    for (int i = 0; i < 10; ++i) std::this_thread::yield();
    ended.fetch_add(1, relaxed);
    co_return;
  };
  auto fails = [](meeting& at) -> fork_task<void> {
    at.come();
    throw std::runtime_error("the second");
    co_return;
  };
  for (int i = 0; i < 50; ++i) {
    meeting at;
    auto body = [&]() -> fork_task<int> {
      deaths seen;
      try {
        const mortal local(seen);
        co_await fork_join(slow(at), fails(at), nothing());
      } catch (const std::runtime_error& thrown) {
        co_return std::string(thrown.what()) == "the second" ? seen.count : -1;
      }
      co_return -2;
    };
    ended.store(0, relaxed);
    REQUIRE(run_in(where, body()) == 1);
    REQUIRE(ended.load(relaxed) == 1);
  }
}

TEST_CASE_FIXTURE(watched, "a failure leaves out those that have not begun, and one of several arrives") {
  pool where({.workers = 1});
  atomic<int> ran{0};
  auto after = [&]() -> fork_task<void> { co_await fork_join(fail_with("first"), count_in(ran), fail_with("second")); };
  CHECK_THROWS_WITH_AS(run_in(where, after()), "first", std::runtime_error);
  CHECK(ran.load(relaxed) == 0);
  auto last = [&]() -> fork_task<void> { co_await fork_join(count_in(ran), fail_with("last")); };
  CHECK_THROWS_WITH_AS(run_in(where, last()), "last", std::runtime_error);
  CHECK(ran.load(relaxed) == 1);
  pool two({.workers = 2});
  for (int i = 0; i < 50; ++i) {
    meeting at;
    auto fails = [&at](const char* what) -> fork_task<void> {
      co_await meet(at, 2);
      throw std::runtime_error(what);
    };
    auto both = [&]() -> fork_task<void> { co_await fork_join(fails("one"), fails("one")); };
    REQUIRE_THROWS_WITH_AS(run_in(two, both()), "one", std::runtime_error);
  }
}

TEST_CASE_FIXTURE(watched, "what is thrown goes up through awaits and forks, and can be caught anywhere") {
  pool where({.workers = 2});
  auto deep = [](auto& self, int n) -> fork_task<int> {
    if (n == 0) co_return co_await fail_with("deep");
    if (n % 2 == 0) co_return co_await self(self, n - 1);
    const auto [left, right] = co_await fork_join(give(n), self(self, n - 1));
    co_return left + right;
  };
  CHECK_THROWS_WITH_AS(run_in(where, deep(deep, 50)), "deep", std::runtime_error);
  auto caught = [&]() -> fork_task<int> {
    int times = 0;
    for (int i = 0; i < 10; ++i) {
      try {
        static_cast<void>(co_await deep(deep, i));
      } catch (const std::runtime_error&) {
        ++times;
      }
    }
    co_return times;
  };
  CHECK(run_in(where, caught()) == 10);
}

TEST_CASE_FIXTURE(watched, "an unbalanced tree, and a spine of a hundred thousand forks, need no stack") {
  pool where({.workers = 2});
  testing::stack_extent stack;
  auto spine = [&stack](auto& self, int n) -> fork_task<int> {
    if (n % 1'000 == 0) stack.mark();
    if (n == 0) co_return 0;
    const auto [rest, one] = co_await fork_join(self(self, n - 1), give(1));
    co_return rest + one;
  };
  auto other = [](auto& self, int n) -> fork_task<int> {
    if (n == 0) co_return 0;
    const auto [one, rest] = co_await fork_join(give(1), self(self, n - 1));
    co_return rest + one;
  };
  pool one({.workers = 1});  // which marks on one stack
  CHECK(run_in(one, spine(spine, 100'000)) == 100'000);
  CHECK(stack.bytes() < 100'000);
  CHECK(run_in(one, other(other, 100'000)) == 100'000);
  CHECK(run_in(where, other(other, 100'000)) == 100'000);
}

TEST_CASE_FIXTURE(watched, "a million awaits in turn, and as deep, need no stack") {
  pool where({.workers = 1});
  auto turns = [](int n) -> fork_task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<std::uint64_t>(co_await give(1));
    co_return sum;
  };
  CHECK(run_in(where, turns(1'000'000)) == 1'000'000);
  auto deep = [](auto& self, int n) -> fork_task<int> {
    if (n == 0) co_return 0;
    co_return 1 + co_await self(self, n - 1);
  };
  CHECK(run_in(where, deep(deep, 1'000'000)) == 1'000'000);
}

TEST_CASE_FIXTURE(watched, "a task for each element, a million of them, of which few live at a time") {
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    constexpr std::uint64_t count = 1'000'000;
    atomic<std::uint64_t> sum{0};
    atomic<int> alive{0};
    atomic<int> max_count{0};
    struct life {
      explicit life(atomic<int>& in, atomic<int>& top) : all(in) {
        const int now = all.fetch_add(1, relaxed) + 1;
        if (now > top.load(relaxed)) top.store(now, relaxed);
      }
      life(const life&) = delete;
      auto operator=(const life&) -> life& = delete;
      ~life() { all.fetch_sub(1, relaxed); }
      atomic<int>& all;
    };
    auto add = [&](std::uint64_t i) -> fork_task<void> {
      const life here(alive, max_count);
      sum.fetch_add(i, relaxed);
      co_return;
    };
    run_in(where, fork_each(std::views::iota(std::uint64_t{0}, count), std::ref(add)));
    CHECK(sum.load(relaxed) == count * (count - 1) / 2);
    CHECK(alive.load(relaxed) == 0);
    CHECK(max_count.load(relaxed) <= static_cast<int>(workers));
  }
}

TEST_CASE_FIXTURE(watched, "ranges of any size, of lvalues, rvalues and nothing") {
  pool where({.workers = 2});
  auto twice = [](int& each) -> fork_task<void> {
    each *= 2;
    co_return;
  };
  for (const std::size_t count : {0U, 1U, 2U, 15U, 16U, 17U, 100U, 1'000U}) {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1);
    run_in(where, fork_each(numbers, twice));
    const auto all = static_cast<int>(count);
    CHECK(std::accumulate(numbers.begin(), numbers.end(), 0) == all * (all + 1));
  }
  atomic<int> sum{0};
  auto add = [&sum](int each) -> fork_task<void> {
    sum.fetch_add(each, relaxed);
    co_return;
  };
  run_in(where, fork_each(std::vector{1, 2, 3}, add));
  CHECK(sum.load(relaxed) == 6);
}

TEST_CASE_FIXTURE(watched, "what a task for an element throws, or its making, leaves out the rest") {
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    atomic<int> ran{0};
    auto task_fails = [&ran](int i) -> fork_task<void> {
      if (i == 40) throw std::runtime_error("of 40");
      ran.fetch_add(1, relaxed);
      co_return;
    };
    CHECK_THROWS_WITH_AS(run_in(where, fork_each(std::views::iota(0, 100'000), task_fails)), "of 40",
                         std::runtime_error);
    if (workers == 1) CHECK(ran.load(relaxed) == 40);
    auto making_fails = [&ran](int i) -> fork_task<void> {
      if (i == 0) throw std::runtime_error("made none");
      return count_in(ran);
    };
    CHECK_THROWS_WITH_AS(run_in(where, fork_each(std::views::iota(0, 10), making_fails)), "made none",
                         std::runtime_error);
    auto later_fails = [&ran](int i) -> fork_task<void> {
      if (i == 9) throw std::runtime_error("nor the last");
      return count_in(ran);
    };
    CHECK_THROWS_WITH_AS(run_in(where, fork_each(std::views::iota(0, 10), later_fails)), "nor the last",
                         std::runtime_error);
  }
}

TEST_CASE_FIXTURE(watched, "a stop leaves out what has not begun") {
  pool where({.workers = 1});
  stop_flag flag;
  std::stop_source source;
  atomic<int> ran{0};
  auto stops = [&]() -> fork_task<void> {
    flag.request(errc::deadline_exceeded);
    source.request_stop();
    co_return;
  };
  auto body = [&]() -> fork_task<void> {
    const auto all = co_await fork_join(flag, give(1), nothing());
    REQUIRE(all.has_value());
    CHECK(std::get<0>(*all) == 1);
    const auto some = co_await fork_join(flag, stops(), count_in(ran));
    CHECK(some.error() == errc::deadline_exceeded);
    const auto none = co_await fork_join(source.get_token(), count_in(ran), count_in(ran));
    CHECK(none.error() == errc::stopped);
    auto count = [&ran](int) { return count_in(ran); };
    const auto few = co_await fork_each(flag, std::views::iota(0, 10), count);
    CHECK(few.error() == errc::deadline_exceeded);
    stop_flag never;
    const auto each = co_await fork_each(never, std::views::iota(0, 10), count);
    CHECK(each.has_value());
  };
  run_in(where, body());
  CHECK(ran.load(relaxed) == 10);
}

TEST_CASE_FIXTURE(watched, "locals and arguments die once, whoever runs what") {
  pool where({.workers = 3});
  std::vector<deaths> seen(2'048);
  auto node = [&seen](auto& self, std::size_t at, mortal /*held*/) -> fork_task<int> {
    const mortal local(seen[at]);
    if (2 * at + 1 >= seen.size()) co_return 1;
    auto forks = fork_join(self(self, 2 * at, mortal(seen[2 * at])), self(self, 2 * at + 1, mortal(seen[2 * at + 1])));
    const auto [left, right] = co_await forks;
    co_return left + right;
  };
  CHECK(run_in(where, node(node, 1, mortal(seen[1]))) == 1'024);
  CHECK(std::ranges::all_of(seen | std::views::drop(1), [](const deaths& each) { return each.count == 2; }));
}

TEST_CASE_FIXTURE(watched, "a worker of the pool runs it there, and helps while it waits") {
  pool where({.workers = 2});
  CHECK(run_in(where, [&] { return run_in(where, fib(15)); }) == 610);
  for (int i = 0; i < 50; ++i) {
    meeting both;
    auto body = [&both]() -> fork_task<bool> {
      const auto [one, two] = co_await fork_join(meet(both, 2), meet(both, 2));
      co_return one != two;
    };
    // In the middle of a coroutine, too.
    auto outer = [&]() -> fork_task<bool> { co_return run_in(where, body()); };
    REQUIRE(run_in(where, outer()));
  }
}

TEST_CASE_FIXTURE(watched, "forks of functions and groups inside of coroutines that fork") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    atomic<int> grouped{0};
    auto mixed = [&grouped](auto& self, int n) -> fork_task<int> {
      if (n == 0) co_return 1;
      task_group group;
      for (int i = 0; i < 3; ++i) group.run([&grouped] { grouped.fetch_add(1, relaxed); });
      const auto [one, two] = fork_join([] { return 1; }, [] { return 2; });
      static_cast<void>(group.wait());
      const auto [left, right] = co_await fork_join(self(self, n - 1), self(self, n - 1));
      co_return left + right + (one + two - 3);
    };
    CHECK(run_in(where, mixed(mixed, 10)) == 1'024);
    CHECK(grouped.load(relaxed) == 3 * 1'023);
  }
}

TEST_CASE_FIXTURE(watched, "a group that outlives the children leaves its functions above what they wait for") {
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    atomic<int> grouped{0};
    const int sum = run_in(where, [&] {
      task_group group;
      auto child = [&](int value) -> fork_task<int> {
        for (int i = 0; i < 5; ++i) group.run([&grouped] { grouped.fetch_add(1, relaxed); });
        co_return value;
      };
      auto body = [&]() -> fork_task<int> {
        const auto [a, b, c] = co_await fork_join(child(1), child(2), child(3));
        co_return a + b + c;
      };
      const int got = run_in(where, body());
      static_cast<void>(group.wait());
      return got;
    });
    CHECK(sum == 6);
    CHECK(grouped.load(relaxed) == 15);
  }
}

TEST_CASE_FIXTURE(watched, "more forks in each other than a deque holds") {
  auto asks = [](auto& self, int n) -> fork_task<int> {
    if (n == 0) co_return 0;
    braid::detail::current_worker()->forks.ask();  // so that the next fork goes to the deque, however many lie there
    const auto [rest, one] = co_await fork_join(self(self, n - 1), give(1));
    co_return rest + one;
  };
  constexpr auto many = static_cast<int>(2 * worker::max_forks);
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    CHECK(run_in(where, asks(asks, many)) == many);
  }
}

TEST_CASE_FIXTURE(watched, "futures of them, for threads and for tasks") {
  pool where({.workers = 2});
  CHECK(spawn(where, fib(15)).get() == 610);
  spawn(where, nothing()).get();
  int object = 1;
  auto refer = [&object]() -> fork_task<int&> { co_return object; };
  CHECK(&spawn(where, refer()).get() == &object);
  CHECK(failure_text(spawn(where, fail_with("ahead"))) == "ahead");
  serial_executor home(where);
  auto body = [&]() -> task<std::uint64_t> {
    auto ahead = spawn(where, fib(16));
    co_return co_await std::move(ahead) + 1;
  };
  CHECK(sync_wait(home, body()) == 988);
  deaths seen;
  auto holds = [](mortal /*held*/) -> fork_task<int> { co_return 3; };
  spawn(where, holds(mortal(seen))).then_inline([&seen](int value) { CHECK(value == 3 * seen.count); }).get();
  CHECK(where.wait_idle());
}

TEST_CASE_FIXTURE(watched, "a pool that takes nothing more refuses, and one that drops says so") {
  pool where({.workers = 1});
  std::latch begun(1);
  std::latch ends(1);
  const auto posted = post(where, [&] {
    begun.count_down();
    ends.wait();
  });
  REQUIRE(posted.has_value());
  begun.wait();
  deaths seen;
  auto holds = [](mortal /*held*/) -> fork_task<void> { co_return; };
  auto behind = spawn(where, holds(mortal(seen)));
  std::jthread stops([&] { static_cast<void>(where.shutdown(shutdown_mode::drop_pending)); });
  REQUIRE(eventually([&] { return behind.is_ready(); }));
  CHECK(failure_code(std::move(behind)) == errc::dropped);
  CHECK(seen.count == 1);
  ends.count_down();
  stops.join();
  CHECK(failure_code(spawn(where, fib(3))) == errc::closed);
  try {
    static_cast<void>(run_in(where, fib(3)));
    FAIL("it was accepted");
  } catch (const std::system_error& refused) {
    CHECK(refused.code() == errc::closed);
  }
}
