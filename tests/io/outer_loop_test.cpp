// tests/io/outer_loop_test.cpp: a loop on the thread of another event loop, which sleeps for both.
#include <braid/io/loop.hpp>

#include <braid/base/clock.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/task/executor.hpp>

#include <tests/support/pipes.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <poll.h>

using namespace braid;

namespace {

/// A loop whose thread sleeps in ::poll, with a clock that the test turns.
class inner_loop {
 public:
  inner_loop() : io_(loop::create({.clock = &clock_, .backend = io_backend::kind::epoll}).value()) { settle(); }
  inner_loop(const inner_loop&) = delete;
  auto operator=(const inner_loop&) -> inner_loop& = delete;
  ~inner_loop() {
    io_->stop();
    while (io_->run_once()) {}
  }

  [[nodiscard]] auto io() noexcept -> loop& { return *io_; }
  void advance(duration by) { clock_.advance(by); }

  /// Turns until there is nothing to do, and returns how long the thread may sleep.
  auto settle() -> std::optional<duration> {
    for (;;) {
      io_->run_once();
      const auto limit = io_->prepare_sleep();
      if (limit != duration::zero()) return limit;
    }
  }

  /// Returns whether the other event loop would wake up within that time.
  [[nodiscard]] auto wakes(int milliseconds) const -> bool {
    ::pollfd one{.fd = io_->backend().descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, milliseconds) == 1;
  }

 private:
  manual_clock clock_;
  std::unique_ptr<loop> io_;
};

constexpr int long_enough = 60'000;

}  // namespace

TEST_CASE("a thread may sleep for as long as nothing happens, and until the next timer") {
  inner_loop inner;
  CHECK(!inner.settle());
  CHECK(!inner.wakes(0));
  bool slept = false;
  auto sleeps = [&]() -> task<void> {
    co_await sleep_for(10ms);
    slept = true;
  };
  inner.io().spawn(sleeps());
  const auto limit = inner.settle();
  REQUIRE(limit);
  CHECK(*limit > duration::zero());
  CHECK(*limit <= 11ms);
  CHECK(!inner.wakes(0));
  inner.advance(20ms);
  CHECK(inner.io().prepare_sleep() == duration::zero());
  inner.settle();
  CHECK(slept);
}

TEST_CASE("a post of another thread wakes it, and one of its own keeps it from sleeping") {
  inner_loop inner;
  inner.settle();
  int ran = 0;
  for (int round = 1; round < 4; ++round) {
    std::thread([&] { CHECK(post(inner.io(), [&] { ++ran; }).has_value()); }).join();
    CHECK(inner.wakes(long_enough));
    inner.settle();
    CHECK(ran == round);
    CHECK(!inner.wakes(0));
  }
  CHECK(post(inner.io(), [&] { ++ran; }).has_value());
  CHECK(inner.io().prepare_sleep() == duration::zero());
  inner.settle();
  CHECK(ran == 4);
  // A handler of the other event loop posts: nothing else would end the sleep.
  CHECK(post(inner.io(), [&] { ++ran; }).has_value());
  CHECK(inner.wakes(long_enough));
  inner.settle();
  CHECK(ran == 5);
  CHECK(!inner.wakes(0));
}

TEST_CASE("a descriptor that becomes ready wakes it") {
  inner_loop inner;
  const auto pipe = testing::ends::of_pipe();
  bool was_read = false;
  auto reads = [&]() -> task<void> {
    CHECK((co_await readable(inner.io(), pipe.first.number())).has_value());
    testing::read_byte(pipe.first);
    was_read = true;
  };
  inner.io().spawn(reads());
  inner.settle();
  CHECK(!inner.wakes(0));
  testing::write_byte(pipe.second);
  CHECK(inner.wakes(long_enough));
  inner.settle();
  CHECK(was_read);
  CHECK(!inner.wakes(0));
}

TEST_CASE("a stop of another thread wakes it") {
  inner_loop inner;
  inner.settle();
  std::thread([&] { inner.io().stop(); }).join();
  CHECK(inner.wakes(long_enough));
  while (inner.io().run_once()) {}
  CHECK(inner.io().status() == loop::state::stopped);
}
