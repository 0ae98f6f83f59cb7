// tests/io/spawn_local_test.cpp: tasks that stay on the thread that has spawned them.
#include <braid/io/spawn_local.hpp>

#include <braid/coro/sleep.hpp>

#include <tests/support/child.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <string>
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
  task_handle<std::thread::id> handle;
  auto body = [&]() -> task<void> {
    handle = spawn_local({.name = "local"}, thread_after_a_sleep());
    co_return;
  };
  static_cast<void>(here.run(body()).take());
  CHECK(handle.name() == "local");
  CHECK_FALSE(handle.is_done());
  auto waits = [&]() -> task<std::thread::id> { co_return co_await std::move(handle); };
  CHECK(here.run_through(waits(), 20us).take() == std::this_thread::get_id());
  CHECK(spawn_local(thread_after_a_sleep()).id() != task_id());
}

TEST_CASE("on a thread without a loop there is nowhere to spawn it") {
  const auto end = testing::run_in_child([] { static_cast<void>(spawn_local(thread_after_a_sleep())); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("on the thread of a loop") != std::string::npos);
}
