// tests/io/signal_set_test.cpp: signals as events.
#include <braid/io/process.hpp>

#include <braid/coro/with_scope.hpp>

#include <tests/support/child.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::test_loop;

namespace {

auto collect(signal_set& from, std::vector<int>& into) -> task<void> {
  for (;;) into.push_back((co_await from.next()).value());
}

}  // namespace

TEST_CASE("a signal wakes who waits for it, whichever thread it comes to") {
  test_loop here;
  signal_set signals = signal_set::create(here.io(), {SIGUSR1, SIGUSR2}).value();
  std::vector<int> seen;
  here.io().spawn(collect(signals, seen));
  here.run_once();
  CHECK(seen.empty());
  std::raise(SIGUSR1);
  CHECK(here.run_until([&] { return seen.size() == 1; }));
  std::thread([] { std::raise(SIGUSR2); }).join();
  CHECK(here.run_until([&] { return seen.size() == 2; }));
  ::kill(::getpid(), SIGUSR1);
  CHECK(here.run_until([&] { return seen.size() == 3; }));
  CHECK(seen == std::vector<int>{SIGUSR1, SIGUSR2, SIGUSR1});
  here.stop();
}

TEST_CASE("a signal that came before the wait is not lost, and a stop takes none") {
  test_loop here;
  signal_set signals = signal_set::create(here.io(), {SIGUSR1}).value();
  std::vector<int> seen;
  auto body = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, collect(signals, seen));
    CHECK(late.error() == errc::deadline_exceeded);
    std::raise(SIGUSR1);
    const auto next = co_await signals.next();
    CHECK(next.value() == SIGUSR1);
  };
  CHECK(here.run_through(body(), 100us).has_value());
  CHECK(seen.empty());
}

TEST_CASE("a signal that comes more often than a pipe has room for hides no other") {
  test_loop here;
  signal_set signals = signal_set::create(here.io(), {SIGUSR1, SIGUSR2}).value();
  constexpr int room_of_a_pipe = 65'536;
  for (int i = 0; i <= room_of_a_pipe; ++i) std::raise(SIGUSR1);
  std::raise(SIGUSR2);
  std::vector<int> seen;
  here.io().spawn(collect(signals, seen));
  CHECK(here.run_until([&] { return std::ranges::count(seen, SIGUSR2) == 1; }));
  CHECK(std::ranges::count(seen, SIGUSR1) >= 1);
  here.stop();
}

TEST_CASE("a signal that comes again each time that it is taken leaves the others their turns") {
  test_loop here;
  for (const auto& [flood, other] : {std::pair{SIGUSR1, SIGUSR2}, std::pair{SIGUSR2, SIGUSR1}}) {
    signal_set signals = signal_set::create(here.io(), {SIGUSR1, SIGUSR2}).value();
    int seen = 0;
    auto body = [&]() -> task<void> {
      std::raise(other);
      for (int i = 0; i < 4; ++i) {
        std::raise(flood);
        const result<int> next = co_await signals.next();
        if (next == other) ++seen;
      }
    };
    CHECK(here.run(body()).has_value());
    CHECK(seen == 1);
  }
}

TEST_CASE("every signal that can be caught is given by its number") {
  test_loop here;
  signal_set signals = signal_set::create(here.io(), {SIGHUP, SIGUSR1, SIGTERM, 64}).value();
  auto body = [&]() -> task<std::vector<int>> {
    std::vector<int> all;
    for (const int signal : {64, SIGTERM, SIGUSR1, SIGHUP}) std::raise(signal);
    for (int i = 0; i < 4; ++i) all.push_back((co_await signals.next()).value());
    std::raise(64);
    all.push_back((co_await signals.next()).value());
    co_return all;
  };
  CHECK(here.run(body()).take() == std::vector<int>{SIGHUP, SIGUSR1, SIGTERM, 64, 64});
}

