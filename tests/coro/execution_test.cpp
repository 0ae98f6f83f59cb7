// tests/coro/execution_test.cpp: executors are schedulers, futures and tasks are senders, and tasks await senders.
#include <braid/execution.hpp>

#include <braid/coro/execution.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/receiver.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

using namespace braid;
using testing::completion;
using testing::eventually;
using testing::manual_executor;
using testing::recorder;
using testing::test_loop;

namespace {

static_assert(execution::scheduler<executor_scheduler>);
static_assert(execution::sender<schedule_sender>);
static_assert(execution::receiver<recorder<int>>);
static_assert(!execution::sender<future<int>>);  // `as_sender` makes one

int unused = 0;

auto thrown_by(const std::exception_ptr& error) -> std::string {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

auto give(int value) -> task<int> { co_return value; }
auto sleep_long() -> task<void> { co_await sleep_for(1h); }

}  // namespace

/// Senders of another library, which does not know braid.
namespace others {

namespace ex = braid::execution;

/// Completes as a function says when it is started.
template <typename Signatures, typename Fn>
struct by_function {
  using sender_concept = ex::sender_t;
  using completion_signatures = Signatures;

  template <typename Receiver>
  struct operation {
    using operation_state_concept = ex::operation_state_t;
    void start() & noexcept { fn(std::move(to)); }
    Fn fn;
    Receiver to;
  };
  template <typename Receiver>
  auto connect(Receiver to) && -> operation<Receiver> {
    return {std::move(fn), std::move(to)};
  }

  Fn fn;
};
template <typename... Signatures, typename Fn>
auto complete_by(Fn fn) {
  return by_function<ex::completion_signatures<Signatures...>, Fn>{std::move(fn)};
}

/// Completes as stopped when a stop is requested, and not before: inside of the request, or when `go` is called.
enum class answers : std::uint8_t { at_once, later };
template <answers When>
struct until_stopped {
  using sender_concept = ex::sender_t;
  using completion_signatures = ex::completion_signatures<ex::set_value_t(int), ex::set_stopped_t()>;

  template <typename Receiver>
  struct operation {
    using operation_state_concept = ex::operation_state_t;
    struct stop {
      void operator()() const noexcept { of->stopped(); }
      operation* of;
    };
    using token = ex::stop_token_of_t<ex::env_of_t<Receiver>>;

    operation(until_stopped& from, Receiver receiver) : seen(from.seen), go(from.go), to(std::move(receiver)) {}
    void start() & noexcept { callback.emplace(ex::get_stop_token(ex::get_env(to)), stop{this}); }
    void stopped() noexcept {
      ++*seen;
      if (When == answers::at_once) return end();
      *go = [this](int value) {
        callback.reset();
        if (value == 0)
          ex::set_stopped(std::move(to));
        else
          ex::set_value(std::move(to), value);
      };
    }
    void end() noexcept {
      callback.reset();
      ex::set_stopped(std::move(to));
    }

    int* seen;
    std::function<void(int)>* go;
    Receiver to;
    std::optional<ex::stop_callback_for_t<token, stop>> callback;
  };
  template <typename Receiver>
  auto connect(Receiver to) && -> operation<Receiver> {
    return operation<Receiver>(*this, std::move(to));
  }

