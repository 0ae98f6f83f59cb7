// tests/coro/foreign_coroutine_test.cpp: coroutines of other libraries await futures of braid.
#include <braid/coro/bridge.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

using namespace braid;
using testing::eventually;
using testing::manual_executor;
using testing::test_loop;

namespace {

/// The coroutine of a library that knows nothing of braid. It begins at once, and its frame lives as long as the
/// object.
class strange {
 public:
  struct promise_type {
    auto get_return_object() -> strange { return strange(std::coroutine_handle<promise_type>::from_promise(*this)); }
    auto initial_suspend() noexcept -> std::suspend_never { return {}; }
    auto final_suspend() noexcept -> std::suspend_always { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
    std::exception_ptr error;
  };

  explicit strange(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  strange(strange&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  auto operator=(strange&&) -> strange& = delete;
  ~strange() { reset(); }

  void reset() noexcept {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }
  [[nodiscard]] auto is_done() const -> bool { return frame_.done(); }
  [[nodiscard]] auto error() const -> std::exception_ptr { return frame_.promise().error; }

 private:
  std::coroutine_handle<promise_type> frame_;
};

auto await_int(future<int> from, int& into) -> strange { into = co_await std::move(from); }

auto code_of(const std::exception_ptr& error) -> std::error_code {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
}

}  // namespace

TEST_CASE("a coroutine of another library awaits a future without an executor, where it is fulfilled") {
  promise<int> made;
  int got = 0;
  SUBCASE("ready") {
    CHECK(made.set_value(3).has_value());
    const strange waits = await_int(made.get_future(), got);
    CHECK(waits.is_done());
  }
  SUBCASE("later") {
    const strange waits = await_int(made.get_future(), got);
    CHECK(!waits.is_done());
    CHECK(made.set_value(3).has_value());
    CHECK(waits.is_done());
  }
  CHECK(got == 3);
}

TEST_CASE("it continues as a job of the executor that the future names") {
  manual_executor where;
  promise<int> made(where);
  int got = 0;
  const strange waits = await_int(made.get_future(), got);
  CHECK(made.set_value(4).has_value());
  CHECK(!waits.is_done());
  REQUIRE(where.pending() == 1);
  where.run();
  CHECK(waits.is_done());
  CHECK(got == 4);
}

TEST_CASE("it learns of an executor that refuses or drops its resumption") {
  int got = 0;
  SUBCASE("refused") {
    manual_executor where;
    promise<int> made(where);
    const strange waits = await_int(made.get_future(), got);
    where.close();
    CHECK(made.set_value(5).has_value());
    REQUIRE(waits.is_done());
    CHECK(code_of(waits.error()) == errc::closed);
  }
  SUBCASE("gone") {
    std::optional<manual_executor> where(std::in_place);
    promise<int> made(*where);
    const strange waits = await_int(made.get_future(), got);
    where.reset();
    CHECK(made.set_value(5).has_value());
    REQUIRE(waits.is_done());
    CHECK(code_of(waits.error()) == errc::closed);
  }
  SUBCASE("dropped") {
    manual_executor where;
    promise<int> made(where);
    const strange waits = await_int(made.get_future(), got);
    CHECK(made.set_value(5).has_value());
    where.drop();
    REQUIRE(waits.is_done());
    CHECK(code_of(waits.error()) == errc::dropped);
  }
  CHECK(got == 0);
}

TEST_CASE("it gets the exception of the future") {
  promise<int> made;
  int got = 0;
  const strange waits = await_int(made.get_future(), got);
  CHECK(made.set_exception(testing::failure("no luck")).has_value());
  CHECK(testing::text_of(waits.error()) == "no luck");
}

TEST_CASE("it may be destroyed while it waits, and while it is on its way") {
  int got = 0;
  SUBCASE("before the value") {
    promise<int> made;
    strange waits = await_int(made.get_future(), got);
    waits.reset();
    CHECK(made.set_value(6).has_value());
  }
  SUBCASE("on its way") {
    manual_executor where;
    promise<int> made(where);
    strange waits = await_int(made.get_future(), got);
    CHECK(made.set_value(6).has_value());
    waits.reset();
    where.run();
  }
  CHECK(got == 0);
}

TEST_CASE("it awaits a shared future, too") {
  promise<int> made;
  const shared_future<int> shared = made.get_future().share();
  const int* got = nullptr;
  auto await_shared = [&]() -> strange { got = &co_await shared; };
  const strange waits = await_shared();
  CHECK(made.set_value(7).has_value());
  REQUIRE(waits.is_done());
  REQUIRE(got != nullptr);
  CHECK(*got == 7);
  CHECK(got == &shared.get());
}

TEST_CASE("it awaits the future of a task, and continues at the home of the task") {
  test_loop here;
  bool was_home = false;
  auto body = []() -> task<int> {
    co_await sleep_for(1ms);
    co_return 8;
  };
  int got = 0;
  auto waits_for_task = [&]() -> strange {
    got = co_await spawn(here.io(), body());
    was_home = here.io().is_current();
  };
  const strange waits = waits_for_task();
  here.run_once();
  CHECK(!waits.is_done());
  here.advance(2ms);
  CHECK(waits.is_done());
  CHECK(got == 8);
  CHECK(was_home);
}

TEST_CASE("it continues on a worker of the pool whose work it awaits") {
  pool workers({.workers = 1});
  std::atomic<bool> over{false};
  bool on_worker = false;
  auto waits_for_job = [&]() -> strange {
    auto ahead = spawn(workers, [] { std::this_thread::yield(); });
    co_await std::move(ahead);
    on_worker = workers.is_current();
    over = true;
  };
  const strange waits = waits_for_job();
  REQUIRE(eventually([&] { return over.load(); }));
  static_cast<void>(workers.shutdown(shutdown_mode::drain));
}
