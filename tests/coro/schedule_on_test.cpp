// tests/coro/schedule_on_test.cpp: tasks that go on elsewhere, and come home.
#include <braid/coro/schedule_on.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

namespace {

auto hop_code(executor& where) -> task<std::error_code> {
  try {
    co_await schedule_on(where);
  } catch (const std::system_error& thrown) {
    co_return thrown.code();
  }
  co_return std::error_code();
}

/// Ends on the test's thread only if that is the home's.
struct scene {
  test_loop here;
  manual_executor there;
  std::thread::id home = std::this_thread::get_id();

  void run_there() {
    REQUIRE(there.pending() == 1);
    std::thread([this] { there.run(); }).join();
  }
};

}  // namespace

TEST_CASE("a task goes on elsewhere, and its next wait brings it home") {
  scene at;
  std::thread::id away;
  std::thread::id back;
  auto body = [&]() -> task<void> {
    co_await schedule_on(at.there);
    away = std::this_thread::get_id();
    co_await sleep_for(1ms);
    back = std::this_thread::get_id();
  };
  at.here.io().spawn(body());
  at.run_there();
  CHECK(away != at.home);
  at.here.run_once();
  at.here.advance(2ms);
  CHECK(back == at.home);
  CHECK(at.here.io().root().tasks() == 0);
}

TEST_CASE("resume_home brings a task home, and changes nothing there") {
  scene at;
  std::thread::id back;
  auto body = [&]() -> task<void> {
    co_await resume_home();
    co_await schedule_on(at.there);
    co_await resume_home();
    back = std::this_thread::get_id();
  };
  at.here.io().spawn(body());
  at.run_there();
  CHECK(back == std::thread::id());
  at.here.run_once();
  CHECK(back == at.home);
}

TEST_CASE("a task that ends away is ended at home: its scope is touched there only") {
  scene at;
  deaths seen;
  auto body = [&](mortal /*held*/) -> task<void> { co_await schedule_on(at.there); };
  auto owner = [&]() -> task<void> {
    scope inside(at.here.io().root());
    inside.spawn(body(mortal(seen)));
    co_await inside.join();
  };
  at.here.io().spawn(owner());
  at.run_there();
  CHECK(seen.count == 0);
  CHECK(at.here.io().root().tasks() == 1);
  at.here.run_once();
  CHECK(seen.count == 1);
  CHECK(seen.last_on == at.home);
  CHECK(at.here.io().root().tasks() == 0);
}

TEST_CASE("whoever awaits a task that ends away goes on there, with its value or what it threw") {
  scene at;
  std::thread::id went_on;
  auto child = [&](bool fails) -> task<int> {
    co_await schedule_on(at.there);
    if (fails) throw std::runtime_error("away");
    co_return 7;
  };
  int got = 0;
  bool caught = false;
  auto body = [&]() -> task<void> {
    got = co_await child(false);
    went_on = std::this_thread::get_id();
    try {
      co_await child(true);
    } catch (const std::runtime_error&) {
      caught = true;
    }
  };
  at.here.io().spawn(body());
  at.run_there();
  CHECK(got == 7);
  CHECK(went_on != at.home);
  at.here.run_once();  // a task that is away comes home before it leaves again
  at.run_there();
  CHECK(caught);
  at.here.run_once();
  CHECK(at.here.io().root().tasks() == 0);
}

TEST_CASE("a scope of its own and a deadline can be made by a task that is away") {
  scene at;
  int done = 0;
  auto child = [&]() -> task<void> {
    co_await sleep_for(1ms);
    ++done;
  };
  auto family = [&](scope& children) -> task<void> {
    children.spawn(child());
    co_await schedule_on(at.there);
  };
  auto body = [&]() -> task<void> {
    co_await schedule_on(at.there);
    co_await with_scope(family);
    co_await schedule_on(at.there);
    const result<void> ended = co_await with_timeout(1h, child());
    CHECK(ended.has_value());
  };
  at.here.io().spawn(body());
  at.run_there();
  at.here.run_once();
  at.run_there();
  at.here.advance(2ms);
  CHECK(done == 1);
  at.run_there();
  at.here.run_once();
  at.here.advance(2ms);
  CHECK(done == 2);
  CHECK(at.here.io().root().tasks() == 0);
}

