// tests/coro/task_test.cpp: tasks that wait for nothing: laziness, results, exceptions, lifetimes, depth.
#include <braid/coro/task.hpp>

#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/thread/thread.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/stack_extent.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <coroutine>
#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto give(int value) -> task<int> { co_return value; }

auto mark(bool& ran) -> task<void> {
  ran = true;
  co_return;
}

auto hold(mortal /*held*/) -> task<void> { co_return; }

auto fail_with(const char* sentence) -> task<int> {
  throw std::runtime_error(sentence);
  co_return 0;
}

/// The address of the frame that awaits it.
struct this_frame {
  void* found = nullptr;
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  auto await_suspend(std::coroutine_handle<> self) noexcept -> bool {
    found = self.address();
    return false;
  }
  [[nodiscard]] auto await_resume() const noexcept -> const void* { return found; }
};

/// Calls `fn` on a thread that has less stack than a call for each of a hundred thousand coroutines would take.
template <typename Fn>
void on_small_stack(Fn&& fn) {
  auto made = thread::create({.stack_size = 512 * 1024}, std::forward<Fn>(fn));
  REQUIRE(made);
  CHECK(made->join());
}

auto stop_at_once() -> task<int> {
  co_await stop_here();
  co_return 1;
}

}  // namespace

TEST_CASE("a task does nothing until it is awaited") {
  bool ran = false;
  task<void> work = mark(ran);
  CHECK_FALSE(ran);
  sync_wait(std::move(work));
  CHECK(ran);
}

TEST_CASE("a task that is destroyed without being started destroys its arguments once") {
  deaths seen;
  {
    task<void> work = hold(mortal(seen));
    CHECK(seen.count == 0);
  }
  CHECK(seen.count == 1);
}

TEST_CASE("assigning to a task destroys the one that it held") {
  deaths first;
  deaths second;
  task<void> work = hold(mortal(first));
  work = hold(mortal(second));
  CHECK(first.count == 1);
  CHECK(second.count == 0);
  task<void>& same = work;
  work = std::move(same);
  CHECK(second.count == 0);
  work = {};
  CHECK(second.count == 1);
  CHECK_FALSE(work);
}

TEST_CASE("a released frame belongs to the caller") {
  deaths seen;
  task<void> work = hold(mortal(seen));
  const auto frame = work.release();
  CHECK_FALSE(work);
  CHECK(seen.count == 0);
  frame.destroy();
  CHECK(seen.count == 1);
}

TEST_CASE("values, references, nothing and move-only results reach the awaiting task") {
  int object = 5;
  bool ran = false;
  auto give_reference = [&]() -> task<int&> { co_return object; };
  auto give_constant = [&]() -> task<const int&> { co_return object; };
  auto give_pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(9); };
  auto give_string = []() -> task<std::string> { co_return "converted"; };
  auto give_default = []() -> task<std::pair<int, int>> { co_return {3, 4}; };
  auto body = [&]() -> task<void> {
    const int value = co_await give(4);
    CHECK(value == 4);
    int& reference = co_await give_reference();
    CHECK(&reference == &object);
    const int& constant = co_await give_constant();
    CHECK(&constant == &object);
    const std::unique_ptr<int> pointer = co_await give_pointer();
    CHECK(*pointer == 9);
    const std::string text = co_await give_string();
    CHECK(text == "converted");
    const auto [left, right] = co_await give_default();
    CHECK(left == 3);
    CHECK(right == 4);
    co_await mark(ran);
    CHECK(ran);
  };
  sync_wait(body());
}

TEST_CASE("what a task throws is rethrown by the await, through any number of tasks") {
  auto middle = []() -> task<int> {
    const int value = co_await fail_with("deep");
    co_return value + 1;
  };
  auto outer = [&]() -> task<std::string> {
    try {
      co_await middle();
    } catch (const std::runtime_error& thrown) {
      co_return thrown.what();
    }
    co_return "nothing";
  };
  CHECK(sync_wait(outer()) == "deep");
  CHECK_THROWS_WITH(sync_wait(middle()), "deep");
}

