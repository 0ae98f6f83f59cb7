// tests/coro/with_scope_test.cpp: tasks in a scope of their own, which is left joined, with and without a deadline.
#include <braid/coro/with_scope.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto sleeping(duration span, deaths& seen) -> task<void> {
  const mortal local(seen);
  co_await sleep_for(span);
}

auto value_after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

auto failing(duration span, const char* sentence) -> task<void> {
  co_await sleep_for(span);
  throw std::runtime_error(sentence);
}

auto code_of(const std::exception_ptr& thrown) -> std::error_code {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    return error.code();
  }
}

auto sentence_of(const outcome<int>& ended) -> std::string {
  if (!ended.has_exception()) return "no exception";
  try {
    std::rethrow_exception(ended.exception());
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

}  // namespace

TEST_CASE("with_scope gives the value of its body after everything spawned has ended") {
  test_loop here;
  deaths seen;
  int at_the_end = -1;
  auto body = [&](scope& children) -> task<int> {
    scope& mine = co_await this_scope();
    CHECK(&mine == &children);
    for (int i = 1; i <= 3; ++i) children.spawn(sleeping(i * 1ms, seen));
    co_return 7;
  };
  auto all = [&]() -> task<int> {
    const int value = co_await with_scope(body);
    at_the_end = seen.count;
    co_return value;
  };
  outcome<int> ended = here.run_through(all(), 100us);
  CHECK(ended.take() == 7);
  CHECK(at_the_end == 3);
}

TEST_CASE("a body that fails stops what it spawned, and its exception comes through when that has ended") {
  test_loop here;
  deaths seen;
  auto body = [&](scope& children) -> task<int> {
    children.spawn(sleeping(1h, seen));
    co_await sleep_for(1ms);
    throw std::runtime_error("body");
  };
  const outcome<int> ended = here.run_through(with_scope(body), 100us);
  CHECK(sentence_of(ended) == "body");
  CHECK(seen.count == 1);
}

TEST_CASE("a body that throws without being a coroutine stops what it spawned as well") {
  test_loop here;
  deaths seen;
  auto body = [&](scope& children) -> task<int> {
    children.spawn(sleeping(1h, seen));
    throw std::runtime_error("plain");
  };
  const outcome<int> ended = here.run(with_scope(body));
  CHECK(sentence_of(ended) == "plain");
  CHECK(seen.count == 1);
}

TEST_CASE("a spawned task that fails stops the body and the others, and is rethrown") {
  test_loop here;
  deaths seen;
  bool body_went_on = false;
  auto body = [&](scope& children) -> task<int> {
    const mortal local(seen);
    children.spawn(sleeping(1h, seen));
    children.spawn(failing(1ms, "child"));
    co_await sleep_for(1h);
    body_went_on = true;
    co_return 1;
  };
  const outcome<int> ended = here.run_through(with_scope(body), 100us);
  CHECK(sentence_of(ended) == "child");
  CHECK(seen.count == 2);
  CHECK_FALSE(body_went_on);
}

TEST_CASE("a body that stops itself stops what it spawned and whoever awaits it") {
  test_loop here;
  deaths seen;
  auto body = [&](scope& children) -> task<int> {
    children.spawn(sleeping(1h, seen));
    co_await stop_here();
    co_return 1;
  };
  const outcome<int> ended = here.run(with_scope(body));
  CHECK(ended.is_stopped());
  CHECK(seen.count == 1);
}

TEST_CASE("a stop that a child requests of its own scope ends there, and the code after with_scope runs") {
  test_loop here;
  deaths seen;
  auto body = [&](scope& children) -> task<void> {
    children.spawn([&children]() -> task<void> {
      co_await sleep_for(5ms);
      children.request_stop();
    });
    children.spawn(sleeping(1h, seen));
    co_await sleeping(1h, seen);
  };
  auto program = [&]() -> task<int> {
    co_await with_scope(body);
    co_await sleep_for(1ms);  // nothing around is stopped
    co_return 7;
  };
  CHECK(here.run_through(program(), 1ms).take() == 7);
  CHECK(seen.count == 2);
}

TEST_CASE("a body that its own scope's stop has left without a value gives the reason as a result or an exception") {
  test_loop here;
  auto with_result = [](scope& children) -> task<result<int>> {
    children.request_stop();
    co_await sleep_for(1h);
    co_return 1;
  };
  CHECK(here.run(with_scope(with_result)).take() == fail(errc::stopped));
  auto with_value = [](scope& children) -> task<int> {
    children.request_stop(errc::full);
    co_await sleep_for(1h);
    co_return 1;
  };
  const outcome<int> ended = here.run(with_scope(with_value));
  REQUIRE(ended.has_exception());
  CHECK(code_of(ended.exception()) == errc::full);
  auto has_one = [](scope& children) -> task<int> {
    children.request_stop();
    co_return 3;
  };
  CHECK(here.run(with_scope(has_one)).take() == 3);
}

TEST_CASE("of scopes in each other, the one whose stop was requested is the one that goes on") {
  test_loop here;
  for (const bool outer_is_stopped : {false, true}) {
    bool inner_went_on = false;
    bool outer_went_on = false;
    auto body = [&](scope& outer) -> task<void> {
      auto nested = [&](scope& inner) -> task<void> {
        scope& stopped = outer_is_stopped ? outer : inner;
        inner.spawn([&stopped]() -> task<void> {
          co_await sleep_for(1ms);
          stopped.request_stop();
        });
        co_await sleep_for(1h);
      };
      co_await with_scope(nested);
      inner_went_on = true;
    };
    auto program = [&]() -> task<void> {
      co_await with_scope(body);
      outer_went_on = true;
    };
    CHECK(here.run_through(program(), 1ms).has_value());
    CHECK(inner_went_on == !outer_is_stopped);
    CHECK(outer_went_on);
  }
}

TEST_CASE("a stop from outside wins over the scope's own, whichever comes first") {
  for (const bool outside_first : {false, true}) {
    test_loop here;
    bool went_on = false;
    auto body = [&](scope& own) -> task<void> {
      if (outside_first) here.io().root().request_stop();
      own.request_stop();
      if (!outside_first) here.io().root().request_stop();
      CHECK_FALSE(own.has_own_stop());
      co_await sleep_for(1h);
    };
    auto program = [&]() -> task<void> {
      co_await with_scope(body);
      went_on = true;
    };
    here.io().spawn(program());
    here.run_once();
    CHECK_FALSE(went_on);
    CHECK(here.io().root().tasks() == 0);
  }
}

TEST_CASE("a body that ends as stopped by itself is not taken for one that its scope has stopped later") {
  test_loop here;
  auto body = [&](scope& children) -> task<void> {
    children.spawn([&children]() -> task<void> {
      struct on_exit {
        scope& of;
        ~on_exit() { of.request_stop(); }
      } const last{children};
      co_await sleep_for(1h);
    });
    co_await stop_here();
  };
  CHECK(here.run(with_scope(body)).is_stopped());
}

TEST_CASE("work that stops its own scope under a deadline is reported as stopped, and the caller goes on") {
  test_loop here;
  auto stops_scope = []() -> task<void> {
    (co_await this_scope()).request_stop();
    co_await sleep_for(1h);
  };
  CHECK(here.run(with_timeout(1h, stops_scope())).take() == fail(errc::stopped));
}

TEST_CASE("a stop from outside ends body and children before with_scope ends") {
  test_loop here;
  deaths seen;
  int at_the_end = 0;
  auto body = [&](scope& children) -> task<void> {
    const mortal local(seen);
    children.spawn(sleeping(1h, seen));
    co_await sleep_for(1h);
  };
  auto all = [&]() -> task<void> {
    struct on_exit {
      int& to;
      deaths& from;
      ~on_exit() { to = from.count; }
    } const last{at_the_end, seen};
    co_await with_scope(body);
  };
  here.io().spawn(all());
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 2);
  CHECK(at_the_end == 2);
}