TEST_CASE("a stop that comes while a task is away ends it at its next wait, at home") {
  scene at;
  deaths seen;
  bool ran_away = false;
  bool went_on = false;
  auto body = [&]() -> task<void> {
    const mortal local(seen);
    co_await schedule_on(at.there);
    ran_away = true;
    co_await sleep_for(0ns);
    went_on = true;
  };
  at.here.io().spawn(body());
  at.run_there();
  CHECK(ran_away);
  at.here.io().root().request_stop();
  CHECK(seen.count == 0);
  at.here.run_once();
  CHECK(seen.count == 1);
  CHECK(seen.last_on == at.home);
  CHECK_FALSE(went_on);
}

TEST_CASE("a stop takes back a task that its executor has not begun with, and destroys its locals at home") {
  for (const bool drops : {false, true}) {
    scene at;
    deaths seen;
    bool ran_away = false;
    auto body = [&]() -> task<void> {
      const mortal local(seen);
      co_await schedule_on(at.there);
      ran_away = true;
    };
    at.here.io().spawn(body());
    at.here.io().root().request_stop();
    CHECK(seen.count == 0);
    at.here.run_once();
    CHECK(seen.count == 1);
    CHECK(seen.last_on == at.home);
    CHECK(at.here.io().root().tasks() == 0);
    if (drops)
      at.there.drop();
    else
      at.run_there();
    CHECK_FALSE(ran_away);
  }
}

TEST_CASE("a deadline takes back a task that waits for its executor") {
  scene at;
  result<void> ended;
  auto hop = [&]() -> task<void> { co_await schedule_on(at.there); };
  auto body = [&]() -> task<void> { ended = co_await with_timeout(5ms, hop()); };
  at.here.io().spawn(body());
  at.here.advance(6ms);
  CHECK(ended == fail(errc::deadline_exceeded));
  CHECK(at.here.io().root().tasks() == 0);
  at.run_there();
}

TEST_CASE("a scope that tasks have left a hundred times is stopped like any other, and leaves nothing behind") {
  scene at;
  deaths seen;
  auto body = [&]() -> task<void> {
    const mortal local(seen);
    for (int i = 0; i < 100; ++i) {
      co_await schedule_on(at.there);
      co_await resume_home();
    }
    co_await schedule_on(at.there);
  };
  at.here.io().spawn(body());
  for (int i = 0; i < 100; ++i) {
    at.run_there();
    at.here.run_once();
  }
  REQUIRE(at.there.pending() == 1);
  at.here.io().root().request_stop();
  at.here.run_once();
  CHECK(seen.count == 1);
  CHECK(at.here.io().root().tasks() == 0);
  at.run_there();
}

TEST_CASE("in a stopped scope a task does not leave home") {
  scene at;
  auto body = [&]() -> task<void> {
    at.here.io().root().request_stop();
    co_await schedule_on(at.there);
  };
  at.here.io().spawn(body());
  CHECK(at.there.pending() == 0);
  CHECK(at.here.io().root().tasks() == 0);
}

TEST_CASE("a refusal and a drop are errors that the task sees at home") {
  scene at;
  std::error_code code;
  std::thread::id on;
  auto body = [&]() -> task<void> {
    code = co_await hop_code(at.there);
    on = std::this_thread::get_id();
  };
  at.here.io().spawn(body());
  std::thread([&] { at.there.drop(); }).join();
  CHECK_FALSE(code);
  at.here.run_once();
  CHECK(code == errc::dropped);
  CHECK(on == at.home);
  at.there.close();
  at.here.io().spawn(body());
  CHECK(code == errc::closed);
}

TEST_CASE("a task without a home goes on in a pool, and who waits for it learns of the end") {
  pool::options options;
  options.workers = 2;
  pool workers(std::move(options));
  auto body = [&]() -> task<std::thread::id> {
    for (int i = 0; i < 100; ++i) co_await schedule_on(workers);
    co_return std::this_thread::get_id();
  };
  CHECK(sync_wait(body()) != std::this_thread::get_id());
  REQUIRE(workers.shutdown(shutdown_mode::drain));
  CHECK(sync_wait(hop_code(workers)) == errc::closed);
}