TEST_CASE("several sets see the same signal, and the last one gives it back") {
  static std::atomic<int> own_handler{0};
  std::signal(SIGUSR1, [](int) { ++own_handler; });
  test_loop here;
  {
    signal_set one = signal_set::create(here.io(), {SIGUSR1}).value();
    std::vector<int> seen;
    {
      signal_set two = signal_set::create(here.io(), {SIGUSR1, SIGUSR1}).value();
      std::vector<int> by_two;
      here.io().spawn(collect(one, seen));
      here.io().spawn(collect(two, by_two));
      std::raise(SIGUSR1);
      CHECK(here.run_until([&] { return seen.size() == 1 && by_two.size() == 1; }));
      here.io().root().request_stop();
      here.run_once();
    }
    std::raise(SIGUSR1);
    CHECK(own_handler == 0);
  }
  std::raise(SIGUSR1);
  CHECK(own_handler == 1);
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("what is no signal, or cannot be caught, is refused, and so is one set too many") {
  test_loop here;
  CHECK(signal_set::create(here.io(), {}).error() == errc::invalid_argument);
  CHECK(signal_set::create(here.io(), {0}).error() == errc::invalid_argument);
  CHECK(signal_set::create(here.io(), {65}).error() == errc::invalid_argument);
  CHECK(signal_set::create(here.io(), {SIGUSR1, SIGKILL}).error() == std::errc::invalid_argument);
  std::vector<signal_set> all;
  for (std::size_t i = 0; i < signal_set::max_sets; ++i)
    all.push_back(signal_set::create(here.io(), {SIGUSR1}).value());
  CHECK(signal_set::create(here.io(), {SIGUSR1}).error() == errc::full);
  const testing::child_end end = testing::run_in_child([&] {
    all.clear();
    std::raise(SIGUSR1);  // as it was before the sets: it ends the process
  });
  CHECK(end.signal == SIGUSR1);
}

TEST_CASE("sets that come and go while signals arrive lose nothing but what nobody has") {
  test_loop here;
  std::signal(SIGUSR1, SIG_IGN);
  std::atomic<bool> over{false};
  // With pauses: a thread that never stops raising leaves the thread that runs the handlers no time for anything else.
  std::thread raises([&] {
    while (!over) {
      ::kill(::getpid(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  for (int i = 0; i < 50; ++i) {
    signal_set signals = signal_set::create(here.io(), {SIGUSR1}).value();
    auto body = [&]() -> task<int> { co_return (co_await signals.next()).value(); };
    CHECK(here.run(body()).take() == SIGUSR1);
  }
  over = true;
  raises.join();
  std::signal(SIGUSR1, SIG_DFL);
}

TEST_CASE("a set that is assigned gives its signals back, and has those of the other") {
  test_loop here;
  struct sigaction usual{};
  REQUIRE(::sigaction(SIGUSR1, nullptr, &usual) == 0);
  const auto is_usual = [&] {
    struct sigaction now{};
    return ::sigaction(SIGUSR1, nullptr, &now) == 0 && now.sa_handler == usual.sa_handler;
  };
  signal_set signals = signal_set::create(here.io(), {SIGUSR1}).value();
  CHECK_FALSE(is_usual());
  std::raise(SIGUSR1);
  signals = signal_set::create(here.io(), {SIGUSR2}).value();
  CHECK(is_usual());
  std::raise(SIGUSR2);
  CHECK(here.run(signals.next()).take().value() == SIGUSR2);
  signal_set& same = signals;
  signals = std::move(same);
  std::raise(SIGUSR2);
  CHECK(here.run(signals.next()).take().value() == SIGUSR2);
  for (std::size_t i = 0; i < 2 * signal_set::max_sets; ++i)
    signals = signal_set::create(here.io(), {SIGUSR1}).value();  // no place is lost
  // A task whose value is one.
  auto made = [&]() -> task<signal_set> { co_return signal_set::create(here.io(), {SIGUSR2}).value(); };
  signals = here.run(made()).take();
  std::raise(SIGUSR2);
  CHECK(here.run(signals.next()).take().value() == SIGUSR2);
  CHECK(is_usual());
}