TEST_CASE("a deadline that stops what was spawned is told, although the body had ended well") {
  test_loop here;
  deaths seen;
  auto body = [&](scope& children) -> task<int> {
    children.spawn(sleeping(1ms, seen));
    children.spawn(sleeping(1h, seen));
    co_return 7;
  };
  task<int> all = with_scope(body);
  const auto late = here.run_through(with_timeout(10ms, std::move(all)), 1ms).take();
  CHECK(late == fail(errc::deadline_exceeded));
  CHECK(seen.count == 2);

  auto none = [&](scope& children) -> task<void> {  // the deadline has passed before anything was spawned
    children.spawn(sleeping(1ms, seen));
    co_return;
  };
  task<void> nothing = with_scope(none);
  CHECK(here.run_through(with_timeout(0ms, std::move(nothing)), 1ms).take() == fail(errc::deadline_exceeded));
}

TEST_CASE("a scope whose tasks had ended when the deadline came, or that was stopped from inside, gives its value") {
  test_loop here;
  deaths seen;
  auto in_time = [&](scope& children) -> task<int> {
    children.spawn(sleeping(1ms, seen));
    co_return 7;
  };
  task<int> all = with_scope(in_time);
  CHECK(here.run_through(with_timeout(10ms, std::move(all)), 1ms).take().value() == 7);

  auto stops_others = [&](scope& children) -> task<int> {
    children.spawn(sleeping(1h, seen));
    children.request_stop();
    CHECK(!children.is_cut_short());
    co_return 8;
  };
  task<int> stopped = with_scope(stops_others);
  CHECK(here.run_through(with_timeout(10ms, std::move(stopped)), 1ms).take().value() == 8);
  CHECK(seen.count == 2);
}

