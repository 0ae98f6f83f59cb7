// tests/runtime/refused_calls_test.cpp: a sandbox refuses system calls that the library can do without.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/io/process.hpp>
#include <braid/io/sockets.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/thread/thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/child_checks.hpp>
#include <tests/support/refused_calls.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <vector>
#include <optional>
#include <string>

#include <sys/prctl.h>
#include <sys/syscall.h>

using namespace braid;
using namespace std::chrono_literals;
using testing::must;

namespace {

#if defined(SYS_epoll_wait)
const std::vector<long> epoll_waits{SYS_epoll_pwait2, SYS_epoll_pwait, SYS_epoll_wait};
const std::vector<long> polls{SYS_ppoll, SYS_poll};
#else
const std::vector<long> epoll_waits{SYS_epoll_pwait2, SYS_epoll_pwait};
const std::vector<long> polls{SYS_ppoll};
#endif
/// Under the thread sanitizer, each child of the test sleeps for a second at its end.
const std::vector<int> errors =
    testing::under_thread_sanitizer ? std::vector{EPERM} : std::vector{EPERM, ENOSYS, EACCES};
const std::vector<long> copies{SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_tee};
const std::vector<long> settings{SYS_sched_setaffinity, SYS_sched_getaffinity, SYS_sched_setattr, SYS_sched_getattr};

/// Bytes between two tasks, of which one sleeps before it writes.
auto talk(loop& on) -> task<void> {
  auto both = or_throw(stream_socket::pair(on));
  auto writes = [&]() -> task<void> {
    co_await sleep_for(1ms);
    or_throw(co_await both.first.write_all("x"));
  };
  auto reads = [&]() -> task<void> {
    std::array<std::byte, 1> one{};
    or_throw(co_await both.second.read_exactly(one));
  };
  auto all = when_all(writes(), reads());
  co_await std::move(all);
}

/// One that ends by itself, one that is killed, and one that goes with its object.
auto run_programs(loop& on) -> task<void> {
  const child_process::options quick{.program = "/bin/sh", .arguments = {"-c", "exit 3"}};
  const child_process::options endless{.program = "/bin/sh", .arguments = {"-c", "exec sleep 1000"}};
  auto ends = or_throw(child_process::start(on, quick));
  must(or_throw(co_await ends.wait()).code == 3);
  auto killed = or_throw(child_process::start(on, endless));
  must(killed.kill(SIGKILL).has_value());
  must(or_throw(co_await killed.wait()).signal == SIGKILL);
  must(killed.kill(SIGKILL).error() == std::errc::no_such_process);
  const auto dropped = or_throw(child_process::start(on, endless));
}

/// Only the thread of the loop takes the signal: the thread sanitizer delays handlers on threads that sleep.
auto take_signal(loop& on) -> task<void> {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGUSR1);
  must(::pthread_sigmask(SIG_UNBLOCK, &taken, nullptr) == 0);
  auto set = or_throw(signal_set::create(on, {SIGUSR1}));
  for (int round = 0; round < 2; ++round) {
    must(::kill(::getpid(), SIGUSR1) == 0);
    must(or_throw(co_await set.next()) == SIGUSR1);
  }
}

/// What is to work with whatever the system refuses.
void use_everything(runtime& on) {
  must(spawn(on.io(), talk(on.io())).valid());
  spawn(on.io(), talk(on.io())).get();
  spawn(on.io(), run_programs(on.io())).get();
  spawn(on.io(), take_signal(on.io())).get();
  must(spawn(on.workers(), [] { return 5; }).get() == 5);
  must(spawn(on.blocking(), [] { return 6; }).get() == 6);
  std::atomic<int> sum = 0;
  run_in(on.workers(), [&sum] { parallel_for(0, 100, [&sum](int i) { sum += i; }); });
  must(sum == 4950);
  std::atomic<bool> fired = false;
  auto timer = or_throw(post_after(on.workers(), 1ms, [&fired] { fired = true; }));
  while (!fired) std::this_thread::yield();
  or_throw(thread::create({}, [] {})).join().value();
}

void use_new_runtime() {
  const auto made = or_throw(runtime::create({.workers = 2}));
  use_everything(*made);
}