TEST_CASE("a task that goes on after an exception can await again") {
  auto body = []() -> task<int> {
    int caught = 0;
    for (int i = 0; i < 100; ++i) {
      try {
        co_await fail_with("again");
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
    co_return caught;
  };
  CHECK(sync_wait(body()) == 100);
}

TEST_CASE("the frame of an awaited task goes when the expression ends") {
  deaths seen;
  int after_temporary = 0;
  int after_named = 0;
  auto body = [&]() -> task<void> {
    co_await hold(mortal(seen));
    after_temporary = seen.count;
    task<void> named = hold(mortal(seen));
    co_await std::move(named);
    after_named = seen.count;
    CHECK_FALSE(named);
  };
  sync_wait(body());
  CHECK(after_temporary == 1);
  CHECK(after_named == 2);
}

TEST_CASE("locals are destroyed once, the inner task's before the outer one's") {
  std::string order;
  struct note {
    std::string& to;
    char what;
    ~note() { to += what; }
  };
  auto inner = [&]() -> task<void> {
    const note here{order, 'i'};
    co_await give(0);
  };
  auto outer = [&]() -> task<void> {
    const note first{order, 'a'};
    const note second{order, 'b'};
    co_await inner();
  };
  sync_wait(outer());
  CHECK(order == "iba");
}

TEST_CASE("a task that is awaited a second time ends the program") {
  const auto end = testing::run_in_child([] {
    auto body = []() -> task<void> {
      task<int> once = give(1);
      co_await std::move(once);
      co_await std::move(once);
    };
    sync_wait(body());
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("not been awaited yet") != std::string::npos);
}

TEST_CASE("a million awaits of ready tasks in a row do not use up the stack") {
  auto body = []() -> task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += static_cast<std::uint64_t>(co_await give(1));
    co_return sum;
  };
  CHECK(sync_wait(body()) == 1'000'000);
}

TEST_CASE("the last of a million ready awaits lies as deep in the stack as the first") {
  testing::stack_extent extent;
  auto child = [&](int round) -> task<int> {
    if (round == 0 || round >= 999'990) extent.mark();
    co_return 1;
  };
  auto body = [&]() -> task<int> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) {
      sum += co_await child(i);
      if (i == 0 || i >= 999'990) extent.mark();
    }
    co_return sum;
  };
  CHECK(sync_wait(body()) == 1'000'000);
  CHECK(extent.marks() == 22);
  CHECK(extent.bytes() < 4096);
}

TEST_CASE("a frame uses the memory again that the frame before it has freed") {
  const void* first = nullptr;
  bool same = true;
  auto child = [&]() -> task<void> {
    const void* const self = co_await this_frame();
    if (first == nullptr) first = self;
    same = same && self == first;
  };
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 1000; ++i) {
      task<void> one = child();
      co_await std::move(one);
    }
  };
  sync_wait(body());
  CHECK(first != nullptr);
  CHECK((same || testing::under_address_sanitizer));
}

