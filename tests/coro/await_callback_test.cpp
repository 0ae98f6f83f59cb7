// tests/coro/await_callback_test.cpp: a task awaits what calls a function when it is over.
#include <braid/coro/await_callback.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

using namespace braid;
using testing::test_loop;

namespace {

using on_int = awaited_callback<int>;
using on_read = awaited_callback<std::error_code, std::size_t>;

template <typename... Args>
using value_of = braid::detail::await_result_t<decltype(await_callback<Args...>([](awaited_callback<Args...>) {}))>;

static_assert(std::same_as<value_of<>, void>);
static_assert(std::same_as<value_of<int>, int>);
static_assert(std::same_as<value_of<int, char>, std::tuple<int, char>>);
static_assert(std::same_as<value_of<std::error_code>, result<void>>);
static_assert(std::same_as<value_of<std::error_code, std::size_t>, result<std::size_t>>);
static_assert(std::same_as<value_of<std::error_code, int, char>, result<std::tuple<int, char>>>);

}  // namespace

TEST_CASE("the task continues with the arguments of the callback: at once, later, or from another thread") {
  test_loop here;
  std::optional<on_int> kept;
  std::optional<int> got;
  bool was_home = false;
  auto keeps = [&]() -> task<void> {
    auto waits = await_callback<int>([&](on_int done) { kept.emplace(std::move(done)); });
    got = co_await waits;
    was_home = here.io().is_current();
  };
  SUBCASE("at once") {
    auto body = [&]() -> task<void> {
      auto waits = await_callback<int>([](on_int done) { done(5); });
      got = co_await waits;
      was_home = here.io().is_current();
    };
    here.run(body()).take();
  }
  SUBCASE("later") {
    here.io().spawn(keeps());
    here.run_once();
    CHECK(!got);
    (*kept)(5);
    here.run_once();
  }
  SUBCASE("from another thread") {
    here.io().spawn(keeps());
    here.run_once();
    std::thread([&] { (*kept)(5); }).join();
    here.run_once();
  }
  CHECK(got == 5);
  CHECK(was_home);
}

TEST_CASE("nothing, several arguments, and what can only be moved") {
  test_loop here;
  auto body = [&]() -> task<void> {
    auto nothing = await_callback<>([](awaited_callback<> done) { done(); });
    co_await nothing;
    auto both = await_callback<int, char>([](awaited_callback<int, char> done) { done(1, 'x'); });
    const auto [number, letter] = co_await both;
    CHECK(number == 1);
    CHECK(letter == 'x');
    auto moves = await_callback<std::unique_ptr<int>>(
        [](awaited_callback<std::unique_ptr<int>> done) { done(std::make_unique<int>(7)); });
    const std::unique_ptr<int> moved = co_await moves;
    CHECK(*moved == 7);
  };
  here.run(body()).take();
}

TEST_CASE("an error code that comes first makes a result") {
  test_loop here;
  auto body = [&]() -> task<void> {
    auto reads = await_callback<std::error_code, std::size_t>([](on_read done) { done({}, 12); });
    const result<std::size_t> read = co_await reads;
    CHECK(read == 12);
    auto fails = await_callback<std::error_code, std::size_t>(
        [](on_read done) { done(std::make_error_code(std::errc::broken_pipe), 3); });
    const result<std::size_t> failed = co_await fails;
    REQUIRE(!failed);
    CHECK(failed.error() == std::errc::broken_pipe);
    auto only = await_callback<std::error_code>([](awaited_callback<std::error_code> done) { done({}); });
    CHECK((co_await only).has_value());
  };
  here.run(body()).take();
}

TEST_CASE("a callback that is destroyed fails the await, and so does a start that throws") {
  test_loop here;
  auto body = [&]() -> task<void> {
    auto forgets = await_callback<int>([](on_int /*done*/) {});
    try {
      static_cast<void>(co_await forgets);
      FAIL("there is no value");
    } catch (const std::system_error& error) {
      CHECK(error.code() == errc::broken_promise);
    }
    auto throws = await_callback<int>([](on_int /*done*/) { throw std::runtime_error("no such thing"); });
    CHECK_THROWS_WITH(static_cast<void>(co_await throws), "no such thing");
    auto both = await_callback<int>([](on_int done) {
      done(1);
      throw std::runtime_error("after that");
    });
    CHECK_THROWS_WITH(static_cast<void>(co_await both), "after that");
  };
  here.run(body()).take();
}

TEST_CASE("a stop cancels the operation, and the task ends when that is over") {
  test_loop here;
  testing::deaths dead;
  std::optional<on_int> kept;
  int cancels = 0;
  bool continued = false;
  auto body = [&]() -> task<void> {
    const testing::mortal local(dead);
    auto waits = await_callback<int>([&](on_int done) { kept.emplace(std::move(done)); }, [&] { ++cancels; });
    static_cast<void>(co_await waits);
    continued = true;
  };
  here.io().spawn(body());
  here.run_once();
  here.io().root().request_stop();
  here.run_once();
  CHECK(cancels == 1);
  CHECK(dead.count == 0);
  SUBCASE("by a call") { (*kept)(3); }
  SUBCASE("by a call from another thread") {
    std::thread([&] { (*kept)(3); }).join();
  }
  SUBCASE("because the callback is destroyed") { kept.reset(); }
  here.run_once();
  CHECK(dead.count == 1);
  CHECK(!continued);
}

TEST_CASE("a cancel may call the callback itself") {
  test_loop here;
  std::optional<on_int> kept;
  auto body = [&]() -> task<void> {
    auto waits = await_callback<int>([&](on_int done) { kept.emplace(std::move(done)); }, [&] { (*kept)(0); });
    static_cast<void>(co_await waits);
    FAIL("a stopped task does not continue");
  };
  auto limited = [&]() -> task<result<void>> { co_return co_await with_timeout(1ms, body()); };
  const auto ended = here.run_through(limited(), 100us).take();
  REQUIRE(!ended);
  CHECK(ended.error() == errc::deadline_exceeded);
}

TEST_CASE("without a cancel the task continues with the result, and ends at its next wait") {
  test_loop here;
  std::optional<on_int> kept;
  int got = 0;
  bool continued = false;
  auto body = [&]() -> task<void> {
    auto waits = await_callback<int>([&](on_int done) { kept.emplace(std::move(done)); });
    got = co_await waits;
    co_await sleep_for(1h);
    continued = true;
  };
  here.io().spawn(body());
  here.run_once();
  here.io().root().request_stop();
  here.run_once();
  CHECK(got == 0);
  (*kept)(3);
  here.run_once();
  CHECK(got == 3);
  CHECK(!continued);
  CHECK(here.io().spawned() == 0);
}