TEST_CASE("a stop does not cut the join short: a child that takes long to end is waited for") {
  test_loop here;
  event may_end;
  bool left = false;
  auto stubborn = [&]() -> task<void> {
    auto never = []() -> task<void> { co_await sleep_for(1h); };
    static_cast<void>(co_await as_outcome(never()));
    while (!may_end.is_set()) {
      // Its scope is stopped, so it waits in the only way left: in a task whose ending it looks at.
      auto pause = []() -> task<void> { co_await sleep_for(0ns); };
      static_cast<void>(co_await as_outcome(pause()));
      may_end.set();
    }
  };
  auto body = [&](scope& children) -> task<void> {
    children.spawn(stubborn());
    co_return;
  };
  auto all = [&]() -> task<void> {
    struct on_exit {
      bool& to;
      ~on_exit() { to = true; }
    } const last{left};
    co_await with_scope(body);
  };
  here.io().spawn(all());
  here.io().root().request_stop();
  here.run_once();
  CHECK(may_end.is_set());
  CHECK(left);
}

TEST_CASE("a stop from another thread that races with the end of the tasks leaves the scope joined") {
  test_loop here;
  for (int round = 0; round < 100; ++round) {
    auto body = [&](scope& children) -> task<int> {
      std::thread other([&] { children.request_stop(); });
      other.join();  // its job is in the queue of the loop, and nothing else is left to wait for
      co_return 3;
    };
    outcome<int> ended = here.run(with_scope(body));
    CHECK(ended.take() == 3);
  }
}

TEST_CASE("scopes nest, and each is left joined") {
  test_loop here;
  deaths seen;
  struct tree {
    static auto grow(int depth, deaths& seen) -> task<int> {
      const mortal local(seen);
      if (depth == 0) co_return 1;
      int leaves = 0;
      auto child = [&]() -> task<void> { leaves += co_await grow(depth - 1, seen); };
      auto body = [&](scope& children) -> task<void> {
        children.spawn(child());
        children.spawn(child());
        co_await sleep_for(1us);
      };
      co_await with_scope(body);
      co_return leaves;
    }
  };
  outcome<int> ended = here.run_through(tree::grow(6, seen), 20us);
  CHECK(ended.take() == 64);
  CHECK(seen.count == 127);
}

TEST_CASE("with_deadline gives the value of work that ends in time, and takes its timer along") {
  test_loop here;
  deaths seen;
  auto all = [&]() -> task<int> {
    const result<int> value = co_await with_timeout(2ms, value_after(1ms, 5));
    CHECK(value.has_value());
    const result<void> nothing = co_await with_deadline(here.now() + 2ms, sleeping(1ms, seen));
    CHECK(nothing.has_value());
    auto give_pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(1); };
    result<std::unique_ptr<int>> pointer = co_await with_timeout(1ms, give_pointer());
    CHECK(**pointer == 1);
    co_await sleep_for(10ms);
    co_return *value;
  };
  outcome<int> ended = here.run_through(all(), 50us);
  CHECK(ended.take() == 5);
}

TEST_CASE("work that is not done by the deadline is stopped, and its locals are gone when with_deadline ends") {
  test_loop here;
  deaths seen;
  int at_the_end = 0;
  time_point ended_at;
  auto all = [&]() -> task<std::error_code> {
    const result<void> late = co_await with_timeout(1ms, sleeping(1h, seen));
    at_the_end = seen.count;
    ended_at = here.now();
    co_return late ? std::error_code() : late.error();
  };
  const auto begin = here.now();
  outcome<std::error_code> ended = here.run_through(all(), 50us);
  CHECK(ended.take() == errc::deadline_exceeded);
  CHECK(at_the_end == 1);
  CHECK(ended_at - begin >= 1ms);
  CHECK(ended_at - begin < 1500us);
}

