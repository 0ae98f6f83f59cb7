// tests/io/doctest_fixture_test.cpp: the fixture of docs/testing.md, for tests of tasks with doctest.
#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using braid::task;

namespace {

// clang-format off: a page shows these lines
// [fixture]
/// A loop on the thread of the test, whose clock stands still until the test
/// advances it.
struct loop_fixture {
  loop_fixture() { io->run_once(); }  // from now on this thread is the loop's
  loop_fixture(const loop_fixture&) = delete;
  auto operator=(const loop_fixture&) -> loop_fixture& = delete;
  ~loop_fixture() {
    io->stop();
    while (io->run_once()) {}
  }

  /// Starts a task, and runs it up to its first wait for time.
  void start(task<void> work) {
    io->spawn(std::move(work));
    advance(0s);
  }

  /// Advances the clock, and runs what is due by then.
  void advance(braid::duration by) {
    clock.advance(by);
    for (int iteration = 0; iteration < 8; ++iteration) io->run_once();
  }

  braid::manual_clock clock;
  std::unique_ptr<braid::loop> io =
      braid::or_throw(braid::loop::create({.clock = &clock}));
};
// [/fixture]
// clang-format on

// clang-format off: a page shows these lines
// [case]
auto remind(std::vector<std::string>& sent) -> task<void> {
  co_await braid::sleep_for(1h);
  sent.push_back("soon");
  co_await braid::sleep_for(24h);
  sent.push_back("now");
}

TEST_CASE_FIXTURE(
    loop_fixture,
    "a reminder is sent an hour later, and once more after a day") {
  std::vector<std::string> sent;
  start(remind(sent));
  advance(59min);
  CHECK(sent.empty());
  advance(2min);
  CHECK(sent == std::vector<std::string>{"soon"});
  advance(25h);
  CHECK(sent == std::vector<std::string>{"soon", "now"});
}
// [/case]
// clang-format on

}  // namespace
