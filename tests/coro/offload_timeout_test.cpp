// tests/coro/offload_timeout_test.cpp: a function that is waited for so long and no longer.
#include <braid/coro/offload.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <latch>
#include <memory>
#include <stdexcept>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::eventually;
using testing::mortal;
using testing::test_loop;

namespace {

/// An executor that counts what ended late.
class counting_executor final : public executor {
 public:
  [[nodiscard]] auto try_post(job& work) noexcept -> bool override { return inner_.try_post(work); }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }
  void ran_late() noexcept override { ++late; }
  auto jobs() noexcept -> testing::manual_executor& { return inner_; }

  int late = 0;

 private:
  testing::manual_executor inner_;
};

/// A task that waits a millisecond for a function elsewhere, and what it got.
struct wait_for_a_function {
  test_loop here;
  counting_executor away;
  deaths seen;
  result<int> got = fail(errc::full);
  bool over = false;

  template <typename Fn>
  auto body(Fn fn) -> task<void> {
    const mortal local(seen);
    auto timed = offload(away, {.timeout = 1ms}, std::move(fn));
    got = co_await timed;
    over = true;
  }
  void begin() {
    here.io().spawn(body([held = std::make_unique<int>(7)] { return *held; }));
    here.run_once();
    REQUIRE(away.jobs().pending() == 1);
  }
};

}  // namespace

TEST_CASE_FIXTURE(wait_for_a_function, "a result in time is given, and takes the timer along") {
  begin();
  away.jobs().run();
  CHECK_FALSE(over);
  here.run_once();
  CHECK(got.value() == 7);
  here.advance(1h);
  CHECK(seen.count == 1);
  CHECK(away.late == 0);
}

TEST_CASE_FIXTURE(wait_for_a_function,
                  "when the time is over the task goes on, and the function does not begin any more") {
  begin();
  here.advance(2ms);
  CHECK(over);
  CHECK(got.error() == errc::deadline_exceeded);
  away.jobs().run();
  CHECK(away.late == 0);
}

TEST_CASE_FIXTURE(wait_for_a_function,
                  "a function that had begun ends late and is counted, and the task has its answer") {
  here.io().spawn(body([this] {
    here.advance(2ms);  // as if it took so long
    CHECK(over);
    return 7;
  }));
  here.run_once();
  away.jobs().run();
  CHECK(got.error() == errc::deadline_exceeded);
  CHECK(away.late == 1);
  CHECK(seen.count == 1);
}

TEST_CASE_FIXTURE(wait_for_a_function, "a result that comes before the timer fires wins, though it is resumed later") {
  begin();
  away.jobs().run();  // on its way home
  here.advance(2ms);
  CHECK(got.value() == 7);
}

TEST_CASE_FIXTURE(wait_for_a_function, "a stop leaves it") {
  begin();
  here.io().root().request_stop();
  here.run_once();
  CHECK_FALSE(over);
  CHECK(seen.count == 1);
  away.jobs().run();
}

TEST_CASE_FIXTURE(wait_for_a_function, "a stop that comes after the function has ended comes too late") {
  begin();
  away.jobs().run();
  here.io().root().request_stop();
  here.run_once();
  CHECK(got.value() == 7);
}

TEST_CASE_FIXTURE(wait_for_a_function, "a refusal and a drop are told") {
  begin();
  away.jobs().drop();
  here.run_once();
  CHECK(got.error() == errc::dropped);
  away.jobs().close();
  over = false;
  here.io().spawn(body([] { return 1; }));
  here.run_once();
  CHECK(over);
  CHECK(got.error() == errc::closed);
  here.advance(1h);
  CHECK(seen.count == 2);
}

TEST_CASE_FIXTURE(wait_for_a_function, "what it throws in time is rethrown, and what it throws late is dropped") {
  auto fails = []() -> int { throw std::runtime_error("thrown"); };
  auto catches = [&]() -> task<bool> {
    try {
      auto timed = offload(away, {.timeout = 1ms}, fails);
      static_cast<void>(co_await timed);
    } catch (const std::runtime_error&) {
      co_return true;
    }
    co_return false;
  };
  bool caught = false;
  auto first = [&]() -> task<void> {
    auto inner = catches();
    caught = co_await std::move(inner);
  };
  here.io().spawn(first());
  here.run_once();
  away.jobs().run();
  here.run_once();
  CHECK(caught);
  here.io().spawn(body([this]() -> int {
    here.advance(2ms);
    throw std::runtime_error("late");
  }));
  here.run_once();
  away.jobs().run();
  CHECK(got.error() == errc::deadline_exceeded);
  CHECK(away.late == 1);
}

TEST_CASE_FIXTURE(wait_for_a_function, "one that is never awaited does nothing") {
  auto unused = offload(away, {.timeout = 1ms}, [held = std::make_unique<int>(1)] { return *held; });
  [[maybe_unused]] auto moved = std::move(unused);
  CHECK(away.jobs().pending() == 0);
}

TEST_CASE("pools and lanes end after what ran late there, and have counted it") {
  test_loop here;
  std::latch opened(3);
  std::latch begun(2);
  auto blocking_threads = std::make_unique<blocking_pool>();
  auto workers = std::make_unique<pool>(pool::options{.workers = 1});
  atomic<int> ended{0};
  auto waits = [&](executor& where) -> task<void> {
    auto timed = offload(where, {.timeout = 1ms}, [&] {
      begun.count_down();
      opened.arrive_and_wait();
      ended.fetch_add(1, relaxed);
    });
    const auto late = co_await timed;
    REQUIRE_FALSE(late.has_value());
    CHECK(late.error() == errc::deadline_exceeded);
  };
  here.io().spawn(waits(*blocking_threads));
  here.io().spawn(waits(*workers));
  here.run_once();
  begun.wait();
  here.advance(2ms);
  opened.arrive_and_wait();
  REQUIRE(workers->wait_idle());
  CHECK(workers->statistics().late == 1);
  CHECK(eventually([&] { return blocking_threads->late() == 1; }));
  workers.reset();
  blocking_threads.reset();
  CHECK(ended.load(relaxed) == 2);
}
