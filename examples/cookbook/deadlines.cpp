// examples/cookbook/deadlines.cpp: time limits, retries, the first of several
// answers, and work that is given up.
#include <braid/coro.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/task.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>

using namespace std::chrono_literals;
using braid::result, braid::task;

/// Another machine: it answers after `time`.
auto ask(std::string what, std::chrono::nanoseconds time) -> task<std::string> {
  co_await braid::sleep_for(time);
  co_return "answer of " + what;
}

// [two_calls]
auto profile(std::chrono::nanoseconds second) -> task<std::string> {
  const std::string user = co_await ask("users", 1ms);
  const std::string posts = co_await ask("posts", second);
  co_return user + ", " + posts;
}

auto page(std::chrono::nanoseconds second, std::chrono::nanoseconds limit)
    -> task<std::string> {
  // For the two together.
  const auto both = co_await braid::with_timeout(limit, profile(second));
  co_return both ? *both : "sorry: " + both.error().message();
}
// [/two_calls]

// [fallback]
auto recommendations() -> task<std::string> {
  const auto personal = co_await braid::with_timeout(5ms, ask("model", 1h));
  co_return personal.value_or("what all like");
}
// [/fallback]

// [deadline]
// The deadline of the request.
auto checkout(braid::time_point deadline) -> task<result<std::string>> {
  const auto paid = co_await braid::with_deadline(deadline, ask("bank", 1ms));
  if (!paid) co_return braid::fail(paid.error());
  // Has what the bank has left.
  co_return co_await braid::with_deadline(deadline, ask("store", 1h));
}
// [/deadline]

// [retry]
/// Calls `make` up to `attempts` times, until it gives a result that is no
/// error.
auto with_retries(int attempts, auto make) -> decltype(make()) {
  std::minstd_rand random(std::random_device{}());
  for (auto pause = 1ms;; pause = std::min(2 * pause, 1000ms)) {
    auto answer = co_await make();
    if (answer || --attempts == 0) co_return answer;
    // Half of it random.
    std::uniform_int_distribution<long> jitter(pause.count() * 500,
                                               pause.count() * 1000);
    co_await braid::sleep_for(std::chrono::microseconds(jitter(random)));
  }
}
// [/retry]

auto retried() -> task<void> {
  int calls = 0;
  auto flaky = [&]() -> task<result<int>> {
    if (++calls < 3)
      co_return braid::fail(
          std::make_error_code(std::errc::connection_refused));
    co_return 42;
  };
  // [use_retry]
  const auto answer = co_await braid::with_timeout(30s, with_retries(5, flaky));
  // [/use_retry]
  std::printf("%d after %d calls\n", answer.value(), calls);
}

// [first]
auto fastest() -> task<std::string> {
  auto first = co_await braid::when_any(ask("Paris", 1h), ask("Oslo", 1ms),
                                        ask("Rome", 1h));
  // Paris and Rome have ended.
  co_return std::visit([](std::string text) { return text; },
                       std::move(first.value));
}
// [/first]

// [hedge]
auto later(std::chrono::nanoseconds pause, task<std::string> work)
    -> task<std::string> {
  co_await braid::sleep_for(pause);
  co_return co_await std::move(work);
}

auto hedged() -> task<std::string> {
  std::vector<task<std::string>> attempts;
  attempts.push_back(ask("Paris", 1h));
  // Sent only if Paris takes longer than 5 ms.
  attempts.push_back(later(5ms, ask("Oslo", 1ms)));
  co_return (co_await braid::when_any(std::move(attempts))).value;
}
// [/hedge]

// [stop]
auto stop_it() -> task<void> {
  auto running = braid::spawn(ask("Paris", 1h));
  running.request_stop();
  const auto ended = co_await as_outcome(std::move(running));
  std::printf("value %d, exception %d, stopped %d\n", ended.has_value(),
              ended.has_exception(), ended.is_stopped());
}
// [/stop]

// [all_or_nothing]
auto all_or_nothing() -> task<void> {
  auto failing = [] -> task<std::string> {
    throw std::runtime_error("no route");
    co_return "";
  };
  try {
    co_await braid::when_all(ask("Paris", 1h), failing());  // Paris is stopped
  } catch (const std::runtime_error& error) {
    std::printf("one failed: %s\n", error.what());
  }
}
// [/all_or_nothing]

// [errors]
auto advice_for(std::error_code error) -> std::string {
  if (error == braid::errc::broken_promise) return "nobody will answer";
  // Braid's deadline_exceeded, and the kernel's ETIMEDOUT.
  if (error == std::errc::timed_out) return "try again later";
  if (error == std::errc::connection_refused) return "nobody is there";
  return error.message();
}

auto give_advice() -> task<void> {
  // A result: no exception.
  const auto late = co_await braid::with_timeout(1ms, ask("Paris", 1h));
  if (!late) std::printf("%s\n", advice_for(late.error()).c_str());
  auto unkept = braid::promise<int>().get_future();  // its promise has gone
  try {
    co_await std::move(unkept);  // a future: what failed is thrown
  } catch (const std::system_error& error) {
    std::printf("%s\n", advice_for(error.code()).c_str());
  }
}
// [/errors]

auto program() -> task<void> {
  std::printf("%s\n%s\n", (co_await page(1ms, 30s)).c_str(),
              (co_await page(1h, 5ms)).c_str());
  std::printf("%s\n", (co_await recommendations()).c_str());
  const auto late = co_await checkout(std::chrono::steady_clock::now() + 50ms);
  std::printf("checkout: %s\n", late.error().message().c_str());
  co_await retried();
  std::printf("%s, %s\n", (co_await fastest()).c_str(),
              (co_await hedged()).c_str());
  co_await stop_it();
  co_await all_or_nothing();
  co_await give_advice();
}

int main() { braid::spawn(program()).get(); }
