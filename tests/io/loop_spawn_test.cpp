// tests/io/loop_spawn_test.cpp: tasks that stay on the loop of the thread that has spawned them.
#include <braid/coro/bridge.hpp>

#include <braid/coro/sleep.hpp>

#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <thread>

using namespace braid;
using testing::test_loop;

namespace {

auto thread_after_a_sleep() -> task<std::thread::id> {
  co_await sleep_for(1us);
  co_return std::this_thread::get_id();
}

}  // namespace

TEST_CASE("a task that is spawned locally belongs to the loop of the thread, and outlives the scope of its spawner") {
  test_loop here;
  future<std::thread::id> handle;
  auto body = [&]() -> task<void> {
    handle = spawn(loop::current()->root(), {.name = "local"}, thread_after_a_sleep());
    co_return;
  };
  static_cast<void>(here.run(body()).take());
  CHECK(handle.name() == "local");
  CHECK_FALSE(handle.is_ready());
  auto waits = [&]() -> task<std::thread::id> { co_return co_await std::move(handle); };
  CHECK(here.run_through(waits(), 20us).take() == std::this_thread::get_id());
  CHECK(spawn(loop::current()->root(), thread_after_a_sleep()).id() != task_id());
}