TEST_CASE("a chain of a hundred thousand tasks, each awaiting the next, does not use up the stack") {
  struct chain {
    static auto link(int left) -> task<int> {
      if (left == 0) co_return 0;
      const int below = co_await link(left - 1);
      co_return below + 1;
    }
  };
  CHECK(sync_wait(chain::link(100'000)) == 100'000);
}

TEST_CASE("a stop ends a chain of a hundred thousand tasks without using up the stack") {
  struct chain {
    static auto link(int left) -> task<int> {
      if (left == 0) co_return co_await stop_at_once();
      co_return co_await link(left - 1);
    }
  };
  auto body = []() -> task<bool> {
    const outcome<int> ended = co_await as_outcome(chain::link(100'000));
    co_return ended.is_stopped();
  };
  on_small_stack([&] { CHECK(sync_wait(body())); });
}

TEST_CASE("a stop destroys a chain of a hundred thousand tasks, each awaiting the next, the innermost first") {
  static constexpr int length = 100'000;
  struct chain {
    struct tail {
      int number;
      int& next;
      bool& in_order;
      ~tail() { in_order = in_order && number == next++; }
    };
    static auto link(int left, int& next, bool& in_order) -> task<void> {
      const tail local{left, next, in_order};
      if (left == 0) co_await sleep_for(1h);
      if (left != 0) co_await link(left - 1, next, in_order);
    }
  };
  const auto stops = [](bool is_asked_for) {
    testing::test_loop here;
    scope children(here.io().root());
    int next = 0;
    bool in_order = true;
    auto asks = [&]() -> task<void> {
      const auto how = co_await as_outcome(chain::link(length - 1, next, in_order));
      CHECK(how.is_stopped());
      CHECK(next == length);
    };
    children.spawn(is_asked_for ? asks() : chain::link(length - 1, next, in_order));
    here.run_once();
    children.request_stop();
    CHECK(next == 0);
    here.run_once();
    CHECK(children.tasks() == 0);
    CHECK(next == length);
    CHECK(in_order);
  };
  on_small_stack([&] { stops(false); });
  on_small_stack([&] { stops(true); });
}

TEST_CASE("an exception travels up a chain of ten thousand tasks") {
  struct chain {
    static auto link(int left) -> task<int> {
      if (left == 0) throw std::runtime_error("bottom");
      co_return co_await link(left - 1);
    }
  };
  CHECK_THROWS_WITH(sync_wait(chain::link(10'000)), "bottom");
}

TEST_CASE("as_outcome gives the ending instead of sharing it") {
  auto body = []() -> task<void> {
    outcome<int> value = co_await as_outcome(give(6));
    REQUIRE(value.has_value());
    CHECK(value.take() == 6);
    const outcome<int> error = co_await as_outcome(fail_with("kept"));
    CHECK(error.has_exception());
    const outcome<int> stopped = co_await as_outcome(stop_at_once());
    CHECK(stopped.is_stopped());
  };
  sync_wait(body());
}

TEST_CASE("a stop ends every task above it up to the one that asked for the outcome") {
  deaths seen;
  bool went_on = false;
  auto middle = [&](int left, const auto& self) -> task<int> {
    const mortal local(seen);
    if (left == 0) co_return co_await stop_at_once();
    const int below = co_await self(left - 1, self);
    went_on = true;
    co_return below;
  };
  auto body = [&]() -> task<bool> {
    const outcome<int> ended = co_await as_outcome(middle(9, middle));
    CHECK(seen.count == 10);
    co_return ended.is_stopped();
  };
  CHECK(sync_wait(body()));
  CHECK_FALSE(went_on);
  CHECK(seen.count == 10);
}

TEST_CASE("a million stopped children do not use up the stack") {
  auto body = []() -> task<int> {
    int stopped = 0;
    for (int i = 0; i < 1'000'000; ++i) {
      const outcome<int> ended = co_await as_outcome(stop_at_once());
      if (ended.is_stopped()) ++stopped;
    }
    co_return stopped;
  };
  CHECK(sync_wait(body()) == 1'000'000);
}

namespace {

/// Its destructor throws, as a destructor that is declared so may.
struct throws_at_its_end {
  ~throws_at_its_end() noexcept(false) { throw std::runtime_error("from a destructor"); }
};

auto with_bad_local() -> task<void> {
  const throws_at_its_end bad{};
  co_await sleep_for(1h);
}

/// Runs `begin` on a loop, in a process of its own, and stops what it has begun.
template <typename Begin>
void ends_with_a_sentence(Begin begin) {
  const auto end = testing::run_in_child([&] {
    test_loop here;
    begin(here);
    here.io().root().request_stop();
    here.run_once();
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("a destructor of a local variable threw") != std::string::npos);
  CHECK(end.errors.find("from a destructor") != std::string::npos);
}

}  // namespace

TEST_CASE("a destructor that throws while a task is stopped ends the program, and says so") {
  ends_with_a_sentence([](test_loop& here) { here.io().spawn(with_bad_local()); });
  ends_with_a_sentence([](test_loop& here) { here.io().spawn([]() -> task<void> { co_await with_bad_local(); }()); });
  ends_with_a_sentence([](test_loop& here) {
    here.io().spawn([]() -> task<void> { static_cast<void>(co_await as_outcome(with_bad_local())); }());
  });
  ends_with_a_sentence(
      [](test_loop& here) { static const future<void> kept = spawn(here.io().root(), with_bad_local()); });
}

TEST_CASE("a destructor that throws when a task ends by itself fails the task") {
  test_loop here;
  auto ends = []() -> task<int> {
    const throws_at_its_end bad{};
    co_return 1;
  };
  CHECK(here.run(ends()).has_exception());
}
