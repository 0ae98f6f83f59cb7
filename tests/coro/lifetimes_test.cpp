// tests/coro/lifetimes_test.cpp: what tasks wait for, and where they live, goes after them or not at all.
#include <braid/coro/broadcast.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/detail/fiber_frame.hpp>
#include <braid/coro/fiber.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

using namespace braid;
using testing::child_end;
using testing::run_in_child;
using testing::scripted_home;

namespace {

enum class first : std::uint8_t { nothing, stop };

/// Destroys what `make()` gives after a task has begun to wait as `wait(it)` says, and after the task was stopped where
/// that is to come first.
template <typename Make, typename Wait>
auto end_of(first before, Make make, Wait wait) -> child_end {
  return run_in_child([&] {
    scripted_home where;
    auto thing = make();
    where.root().spawn(wait(*thing));
    where.run_all();
    if (where.root().tasks() != 1) ::_exit(1);
    if (before == first::stop) {
      where.root().request_stop();
      where.run_all();
    }
    thing.reset();
  });
}

template <typename Make, typename Wait>
void must_outlive(const std::string& name, Make make, Wait wait) {
  CAPTURE(name);
  const child_end early = end_of(first::nothing, make, wait);
  CHECK(early.signal == SIGABRT);
  CHECK(early.errors.find("tasks still wait for this object: join or stop them before it is destroyed") !=
        std::string::npos);
  const child_end late = end_of(first::stop, make, wait);
  CHECK(late.signal == 0);
  CHECK(late.status == 0);
}

auto ends_with(const child_end& end, const char* sentence) -> bool {
  return end.signal == SIGABRT && end.errors.find(sentence) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "what is destroyed while a task waits for it ends the program with a sentence, and not once that is stopped") {
  must_outlive(
      "channel, by a receiver", [] { return std::make_unique<channel<int>>(1); },
      [](auto& of) -> task<void> { static_cast<void>(co_await of.receive()); });
  must_outlive(
      "channel, by a sender", [] { return std::make_unique<channel<int>>(0); },
      [](auto& of) -> task<void> { static_cast<void>(co_await of.send(1)); });
  must_outlive(
      "semaphore", [] { return std::make_unique<async_semaphore>(0); },
      [](auto& of) -> task<void> { const auto permit = co_await of.acquire(); });
  must_outlive(
      "mutex", [] { return std::make_unique<async_mutex>(); },
      [](auto& of) -> task<void> {
        const auto held = of.try_lock();
        const auto again = co_await of.lock();
      });
  must_outlive(
      "latch", [] { return std::make_unique<async_latch>(1); }, [](auto& of) -> task<void> { co_await of.wait(); });
  must_outlive(
      "barrier", [] { return std::make_unique<async_barrier>(2); },
      [](auto& of) -> task<void> { co_await of.arrive_and_wait(); });
  must_outlive(
      "event of several homes", [] { return std::make_unique<async_event>(); },
      [](auto& of) -> task<void> { co_await of; });
  must_outlive(
      "event of one home", [] { return std::make_unique<event>(); }, [](auto& of) -> task<void> { co_await of; });
  must_outlive(
      "watch", [] { return std::make_unique<braid::watch<int>>(1); },
      [](auto& of) -> task<void> {
        auto observer = of.observe();
        static_cast<void>(co_await observer.changed());
      });
  must_outlive(
      "broadcast", [] { return std::make_unique<broadcast<int>>(1); },
      [](auto& of) -> task<void> {
        auto receiver = of.subscribe();
        static_cast<void>(co_await receiver.receive());
      });
  using both_ends = std::pair<oneshot_sender<int>, oneshot_receiver<int>>;
  must_outlive(
      "oneshot", [] { return std::make_unique<both_ends>(make_oneshot<int>()); },
      [](auto& of) -> task<void> { static_cast<void>(co_await of.second.receive()); });
}

TEST_CASE("a home on a pool that a task of its own destroys ends the program") {
  const child_end end = run_in_child([] {
    pool workers({.workers = 1});
    auto where = std::make_unique<serial_executor>(workers);
    auto body = [&]() -> task<void> {
      where.reset();
      co_return;
    };
    sync_wait(*where, body());
  });
  CHECK(ends_with(end, "a serial executor must not be destroyed by its own jobs or tasks"));
}

TEST_CASE("the frame of a fiber that goes while the function waits ends the program") {
  if (!has_fibers()) return;
  const child_end end = run_in_child([] {
    testing::test_loop here;
    auto frame = std::make_unique<detail::fiber_frame>(
        here.io(), std::size_t{65'536}, [](void*) { fiber_await(sleep_for(1h)); }, nullptr);
    auto body = [&]() -> task<void> { co_await detail::fiber_awaiter(*frame); };
    here.io().spawn(body());
    here.run_once();
    frame.reset();
  });
  CHECK(ends_with(end, "a fiber must have ended before it is destroyed"));
}
