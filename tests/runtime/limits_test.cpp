// tests/runtime/limits_test.cpp: where the system has no descriptor, no thread or little stack to give, a runtime is
// made whole or refused with an error, and leaves nothing open.
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/runtime/runtime.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/scarce_system.hpp>

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <utility>

#include <unistd.h>

using namespace braid;
using testing::child_end;
using testing::run_in_child;

namespace {

constexpr int was_made = 0;
constexpr int was_refused = 10;
constexpr int was_wrong = 11;

/// Sleeps on a loop, computes on a worker, and where there is a thread for it, on one that may block.
auto use_all(runtime& all) -> task<int> {
  co_await sleep_for(1us);
  auto forty = [] { return 40; };
  auto computing = offload(all.workers(), forty);
  int sum = co_await computing;
  auto two = [] { return 2; };
  auto blocking = offload(all.blocking(), two);
  try {
    sum += co_await blocking;
  } catch (const std::system_error& refused) {
    if (refused.code() != errc::closed) throw;  // of a blocking pool that gets no thread
    sum += 2;
  }
  co_return sum;
}

/// Makes a runtime, uses it and ends it. Gives why it was not made.
auto made_and_used(runtime_shape shape) -> std::error_code {
  const auto made = runtime::create({.workers = 2, .shape = shape});
  if (!made) return made.error();
  if ((*made)->run(use_all(**made)) != 42) ::_exit(was_wrong);
  return {};
}

auto status_of(std::error_code refused, std::errc expected) -> int {
  if (!refused) return was_made;
  return refused == expected ? was_refused : was_wrong;
}

/// Runs `child(limit, whether one was made)` in children with more and more of what is scarce, until a runtime was made
/// so many times; the first are refused.
template <typename Child>
void raise_until_made(unsigned limit, int wanted, const Child& child) {
  int refusals = 0;
  for (int made = 0; made < wanted; ++limit) {
    CAPTURE(limit);
    REQUIRE(limit < 40);
    const child_end end = run_in_child([&] { child(limit, made > 0); });
    CAPTURE(end.errors);
    REQUIRE(end.signal == 0);
    REQUIRE((end.status == was_made || end.status == was_refused));
    refusals += end.status == was_refused ? 1 : 0;
    made = end.status == was_made ? made + 1 : 0;
  }
  CHECK(refusals > 0);
}

}  // namespace

TEST_CASE("with so many descriptors a runtime is made and used again and again, with fewer it is refused") {
  constexpr int often = 200;
  constexpr int few = 3;
  for (const runtime_shape shape : {runtime_shape::separate, runtime_shape::merged}) {
    CAPTURE(static_cast<int>(shape));
    raise_until_made(3, 2, [&](unsigned descriptors, bool was_made_before) {
      testing::close_descriptors_from(3);
      testing::limit_descriptors(descriptors);
      const std::error_code first = made_and_used(shape);
      for (int times = first || was_made_before ? few : often; times > 1; --times)
        if (made_and_used(shape) != first) ::_exit(was_wrong);
      if (testing::descriptors_below(descriptors) != 3) ::_exit(was_wrong);
      ::_exit(status_of(first, std::errc::too_many_files_open));
    });
  }
}

TEST_CASE("a runtime that gets some of its threads only is refused, and ends those that it got") {
  if (!testing::threads_can_be_limited()) return;
  for (const runtime_shape shape : {runtime_shape::separate, runtime_shape::merged}) {
    CAPTURE(static_cast<int>(shape));
    raise_until_made(0, 3, [&](unsigned threads, bool /*was_made_before*/) {
      testing::limit_threads(threads);
      ::_exit(status_of(made_and_used(shape), std::errc::resource_unavailable_try_again));
    });
  }
}

TEST_CASE("the runtime of the process that gets no thread is refused, and made later") {
  if (!testing::threads_can_be_limited()) return;
  const child_end end = run_in_child([] {
    testing::limit_threads(0);
    const auto refused = initialize({.workers = 2});
    if (refused || refused.error() != std::errc::resource_unavailable_try_again) ::_exit(was_wrong);
    try {
      static_cast<void>(post([] {}));
      ::_exit(was_wrong);
    } catch (const std::system_error& none) {
      if (none.code() != std::errc::resource_unavailable_try_again) ::_exit(was_wrong);
    }
    testing::limit_threads(100);
    if (!initialize({.workers = 2})) ::_exit(was_wrong);
    ::_exit(finalize(shutdown_mode::drain) ? was_made : was_wrong);
  });
  CAPTURE(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.status == was_made);
}

TEST_CASE("stacks of 64 KiB, or the smallest that are allowed, are enough for all threads of a runtime") {
  const auto smallest = static_cast<std::size_t>(std::max(::sysconf(_SC_THREAD_STACK_MIN), 0L));  // 128 KiB on arm64
  for (const runtime_shape shape : {runtime_shape::separate, runtime_shape::merged}) {
    CAPTURE(static_cast<int>(shape));
    const child_end end = run_in_child([&] {
      testing::limit_stacks(std::max<std::size_t>(smallest, std::size_t{64} * 1024));
      ::_exit(made_and_used(shape) ? was_wrong : was_made);
    });
    CAPTURE(end.errors);
    CHECK(end.signal == 0);
    CHECK(end.status == was_made);
  }
}