TEST_CASE("a value that is given in spite of the deadline wins") {
  test_loop here;
  auto stubborn = [&]() -> task<int> {
    auto never = []() -> task<void> { co_await sleep_for(1h); };
    const outcome<void> ended = co_await as_outcome(never());
    co_return ended.is_stopped() ? 8 : 0;
  };
  auto all = [&]() -> task<int> {
    const result<int> value = co_await with_timeout(1ms, stubborn());
    co_return value.value_or(-1);
  };
  outcome<int> ended = here.run_through(all(), 100us);
  CHECK(ended.take() == 8);
}

TEST_CASE("what the work throws comes through a deadline") {
  test_loop here;
  auto all = [&]() -> task<int> {
    const result<void> value = co_await with_timeout(1h, failing(1ms, "thrown"));
    co_return value ? 1 : 2;
  };
  const outcome<int> ended = here.run_through(all(), 100us);
  CHECK(sentence_of(ended) == "thrown");
}

TEST_CASE("a stop of the parent is not mistaken for the own deadline, and goes on upwards") {
  test_loop here;
  deaths seen;
  bool went_on = false;
  auto all = [&]() -> task<void> {
    static_cast<void>(co_await with_timeout(1h, sleeping(2h, seen)));
    went_on = true;
  };
  here.io().spawn(all());
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 1);
  CHECK_FALSE(went_on);
  CHECK(here.io().root().tasks() == 0);
}

TEST_CASE("of two nested deadlines the earlier one fires, and is reported by the one it belongs to") {
  test_loop here;
  deaths seen;
  auto nested = [&](duration outer, duration inner) -> task<std::string> {
    auto inside = [&]() -> task<std::string> {
      const result<void> ended = co_await with_timeout(inner, sleeping(1h, seen));
      co_return ended ? "done" : "inner";
    };
    const result<std::string> ended = co_await with_timeout(outer, inside());
    co_return ended.value_or("outer");
  };
  CHECK(here.run_through(nested(2ms, 1ms), 100us).take() == "inner");
  CHECK(here.run_through(nested(1ms, 2ms), 100us).take() == "outer");
  CHECK(here.run_through(nested(1ms, 1ms), 100us).take() == "outer");
}

TEST_CASE("work that stops itself is not reported as late") {
  test_loop here;
  bool went_on = false;
  auto gives_up = []() -> task<int> {
    co_await stop_here();
    co_return 1;
  };
  auto all = [&]() -> task<void> {
    static_cast<void>(co_await with_timeout(1h, gives_up()));
    went_on = true;
  };
  const outcome<void> ended = here.run(all());
  CHECK(ended.is_stopped());
  CHECK_FALSE(went_on);
}

TEST_CASE("with a deadline that has passed, work still gives what it has without waiting") {
  test_loop here;
  deaths seen;
  auto ready = []() -> task<int> { co_return 4; };
  auto all = [&]() -> task<int> {
    const result<int> value = co_await with_deadline(here.now() - 1s, ready());
    const result<void> late = co_await with_deadline(here.now() - 1s, sleeping(1ns, seen));
    CHECK_FALSE(late.has_value());
    co_return value.value_or(-1);
  };
  outcome<int> ended = here.run_through(all(), 1us);
  CHECK(ended.take() == 4);
}

TEST_CASE("timeouts beyond the end of time never fire") {
  test_loop here;
  auto all = [&]() -> task<int> {
    const result<int> value = co_await with_timeout(std::chrono::hours::max(), value_after(std::chrono::years(50), 1));
    const result<int> other = co_await with_timeout(duration::max(), value_after(1ms, 2));
    co_return value.value_or(-1) + other.value_or(-1);
  };
  outcome<int> ended = here.run_through(all(), std::chrono::years(1));
  CHECK(ended.take() == 3);
}

TEST_CASE("tasks that the work spawned into its deadline's scope are joined with it, and it is late with them") {
  test_loop here;
  deaths seen;
  auto work = [&]() -> task<int> {
    scope& limited = co_await this_scope();
    limited.spawn(sleeping(1h, seen));
    co_return 6;
  };
  int at_the_end = 0;
  auto all = [&]() -> task<int> {
    const result<int> value = co_await with_timeout(1ms, work());
    at_the_end = seen.count;
    co_return value.value_or(-1);
  };
  outcome<int> ended = here.run_through(all(), 100us);
  CHECK(ended.take() == -1);
  CHECK(at_the_end == 1);
}

TEST_CASE("with_scope over a body that gives a reference gives the reference") {
  test_loop here;
  int object = 1;
  auto body = [&](scope& /*children*/) -> task<int&> { co_return object; };
  outcome<int&> ended = here.run(with_scope(body));
  CHECK(&ended.take() == &object);
}
