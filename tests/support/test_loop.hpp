// tests/support/test_loop.hpp: an event loop on the test's own thread, whose turns and whose clock the test makes.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>

#include <tests/support/eventually.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace braid::testing {

class test_loop {
 public:
  explicit test_loop(loop::options options = {}) : io_(make(std::move(options), clock_)) { io_->run_once(); }
  test_loop(const test_loop&) = delete;
  auto operator=(const test_loop&) -> test_loop& = delete;
  ~test_loop() { stop(); }

  [[nodiscard]] auto io() noexcept -> loop& { return *io_; }
  [[nodiscard]] auto now() const noexcept -> time_point { return clock_.now(); }

  /// Turns until what is ready has run, and what that made ready.
  void run_once(int times = 8) {
    while (times-- > 0) io_->run_once();
  }

  void advance(duration by) {
    clock_.advance(by);
    run_once();
  }

  /// Turns until `holds()` does, for what other threads or descriptors bring about.
  template <typename Fn>
  [[nodiscard]] auto run_until(Fn&& holds) -> bool {
    return eventually([&] {
      io_->run_once();
      return holds();
    });
  }

  /// Runs `work` to its end, without moving the clock.
  template <typename T>
  auto run(task<T> work) -> outcome<T> {
    return run_through(std::move(work), duration::zero());
  }

  /// As `run`, with the clock moved on by `step` before each turn.
  template <typename T>
  auto run_through(task<T> work, duration step) -> outcome<T> {
    outcome<T> ended;
    bool over = false;
    auto watched = [&](task<T> watching) -> task<void> {
      ended = co_await as_outcome(std::move(watching));
      over = true;
    };
    io_->spawn(watched(std::move(work)));
    const auto turned = [&] {
      if (!over) clock_.advance(step);
      return over;
    };
    if (!run_until(turned)) give_up("the task does not end");
    return ended;
  }

  void stop() {
    io_->stop();
    if (!eventually([&] { return !io_->run_once(); })) give_up("the loop does not stop");
  }

 private:
  static auto make(loop::options options, const manual_clock& clock) -> std::unique_ptr<loop> {
    options.clock = &clock;
    return loop::create(std::move(options)).value();
  }

  [[noreturn]] static void give_up(const char* sentence) {
    std::fprintf(stderr, "test_loop: %s\n", sentence);
    std::abort();
  }

  manual_clock clock_;
  std::unique_ptr<loop> io_;
};

}  // namespace braid::testing