  int* seen;
  std::function<void(int)>* go;
};

/// Cannot be connected.
struct unconnectable {
  using sender_concept = ex::sender_t;
  using completion_signatures = ex::completion_signatures<ex::set_value_t()>;
  struct operation {
    using operation_state_concept = ex::operation_state_t;
    void start() & noexcept {}
  };
  template <typename Receiver>
  auto connect(Receiver /*to*/) && -> operation {
    throw std::runtime_error("no connection");
  }
};

}  // namespace others

TEST_CASE("a schedule completes as a job of its pool, and names it") {
  pool workers({.workers = 1});
  completion ended;
  bool was_there = false;
  ended.then = [&] { was_there = workers.is_current(); };
  const executor_scheduler on = scheduler_of(workers);
  auto work = execution::schedule(on);
  CHECK(execution::get_completion_scheduler<execution::set_value_t>(execution::get_env(work)) == on);
  auto operation = execution::connect(work, recorder<int>(ended, unused));
  execution::start(operation);
  REQUIRE(eventually([&] { return ended.count() == 1; }));
  CHECK(ended.values == 1);
  CHECK(was_there);
}

TEST_CASE("loops, serial executors and runtimes have schedulers; that of a runtime is that of its workers") {
  pool workers({.workers = 1});
  serial_executor serial(workers);
  test_loop here;
  const auto all = runtime::create({.workers = 1}).value();
  CHECK(scheduler_of(here.io()).as_home() == &here.io());
  CHECK(scheduler_of(serial).as_home() == &serial);
  CHECK(scheduler_of(workers).as_home() == nullptr);
  CHECK(scheduler_of(*all) == scheduler_of(all->workers()));
  CHECK(!(scheduler_of(*all) == scheduler_of(workers)));
}

TEST_CASE("a schedule fails if the executor refuses the job, or drops it") {
  manual_executor where;
  completion dropped;
  auto first = execution::connect(execution::schedule(scheduler_of(where)), recorder<int>(dropped, unused));
  execution::start(first);
  where.drop();
  CHECK(dropped.errors == 1);
  CHECK(dropped.code == errc::dropped);
  where.close();
  completion refused;
  auto second = execution::connect(execution::schedule(scheduler_of(where)), recorder<int>(refused, unused));
  execution::start(second);
  CHECK(refused.errors == 1);
  CHECK(refused.code == errc::closed);
}

TEST_CASE("a schedule that is stopped before its job runs completes as stopped") {
  manual_executor where;
  SUBCASE("before it starts") {
    execution::inplace_stop_source source;
    completion ended;
    auto work =
        execution::connect(execution::schedule(scheduler_of(where)), recorder<int>(ended, unused, source.get_token()));
    source.request_stop();
    execution::start(work);
    CHECK(ended.stops == 1);
    CHECK(where.pending() == 0);
  }
  SUBCASE("while the job waits") {
    execution::inplace_stop_source source;
    completion ended;
    auto work =
        execution::connect(execution::schedule(scheduler_of(where)), recorder<int>(ended, unused, source.get_token()));
    execution::start(work);
    source.request_stop();
    CHECK(ended.count() == 0);  // it completes where it promised
    where.run();
    CHECK(ended.stops == 1);
  }
  SUBCASE("after that it changes nothing") {
    execution::inplace_stop_source source;
    completion ended;
    auto work =
        execution::connect(execution::schedule(scheduler_of(where)), recorder<int>(ended, unused, source.get_token()));
    execution::start(work);
    where.run();
    source.request_stop();
    CHECK(ended.values == 1);
    CHECK(ended.count() == 1);
  }
}

TEST_CASE("a future completes with its value, whether it is fulfilled before the start or after") {
  completion ended;
  promise<std::unique_ptr<int>> made;
  std::unique_ptr<int> value;
  auto work = execution::connect(as_sender(made.get_future()), recorder<std::unique_ptr<int>>(ended, value));
  SUBCASE("before") {
    CHECK(made.set_value(new int(5)).has_value());
    CHECK(ended.count() == 0);
    execution::start(work);
  }
  SUBCASE("after") {
    execution::start(work);
    CHECK(ended.count() == 0);
    CHECK(made.set_value(new int(5)).has_value());
  }
  SUBCASE("after, on another thread") {
    execution::start(work);
    std::thread([&] { CHECK(made.set_value(new int(5)).has_value()); }).join();
    CHECK(ended.thread != std::this_thread::get_id());
  }
  CHECK(ended.values == 1);
  CHECK(ended.count() == 1);
  REQUIRE(value != nullptr);
  CHECK(*value == 5);
}

TEST_CASE("futures of nothing and of references are senders, too") {
  completion ended;
  auto nothing = execution::connect(as_sender(ready_future<void>()), recorder<int>(ended, unused));
  execution::start(nothing);
  CHECK(ended.values == 1);
  int object = 3;
  int seen = 0;
  auto reference = execution::connect(as_sender(ready_future<int&>(object)), recorder<int>(ended, seen));
  execution::start(reference);
  CHECK(seen == 3);
}

TEST_CASE("the exception of a future is its error, and a stop of its work completes it as stopped") {
  completion failed;
  auto first = execution::connect(as_sender(failed_future<int>(std::make_exception_ptr(std::runtime_error("no luck")))),
                                  recorder<int>(failed, unused));
  execution::start(first);
  CHECK(failed.errors == 1);
  CHECK(thrown_by(failed.error) == "no luck");
  completion stopped;
  auto second =
      execution::connect(as_sender(failed_future<int>(make_error_code(errc::stopped))), recorder<int>(stopped, unused));
  execution::start(second);
  CHECK(stopped.stops == 1);
  completion broken;
  auto third = execution::connect(as_sender(promise<int>().get_future()), recorder<int>(broken, unused));
  execution::start(third);
  CHECK(broken.errors == 1);
}

TEST_CASE("a value that cannot be moved out is an error") {
  struct stubborn {
    stubborn() = default;
    stubborn(stubborn&& /*other*/) { throw std::runtime_error("stays"); }
    auto operator=(stubborn&&) -> stubborn& = default;
  };
  promise<stubborn> made;
  completion ended;
  stubborn value;
  auto work = execution::connect(as_sender(made.get_future()), recorder<stubborn>(ended, value));
  CHECK(made.set_value().has_value());
  execution::start(work);
  REQUIRE(ended.errors == 1);
  CHECK(thrown_by(ended.error) == "stays");
}

TEST_CASE("a stop reaches the task whose future is awaited as a sender, in each state") {
  test_loop here;
  execution::inplace_stop_source source;
  completion ended;
  auto work = execution::connect(as_sender(here.io(), sleep_long()), recorder<int>(ended, unused, source.get_token()));
  SUBCASE("before the start") {
    source.request_stop();
    execution::start(work);
  }
  SUBCASE("before the task has begun") {
    execution::start(work);
    source.request_stop();
  }
  SUBCASE("while it sleeps") {
    execution::start(work);
    here.run_once();
    CHECK(ended.count() == 0);
    source.request_stop();
  }
  here.run_once();
  CHECK(ended.stops == 1);
  CHECK(ended.count() == 1);
}

TEST_CASE("a promise is not stopped: the operation completes when it is fulfilled") {
  execution::inplace_stop_source source;
  completion ended;
  promise<int> made;
  int value = 0;
  auto work = execution::connect(as_sender(made.get_future()), recorder<int>(ended, value, source.get_token()));
  execution::start(work);
  source.request_stop();
  CHECK(ended.count() == 0);
  CHECK(made.set_value(7).has_value());
  CHECK(ended.values == 1);
  CHECK(value == 7);
}

TEST_CASE("a task that nothing starts does not run, and is destroyed with its operation") {
  test_loop here;
  testing::deaths seen;
  auto body = [](testing::mortal /*local*/) -> task<void> { co_return; };
  {
    completion ended;
    auto work = execution::connect(as_sender(here.io(), body(testing::mortal(seen))), recorder<int>(ended, unused));
  }
  CHECK(seen.count == 1);
}

TEST_CASE("a task runs on the scheduler of the receiver") {
  test_loop here;
  pool workers({.workers = 1});
  completion at_home;
  int value = 0;
  using with_scheduler = recorder<int, executor_scheduler>;
  auto first = execution::connect(as_sender(give(4)), with_scheduler(at_home, value, {}, scheduler_of(here.io())));
  execution::start(first);
  CHECK(at_home.count() == 0);
  here.run_once();
  CHECK(at_home.values == 1);
  CHECK(value == 4);
  completion lives;
  bool is_its_home = false;
  auto find_home = [&]() -> task<bool> { co_return &(co_await this_scope()).where() == &here.io(); };
  using with_bool = recorder<bool, executor_scheduler>;
  auto home = execution::connect(as_sender(find_home()), with_bool(lives, is_its_home, {}, scheduler_of(here.io())));
  execution::start(home);
  here.run_once();
  CHECK(is_its_home);
  completion on_worker;
  bool was_there = false;
  on_worker.then = [&] { was_there = workers.is_current(); };
  std::latch started(1);  // if the task ended before, the operation would complete in `start`
  auto give_later = [&]() -> task<int> {
    started.wait();
    co_return 5;
  };
  auto second =
      execution::connect(as_sender(give_later()), with_scheduler(on_worker, value, {}, scheduler_of(workers)));
  execution::start(second);
  started.count_down();
  REQUIRE(eventually([&] { return on_worker.count() == 1; }));
  CHECK(value == 5);
  CHECK(was_there);
}

TEST_CASE("a task awaits a schedule and continues at home") {
  test_loop here;
  pool workers({.workers = 1});
  auto body = [&]() -> task<bool> {
    co_await execution::schedule(scheduler_of(workers));
    co_return here.io().is_current();
  };
  CHECK(here.run(body()).take());
}

TEST_CASE("a task awaits senders with no value, one, or several") {
  test_loop here;
  auto body = [&]() -> task<int> {
    using namespace others;
    co_await await_sender(complete_by<ex::set_value_t()>([](auto to) { ex::set_value(std::move(to)); }));
    const int one = co_await complete_by<ex::set_value_t(int)>([](auto to) { ex::set_value(std::move(to), 1); });
    const auto [two, text] = co_await complete_by<ex::set_value_t(int, std::string)>(
        [](auto to) { ex::set_value(std::move(to), 2, "three"); });
    static_assert(std::same_as<decltype(text), const std::string>);
    CHECK(text == "three");
    int four = 4;
    int& same = co_await complete_by<ex::set_value_t(int&)>([&four](auto to) { ex::set_value(std::move(to), four); });
    CHECK(&same == &four);
    co_return one + two;
  };
  CHECK(here.run(body()).take() == 3);
}

TEST_CASE("the error of a sender is thrown by the await") {
  test_loop here;
  auto body = [&]() -> task<void> {
    using namespace others;
    auto code = complete_by<ex::set_error_t(std::error_code)>(
        [](auto to) { ex::set_error(std::move(to), make_error_code(errc::full)); });
    CHECK_THROWS_AS(co_await await_sender(std::move(code)), std::system_error);
    auto thrown = complete_by<ex::set_value_t(int), ex::set_error_t(std::exception_ptr)>(
        [](auto to) { ex::set_error(std::move(to), std::make_exception_ptr(std::runtime_error("no luck"))); });
    CHECK_THROWS_WITH(co_await await_sender(std::move(thrown)), "no luck");
    auto object = complete_by<ex::set_error_t(int)>([](auto to) { ex::set_error(std::move(to), 5); });
    CHECK_THROWS_AS(co_await await_sender(std::move(object)), int);
  };
  here.run(body()).take();
}

TEST_CASE("a sender that stops ends the task as stopped") {
  test_loop here;
  auto body = [&]() -> task<void> {
    using namespace others;
    co_await await_sender(complete_by<ex::set_stopped_t()>([](auto to) { ex::set_stopped(std::move(to)); }));
    FAIL("a stopped task does not continue");
  };
  CHECK(here.run(body()).is_stopped());
  auto from_elsewhere = [&]() -> task<void> {
    using namespace others;
    co_await await_sender(complete_by<ex::set_stopped_t()>(
        [](auto to) { std::thread([other = std::move(to)]() mutable { ex::set_stopped(std::move(other)); }).join(); }));
    FAIL("a stopped task does not continue");
  };
  CHECK(here.run(from_elsewhere()).is_stopped());
}

TEST_CASE("a sender whose connect throws fails the await") {
  test_loop here;
  auto body = [&]() -> task<void> {
    CHECK_THROWS_WITH(co_await await_sender(others::unconnectable()), "no connection");
  };
  here.run(body()).take();
}

TEST_CASE("the environment of an awaited sender has the scheduler of the task's home, on which tasks may run") {
  test_loop here;
  auto body = [&]() -> task<int> {
    using namespace others;
    const bool same = co_await await_sender(complete_by<ex::set_value_t(bool)>([&](auto to) {
      const bool is_home = ex::get_scheduler(ex::get_env(to)) == scheduler_of(here.io());
      ex::set_value(std::move(to), is_home);
    }));
    CHECK(same);
    co_return co_await as_sender(give(6));
  };
  CHECK(here.run(body()).take() == 6);
}

TEST_CASE("the stop of a task reaches its sender, which may answer at once, later, or with a value") {
  using others::answers;
  using others::until_stopped;
  test_loop here;
  int seen = 0;
  std::function<void(int)> go;
  testing::deaths dead;
  std::optional<int> got;
  auto at_once = [&]() -> task<void> {
    const testing::mortal local(dead);
    got = co_await await_sender(until_stopped<answers::at_once>{&seen, &go});
  };
  auto later = [&]() -> task<void> {
    const testing::mortal local(dead);
    got = co_await await_sender(until_stopped<answers::later>{&seen, &go});
    co_await sleep_for(1h);
  };
  SUBCASE("at once") {
    here.io().spawn(at_once());
    here.run_once();
    here.io().root().request_stop();
    here.run_once();
    CHECK(!got);
  }
  SUBCASE("later, as stopped") {
    here.io().spawn(later());
    here.run_once();
    here.io().root().request_stop();
    here.run_once();
    CHECK(dead.count == 0);  // the operation is in its frame
    go(0);
    here.run_once();
    CHECK(!got);
  }
  SUBCASE("later, as stopped, from another thread") {
    here.io().spawn(later());
    here.run_once();
    here.io().root().request_stop();
    here.run_once();
    std::thread([&] { go(0); }).join();
    here.run_once();
    CHECK(!got);
  }
  SUBCASE("later, with a value: the task continues to its next wait") {
    here.io().spawn(later());
    here.run_once();
    here.io().root().request_stop();
    here.run_once();
    go(9);
    here.run_once();
    CHECK(got == 9);
  }
  CHECK(seen == 1);
  CHECK(dead.count == 1);
}

TEST_CASE("a stop during the start of a sender ends the task") {
  using others::answers;
  using others::until_stopped;
  test_loop here;
  bool continued = false;
  auto body = [&]() -> task<void> {
    using namespace others;
    co_await await_sender(complete_by<ex::set_stopped_t(), ex::set_value_t()>([&](auto to) {
      here.io().root().request_stop();
      const bool stops = ex::get_stop_token(ex::get_env(to)).stop_requested();
      CHECK(stops);
      ex::set_stopped(std::move(to));
    }));
    continued = true;
  };
  CHECK(here.run(body()).is_stopped());
  CHECK(!continued);
}

TEST_CASE("a timeout stops a sender, and a job that has not begun ends when its executor comes to it") {
  test_loop here;
  manual_executor where;
  std::optional<result<void>> limited;
  auto body = [&]() -> task<void> {
    limited = co_await with_timeout(1ms, await_sender(execution::schedule(scheduler_of(where))));
  };
  here.io().spawn(body());
  here.advance(2ms);
  CHECK(!limited);
  where.run();
  here.run_once();
  REQUIRE(limited);
  CHECK(limited->error() == errc::deadline_exceeded);
}

TEST_CASE("senders that are ready let other tasks run now and then") {
  test_loop here;
  bool other_ran = false;
  int rounds = 0;
  auto spins = [&]() -> task<void> {
    using namespace others;
    while (!other_ran && rounds < 100'000) {
      ++rounds;
      co_await await_sender(complete_by<ex::set_value_t()>([](auto to) { ex::set_value(std::move(to)); }));
    }
  };
  auto other = [&]() -> task<void> {
    other_ran = true;
    co_return;
  };
  here.io().spawn(spins());
  here.io().spawn(other());
  here.run_once();
  CHECK(other_ran);
  CHECK(rounds < 1000);
}
