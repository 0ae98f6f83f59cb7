// tests/runtime/queue_capacity_test.cpp: a runtime whose queue is bounded, and what does not count there.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/offload.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/watchdog.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

using namespace braid;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

/// Occupies the only worker of a runtime until it is released or destroyed.
class held_worker {
 public:
  explicit held_worker(runtime& where) {
    work_ = spawn(where.workers(), [this] {
      begun_.count_down();
      released_.wait();
    });
    begun_.wait();
  }
  held_worker(const held_worker&) = delete;
  auto operator=(const held_worker&) -> held_worker& = delete;
  ~held_worker() { release(); }

  void release() {
    if (!work_.valid()) return;
    released_.count_down();
    std::exchange(work_, {}).get();
  }

 private:
  std::latch begun_{1};
  std::latch released_{1};
  future<void> work_;
};

auto made(when_full on_full, runtime_shape shape = runtime_shape::separate) -> std::unique_ptr<runtime> {
  return runtime::create({.workers = 1, .shape = shape, .queue_capacity = 2, .on_full = on_full}).value();
}

auto code_of(future<void> failed) -> std::error_code {
  try {
    failed.get();
    return {};
  } catch (const std::system_error& error) {
    return error.code();
  }
}

}  // namespace

TEST_CASE_FIXTURE(watched, "more functions from outside than the capacity are refused, posted or spawned") {
  for (const runtime_shape shape : {runtime_shape::separate, runtime_shape::merged}) {
    const auto where = made(when_full::refuse, shape);
    std::atomic<int> ran = 0;
    {
      held_worker held(*where);
      CHECK(post(*where, [&] { ++ran; }));
      auto second = spawn(*where, [&] { ++ran; });
      CHECK(where->queue()->pending() == 2);
      CHECK(post(*where, [&] { ++ran; }) == fail(errc::full));
      CHECK(code_of(spawn(*where, [&] { ++ran; })) == errc::full);
      held.release();
      second.get();
    }
    CHECK(where->workers().wait_idle());
    CHECK(ran == 2);
    CHECK(post(*where, [] {}));
  }
}

TEST_CASE_FIXTURE(watched, "what workers post, tasks and offloaded functions do not count") {
  const auto where = made(when_full::refuse);
  std::atomic<int> ran = 0;
  {
    held_worker held(*where);
    for (int i = 0; i < 2; ++i) REQUIRE(post(*where, [] {}));
    auto offloaded = spawn(*where, [&]() -> task<void> {
      auto count = [&ran] { ++ran; };
      co_await offload(where->workers(), count);
    });
    held.release();
    offloaded.get();
  }
  CHECK(where->workers().wait_idle());
  spawn(*where, [&] {
    for (int i = 0; i < 5; ++i) CHECK(post(*where, [&ran] { ++ran; }));
  }).get();
  CHECK(where->workers().wait_idle());
  CHECK(ran == 6);
}

TEST_CASE_FIXTURE(watched, "a post waits for room, which the workers make") {
  const auto where = made(when_full::wait);
  std::atomic<int> ran = 0;
  held_worker held(*where);
  std::thread poster([&] {
    for (int i = 0; i < 10; ++i) CHECK(post(*where, [&ran] { ++ran; }));
  });
  held.release();
  poster.join();
  CHECK(where->workers().wait_idle());
  CHECK(ran == 10);
}

TEST_CASE("free functions obey the bound of the oldest runtime while it lives, and workers do not") {
  const auto end = braid::testing::run_in_child([] {
    {
      const auto own = made(when_full::refuse);
      std::atomic<int> ran = 0;
      held_worker held(*own);
      for (int i = 0; i < 2; ++i)
        if (!post([&] { ++ran; })) ::_exit(1);
      if (post([&] { ++ran; }) != fail(errc::full)) ::_exit(2);
      if (code_of(spawn([&] { ++ran; })) != errc::full) ::_exit(3);
      pool others({.workers = 1});
      if (!spawn(others, [] { return post([] {}).has_value(); }).get()) ::_exit(9);  // on its own pool
      held.release();
      if (!own->workers().wait_idle()) ::_exit(6);  // the functions before this have left the queue
      bool accepted = true;
      spawn(*own, [&] {
        for (int i = 0; i < 5; ++i) accepted = accepted && post([&ran] { ++ran; }).has_value();
      }).get();
      if (!own->workers().wait_idle() || !accepted || ran != 7) ::_exit(4);
    }
    auto later = runtime::create({.workers = 1}).value();
    held_worker held(*later);
    for (int i = 0; i < 5; ++i)
      if (!post([] {})) ::_exit(5);
    held.release();
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}

TEST_CASE("the runtime of the process has the bound of its options, and a runtime without one has no queue") {
  const auto end = braid::testing::run_in_child([] {
    if (!initialize({.workers = 1, .queue_capacity = 1, .on_full = when_full::refuse})) ::_exit(1);
    std::atomic<int> ran = 0;
    {
      held_worker held(default_runtime());
      if (!post([&] { ++ran; })) ::_exit(2);
      if (post([&] { ++ran; }) != fail(errc::full)) ::_exit(3);
      if (code_of(spawn([&] { ++ran; })) != errc::full) ::_exit(4);
      if (default_runtime().queue()->pending() != 1) ::_exit(8);
      const auto other = runtime::create({.workers = 1}).value();
      if (other->queue() != nullptr || !post(*other, [] {})) ::_exit(5);
    }
    if (!finalize(shutdown_mode::drain) || ran != 1) ::_exit(6);
    if (post([] {}) != fail(errc::closed)) ::_exit(7);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}
