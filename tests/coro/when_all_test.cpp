// tests/coro/when_all_test.cpp: several tasks at once, of which the first failure stops the rest.
#include <braid/coro/when_all.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto give_after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

auto fail_after(duration span) -> task<int> {
  co_await sleep_for(span);
  throw std::runtime_error("part");
}

auto wait_long(deaths& seen) -> task<int> {
  const mortal local(seen);
  co_await sleep_for(1h);
  co_return 0;
}

auto pass_after(duration span) -> task<void> { co_await sleep_for(span); }

}  // namespace

TEST_CASE("the values of several kinds of tasks come as a tuple") {
  test_loop here;
  int object = 1;
  auto refer = [&]() -> task<int&> { co_return object; };
  auto point = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  auto body = [&]() -> task<void> {
    auto [number, nothing, reference, pointer] =
        co_await when_all(give_after(2ms, 1), pass_after(1ms), refer(), point());
    CHECK(number == 1);
    CHECK(&reference.get() == &object);
    CHECK(*pointer == 3);
    static_cast<void>(nothing);
  };
  CHECK(here.run_through(body(), 1ms).has_value());
}

TEST_CASE("the tasks wait at the same time") {
  test_loop here;
  bool ended = false;
  auto body = [&]() -> task<void> {
    std::vector<task<int>> all;
    for (int i = 0; i < 100; ++i) all.push_back(give_after(10ms, i));
    const std::vector<int> values = co_await when_all(std::move(all));
    for (int i = 0; i < 100; ++i) CHECK(values[static_cast<std::size_t>(i)] == i);
    ended = true;
  };
  here.io().spawn(body());
  here.advance(9ms);
  CHECK_FALSE(ended);
  here.advance(2ms);
  CHECK(ended);
}

TEST_CASE("no tasks have ended at once, and tasks that give nothing fit a vector too") {
  test_loop here;
  auto body = []() -> task<void> {
    const auto none = co_await when_all(std::vector<task<int>>());
    CHECK(none.empty());
    std::vector<task<void>> all;
    all.push_back(pass_after(1ms));
    all.push_back(pass_after(2ms));
    co_await when_all(std::move(all));
  };
  CHECK(here.run_through(body(), 1ms).has_value());
}

TEST_CASE("a value that cannot be moved to where it is kept fails as its task would, and stops the others") {
  struct fragile {
    fragile() = default;
    fragile(fragile&& other) : moves(other.moves + 1) {
      if (moves > 1) throw std::runtime_error("moved");
    }
    auto operator=(fragile&&) -> fragile& = default;
    int moves = 0;
  };
  test_loop here;
  deaths seen;
  std::string caught;
  auto give = []() -> task<fragile> { co_return fragile(); };
  auto body = [&]() -> task<void> {
    try {
      co_await when_all(wait_long(seen), give());
    } catch (const std::runtime_error& thrown) {
      caught = thrown.what();
    }
  };
  CHECK(here.run_through(body(), 1ms).has_value());
  CHECK(caught == "moved");
  CHECK(seen.count == 1);
}

TEST_CASE("the first failure stops the others, which have ended when it is rethrown") {
  test_loop here;
  deaths seen;
  bool caught = false;
  auto body = [&]() -> task<void> {
    try {
      co_await when_all(wait_long(seen), fail_after(1ms), wait_long(seen));
    } catch (const std::runtime_error& thrown) {
      caught = std::string(thrown.what()) == "part" && seen.count == 2;
    }
  };
  CHECK(here.run_through(body(), 1ms).has_value());
  CHECK(caught);
}

TEST_CASE("a task behind one that fails at once does not start") {
  test_loop here;
  bool started = false;
  auto fails = []() -> task<void> {
    throw std::runtime_error("part");
    co_return;
  };
  auto starts = [&]() -> task<void> {
    started = true;
    co_return;
  };
  CHECK(here.run(when_all(fails(), starts())).has_exception());
  CHECK_FALSE(started);
}

TEST_CASE("a stop of the caller stops all, and one that ends as stopped stops all and the caller") {
  test_loop here;
  deaths seen;
  bool went_on = false;
  auto body = [&]() -> task<void> {
    co_await when_all(wait_long(seen), wait_long(seen));
    went_on = true;
  };
  auto owner = [&]() -> task<void> {
    scope inside(here.io().root());
    inside.spawn(body());
    inside.request_stop();
    co_await inside.join();
  };
  here.io().spawn(owner());
  here.run_once();
  CHECK(seen.count == 2);
  auto stops = []() -> task<int> {
    co_await stop_here();
    co_return 0;
  };
  CHECK(here.run(when_all(wait_long(seen), stops())).is_stopped());
  CHECK(seen.count == 3);
  CHECK_FALSE(went_on);
}

TEST_CASE("one that stops the scope of all ends all, and the caller gets errc::stopped") {
  test_loop here;
  deaths seen;
  auto stops_all = []() -> task<void> {
    (co_await this_scope()).request_stop();
    co_await sleep_for(1h);
  };
  auto both = [&]() -> task<std::error_code> {
    try {
      co_await when_all(wait_long(seen), stops_all());
    } catch (const std::system_error& thrown) {
      co_return thrown.code();
    }
    co_return std::error_code();
  };
  CHECK(here.run(both()).take() == errc::stopped);
  auto many = [&]() -> task<std::error_code> {
    std::vector<task<void>> work;
    work.push_back(stops_all());
    try {
      co_await when_all(std::move(work));
    } catch (const std::system_error& thrown) {
      co_return thrown.code();
    }
    co_return std::error_code();
  };
  CHECK(here.run(many()).take() == errc::stopped);
  auto any = [&]() -> task<std::error_code> {
    try {
      static_cast<void>(co_await when_any(wait_long(seen), stops_all()));
    } catch (const std::system_error& thrown) {
      co_return thrown.code();
    }
    co_return std::error_code();
  };
  CHECK(here.run(any()).take() == errc::stopped);
  CHECK(seen.count == 2);
}

TEST_CASE("parts that compute elsewhere come home with their values") {
  test_loop here;
  pool::options options;
  options.workers = 2;
  pool workers(std::move(options));
  auto square = [](int n) { return n * n; };
  auto body = [&]() -> task<int> {
    std::vector<task<int>> all;
    for (int i = 0; i < 100; ++i) all.push_back(offload(workers, square, i));
    const std::vector<int> values = co_await when_all(std::move(all));
    int sum = 0;
    for (const int value : values) sum += value;
    co_return sum;
  };
  outcome<int> ended = here.run(body());
  CHECK(ended.take() == 328'350);
}
