// tests/task/outlived_executor_test.cpp: what futures, timers and serial executors send to a pool that has gone is
// refused.
#include <braid/task/executor.hpp>

#include <braid/task/detail/shared_timers.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/scheduled_scene.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

using braid::blocking_pool;
using braid::errc;
using braid::future;
using braid::pool;
using braid::promise;
using braid::schedule_status;
using braid::testing::beat;
using braid::testing::deaths;
using braid::testing::failure_code;
using braid::testing::mortal;
using braid::testing::scheduled_scene;
using namespace std::chrono_literals;

namespace {

auto small_pool() -> std::unique_ptr<pool> { return std::make_unique<pool>(braid::pool::options{.workers = 1}); }

}  // namespace

TEST_CASE("a continuation that is attached after the pool has gone is refused, and its captures go") {
  auto workers = small_pool();
  auto ready = spawn(*workers, [] { return 1; });
  auto shared = spawn(*workers, [] { return 2; }).share();
  workers.reset();
  deaths ended;
  CHECK(failure_code(ready.then([guard = mortal(ended)](const int&) {})) == errc::closed);
  CHECK(ended.count == 1);
  CHECK(failure_code(shared.then([guard = mortal(ended)](const int&) {})) == errc::closed);
  CHECK(ended.count == 2);
  CHECK(ready.then_inline([](int n) { return n + 1; }).get() == 2);  // which needs no pool
  CHECK(failure_code(std::move(ready).then([guard = mortal(ended)](int&&) {})) == errc::closed);
  CHECK(ended.count == 3);
  CHECK(shared.get() == 2);
}

TEST_CASE("a continuation that was attached before is refused when its turn comes") {
  auto workers = small_pool();
  promise<int> given;
  deaths ended;
  auto first = given.get_future();
  auto read = first.then(*workers, [guard = mortal(ended)](const int&) { return 1; });
  auto next = std::move(first).then(*workers, [guard = mortal(ended)](int) { return 1; });
  workers.reset();
  CHECK(ended.count == 0);
  REQUIRE(given.set_value(5));
  CHECK(ended.count == 2);
  CHECK(failure_code(read) == errc::closed);
  CHECK(failure_code(next) == errc::closed);
}

TEST_CASE("a handler of failures whose pool has gone leaves the failure as it was") {
  auto workers = small_pool();
  promise<int> given;
  auto handled = given.get_future().recover(*workers, [](std::exception_ptr) { return 0; });
  workers.reset();
  REQUIRE(given.set_exception(std::make_exception_ptr(std::runtime_error("first"))));
  CHECK_THROWS_WITH(static_cast<void>(handled.get()), "first");
}

TEST_CASE("a promise may name a pool that has gone") {
  auto workers = small_pool();
  promise<void> given(*workers);
  workers.reset();
  auto after = given.get_future().then([] {});
  REQUIRE(given.set_value());
  CHECK(failure_code(after) == errc::closed);
}

TEST_CASE("several futures of a pool that has gone are one that goes on nowhere") {
  auto workers = small_pool();
  promise<int> late;
  auto all = when_all(spawn(*workers, [] { return 1; }), late.get_future());
  auto any = when_any(spawn(*workers, [] { return 1; }), spawn(*workers, [] { return 2; }));
  workers.reset();
  REQUIRE(late.set_value(2));
  CHECK(failure_code(all.then([](const auto&) {})) == errc::closed);
  CHECK(failure_code(any.then([](const auto&) {})) == errc::closed);
  CHECK(std::get<1>(all.get()) == 2);
}

TEST_CASE("another pool at the same place is not taken for the one that has gone") {
  auto workers = small_pool();
  auto ready = spawn(*workers, [] { return 1; });
  workers.reset();
  for (int i = 0; i < 10; ++i) {
    workers = small_pool();
    CHECK(failure_code(ready.then([](const int&) {})) == errc::closed);
  }
}

TEST_CASE("scheduled work whose pool has gone ends as refused, when it is due") {
  scheduled_scene s;
  auto workers = small_pool();
  deaths ended;
  const auto once = post_after(*workers, s.timers, 5 * beat, [guard = mortal(ended)] {});
  const auto often =
      post_every(*workers, s.timers, {.interval = beat, .first = s.start + 5 * beat}, [guard = mortal(ended)] {});
  workers.reset();
  CHECK(once->is_active());
  s.advance(6);
  CHECK(once->status() == schedule_status::refused);
  CHECK(often->status() == schedule_status::refused);
  CHECK(ended.count == 2);
  CHECK(once->cancel() == braid::cancellation::too_late);
}

TEST_CASE("a serial executor whose pool has gone is closed, and so are futures of it") {
  auto workers = small_pool();
  auto serial = std::make_unique<braid::serial_executor>(*workers);
  auto ready = spawn(*serial, [] { return 1; });
  CHECK(ready.get() == 1);
  auto kept = spawn(*serial, [] { return 2; });
  kept.wait();
  workers.reset();
  CHECK(post(*serial, [] {}).error() == errc::closed);
  CHECK_FALSE(serial->stop_token().stop_possible());
  CHECK(failure_code(kept.then([](const int&) {})) == errc::closed);
  serial.reset();
  CHECK(failure_code(std::move(kept).then([](int) {})) == errc::closed);
}

TEST_CASE("threads for jobs that block may go before what names them, too") {
  auto blocking = std::make_unique<blocking_pool>();
  auto ready = spawn(*blocking, [] { return 1; });
  blocking.reset();
  CHECK(failure_code(ready.then([](const int&) {})) == errc::closed);
  CHECK(ready.get() == 1);
}

TEST_CASE("a future of a pool that has gone can be waited for") {
  auto workers = small_pool();
  promise<int> never(*workers);
  auto ahead = never.get_future();
  workers.reset();
  CHECK_FALSE(ahead.wait_for(1ms));
  REQUIRE(never.set_value(3));
  CHECK(ahead.get() == 3);
}