struct refusal_case {
  std::string name;
  std::vector<long> calls;
  std::optional<std::uint32_t> first = {};  // only calls whose first argument is this
  const char* backend = nullptr;            // BRAID_IO
  const char* ends_late = nullptr;  // what the process says when it ends because they are refused later; null: it works
};

const refusal_case refused_settings{.name = "sched_setaffinity and its kind", .calls = settings};
const std::vector<refusal_case> calls_of_all{
    refusal_case{.name = "io_uring_setup", .calls = {SYS_io_uring_setup}},
    refusal_case{.name = "io_uring_enter", .calls = {SYS_io_uring_enter}, .ends_late = "io_uring_enter(2) failed"},
    refusal_case{.name = "io_uring_register", .calls = {SYS_io_uring_register}},
    refusal_case{.name = "epoll_pwait2", .calls = {SYS_epoll_pwait2}, .backend = "epoll"},
    refusal_case{.name = "membarrier", .calls = {SYS_membarrier}, .ends_late = "membarrier(2) failed"},
    refusal_case{.name = "eventfd2", .calls = {SYS_eventfd2}},
    refusal_case{.name = "eventfd2, by epoll", .calls = {SYS_eventfd2}, .backend = "epoll"},
    refusal_case{.name = "eventfd2, by poll", .calls = {SYS_eventfd2}, .backend = "poll"},
    refusal_case{.name = "ppoll", .calls = {SYS_ppoll}, .backend = "poll"},
    refusal_case{.name = "pidfd_send_signal", .calls = {SYS_pidfd_send_signal}},
    refusal_case{.name = "waitid of a pidfd", .calls = {SYS_waitid}, .first = 3},
    refusal_case{.name = "prctl of names", .calls = {SYS_prctl}, .first = PR_SET_NAME},
    refusal_case{.name = "prctl of timers", .calls = {SYS_prctl}, .first = PR_SET_TIMERSLACK},
    // The sanitizers read the affinity themselves whenever a thread starts.
    testing::under_thread_sanitizer || testing::under_address_sanitizer ? refusal_case{.name = "nothing", .calls = {}}
                                                                        : refused_settings,
    refusal_case{.name = "copy_file_range and its kind", .calls = copies},
    refusal_case{.name = "memfd_create", .calls = {SYS_memfd_create}},
    refusal_case{.name = "statx", .calls = {SYS_statx}},
    refusal_case{.name = "getrandom", .calls = {SYS_getrandom}},
    refusal_case{.name = "tgkill", .calls = {SYS_tgkill}},
    refusal_case{.name = "flock", .calls = {SYS_flock}},
    refusal_case{.name = "getcpu", .calls = {SYS_getcpu}},
};

/// Blocks the signal of `take_signal` in this thread, and in those that it starts.
void block_signal() {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGUSR1);
  must(::pthread_sigmask(SIG_BLOCK, &taken, nullptr) == 0);
}

/// How a process ends that does `before`, is refused the calls, and does `after`.
template <typename Before, typename After>
auto end_of(const refusal_case& refused, int error, Before before, After after) -> testing::child_end {
  return testing::run_in_child([&] {
    block_signal();
    const testing::watchdog dog(60s);
    if (refused.backend != nullptr)
      ::setenv("BRAID_IO", refused.backend, 1);
    else
      ::unsetenv("BRAID_IO");
    try {
      auto with = before();
      must(testing::refuse_calls(refused.calls, error, refused.first));
      after(with);
    } catch (const std::exception& thrown) {
      std::fprintf(stderr, "thrown: %s\n", thrown.what());
      ::_exit(2);
    }
    ::_exit(0);
  });
}

}  // namespace

TEST_CASE("calls that are refused from the beginning have a substitute") {
  for (const refusal_case& refused : calls_of_all)
    for (const int error : errors) {
      const auto end = end_of(refused, error, [] { return 0; }, [](int) { use_new_runtime(); });
      CAPTURE(refused.name);
      CAPTURE(error);
      CAPTURE(end.errors);
      CHECK(end.signal == 0);
      CHECK(end.status == 0);
    }
}

TEST_CASE("calls that are refused while loops run have a substitute, or the program ends and names the call") {
  for (const refusal_case& refused : calls_of_all)
    for (const int error : errors) {
      const auto start = [] {
        auto made = or_throw(runtime::create({.workers = 2}));
        use_everything(*made);
        return made;
      };
      const auto end = end_of(refused, error, start, [](auto& running) {
        use_everything(*running);
        use_new_runtime();
      });
      CAPTURE(refused.name);
      CAPTURE(error);
      CAPTURE(end.errors);
      const bool works = end.signal == 0 && end.status == 0;
      const bool says_why = refused.ends_late != nullptr && end.signal == SIGABRT &&
                            end.errors.find(refused.ends_late) != std::string::npos;
      CHECK((works || says_why));
    }
}

TEST_CASE("a loop falls back from one backend to the next when the system refuses what the first needs later") {
  const auto name_of_backend = [] { return std::string(or_throw(loop::create())->backend().name()); };
  const std::vector<long> with_uring{SYS_io_uring_enter};
  for (const int error : errors) {
    const auto falls_to = [&](const refusal_case& refused, const char* name) {
      const auto end = end_of(
          refused, error, [] { return 0; },
          [&](int) {
            must(testing::refuse_calls({SYS_io_uring_setup}, error));
            must(name_of_backend() == name);
            use_new_runtime();
          });
      CAPTURE(refused.name);
      CAPTURE(end.errors);
      CHECK(end.signal == 0);
      CHECK(end.status == 0);
    };
    falls_to({.name = "enter", .calls = with_uring}, "epoll");
    falls_to({.name = "epoll_create1", .calls = {SYS_epoll_create1}}, "poll");
    falls_to({.name = "epoll_ctl", .calls = {SYS_epoll_ctl}}, "poll");
    falls_to({.name = "all waits of epoll", .calls = epoll_waits}, "poll");
    falls_to({.name = "epoll_pwait2", .calls = {SYS_epoll_pwait2}}, "epoll");
  }
}

TEST_CASE("a loop without any wait is refused when it is made, and ends with a sentence when it runs already") {
  const auto end_with = [](const refusal_case& refused, int error) {
    const auto start = [] {
      auto made = or_throw(runtime::create({.workers = 1}));
      spawn(made->io(), talk(made->io())).get();
      return made;
    };
    return end_of(refused, error, start, [](auto& running) { spawn(running->io(), talk(running->io())).get(); });
  };
  for (const int error : errors) {
    const refusal_case by_poll{.name = "polls", .calls = polls, .backend = "poll"};
    const refusal_case by_epoll{.name = "waits of epoll", .calls = epoll_waits, .backend = "epoll"};
    for (const refusal_case& refused : {by_poll, by_epoll}) {
      const auto at_start = end_of(
          refused, error, [] { return 0; },
          [&](int) { must(loop::create().error() == std::error_code(error, std::system_category())); });
      CAPTURE(refused.name);
      CAPTURE(at_start.errors);
      CHECK(at_start.status == 0);
      const auto later = end_with(refused, error);
      CAPTURE(later.errors);
      CHECK(later.signal == SIGABRT);
      CHECK(later.errors.find("a loop cannot wait any more: ") != std::string::npos);
    }
  }
}

TEST_CASE("a watch that epoll may not take is an error, and no file that is always ready") {
  for (const int error : errors) {
    const refusal_case refused{.name = "epoll_ctl", .calls = {SYS_epoll_ctl}, .backend = "epoll"};
    const auto start = [] { return or_throw(runtime::create({.workers = 1})); };
    const auto end = end_of(refused, error, start, [error](auto& running) {
      const auto look = [](loop& on, int expected) -> task<bool> {
        std::array<int, 2> ends{};
        must(::pipe(ends.data()) == 0);
        auto wait = readable(on, ends[0]);
        const auto ready = co_await std::move(wait);
        co_return !ready && ready.error() == std::error_code(expected, std::system_category());
      };
      must(spawn(running->io(), look(running->io(), error)).get());
    });
    CAPTURE(end.errors);
    CHECK(end.signal == 0);
    CHECK(end.status == 0);
  }
}
