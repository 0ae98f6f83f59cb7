// tests/runtime/default_runtime_life_test.cpp: the runtime of a process begins and ends once, and again in a fork.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/thread/registry.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using braid::errc;
using braid::shutdown_mode;
using braid::testing::failure_code;
using braid::testing::run_in_child;
using namespace std::chrono_literals;

namespace {

/// Runs `fn` in a process of its own, whose end it does not outlive by much; what it says is false ends it with 1.
template <typename Fn>
auto passes(Fn fn) -> bool {
  const auto end = run_in_child([&] {
    const braid::testing::watchdog dog(60s);
    fn();
  });
  if (end.signal != 0 || end.status != 0)
    MESSAGE("signal " << end.signal << ", status " << end.status << "\n" << end.errors);
  return end.signal == 0 && end.status == 0;
}

void must(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "line %d is wrong\n", line);
  ::_exit(1);
}

template <typename Fn>
auto thrown_code(Fn fn) -> std::error_code {
  try {
    fn();
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

}  // namespace

TEST_CASE("a hook of a worker that starts cannot wait for the runtime that is being made, and gets an error") {
  CHECK(passes([] {
    std::error_code needed;
    std::error_code made;
    std::error_code ended;
    std::error_code spawned;
    braid::runtime::options options{.workers = 1};
    options.on_worker_start = [&](std::size_t) {
      needed = thrown_code([] { static_cast<void>(braid::default_runtime()); });
      made = braid::initialize().error();
      ended = braid::finalize().error();
      const auto work = []() -> braid::task<void> { co_return; };
      spawned = thrown_code([&] { braid::spawn(work()).detach(); });
      must(braid::post([] {}).has_value());  // to the pool of this worker
    };
    must(braid::initialize(std::move(options)).has_value());
    for (const std::error_code& each : {needed, made, ended, spawned}) must(each == errc::would_deadlock);
    must(braid::spawn([] { return 2; }).get() == 2);
    must(braid::initialize().error() == errc::already_set);
    must(braid::finalize().has_value());
  }));
}

TEST_CASE("without initialize the first work makes the runtime") {
  CHECK(passes([] {
    must(!braid::thread_info::find("braid-0"));
    must(braid::spawn([](int n) { return n + 1; }, 1).get() == 2);
    must(braid::thread_info::find("braid-0").has_value());
    std::latch ran(1);
    must(braid::post([&ran] { ran.count_down(); }).has_value());
    ran.wait();
    must(braid::initialize().error() == errc::already_set);
    must(braid::finalize().has_value());
  }));
}

TEST_CASE("initialize says what the runtime is to be, once") {
  CHECK(passes([] {
    must(braid::initialize({.workers = 3, .name = "mine", .scheduler = braid::scheduler::shared_queue}).has_value());
    must(braid::default_runtime().workers().size() == 3);
    must(braid::thread_info::find("mine-2").has_value());
    must(braid::initialize().error() == errc::already_set);
    must(braid::finalize().has_value());
    must(!braid::thread_info::find("mine-2"));
  }));
}

TEST_CASE("after finalize everything is refused, and nothing is made anew unless a program asks for it") {
  for (const bool made : {true, false})
    CHECK(passes([made] {
      if (made) must(braid::spawn([] { return 1; }).get() == 1);
      must(braid::finalize().has_value());
      must(braid::finalize(shutdown_mode::stop_now).has_value());
      must(braid::post([] {}).error() == errc::closed);
      must(failure_code(braid::spawn([] { return 1; })) == errc::closed);
      must(failure_code(braid::spawn([] {})) == errc::closed);
      must(!braid::thread_info::find("braid-0"));
      must(braid::initialize().has_value());
      must(braid::spawn([] { return 2; }).get() == 2);
    }));
}

TEST_CASE("a program begins anew after finalize, as often as it likes") {
  CHECK(passes([] {
    for (int round = 0; round < 20; ++round) {
      const bool merged = round % 2 != 0;
      must(braid::initialize({.workers = 1 + unsigned(round) % 3,
                              .name = "round" + std::to_string(round),
                              .shape = merged ? braid::runtime_shape::merged : braid::runtime_shape::separate})
               .has_value());
      must(braid::initialize().error() == errc::already_set);
      must(braid::thread_info::find("round" + std::to_string(round) + "-0").has_value());
      must(braid::default_runtime().workers().size() == 1 + unsigned(round) % 3);
      int sum = 0;
      for (int i = 0; i < 10; ++i) sum += braid::spawn([i] { return i; }).get();
      must(sum == 45);
      auto late = braid::spawn([] { return 1; });
      must(braid::finalize().has_value());
      must(braid::finalize().has_value());
      must(braid::post([] {}).error() == errc::closed);
      must(!braid::thread_info::find("round" + std::to_string(round) + "-0"));
      must(failure_code(late.then([](const int&) {})) == errc::closed);
    }
  }));
}

TEST_CASE("futures of a runtime whose place was taken go on nowhere, and leave the new one alone") {
  CHECK(passes([] {
    must(braid::initialize({.workers = 1}).has_value());
    auto old = braid::spawn([] { return 1; });
    must(braid::finalize().has_value());
    must(braid::initialize({.workers = 1}).has_value());
    must(failure_code(old.then([](const int&) {})) == errc::closed);
    must(old.get() == 1);
    must(braid::spawn([] { return 2; }).then([](int n) { return n + 1; }).get() == 3);
  }));
}

TEST_CASE("threads that post while programs end and begin anew are taken or refused") {
  CHECK(passes([] {
    must(braid::initialize({.workers = 1}).has_value());
    braid::atomic<bool> over{false};
    braid::atomic<int> ran{0};
    braid::atomic<int> taken{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        while (!over.load(braid::relaxed))
          if (braid::post([&ran] { ran.fetch_add(1, braid::relaxed); })) taken.fetch_add(1, braid::relaxed);
      });
    for (int round = 0; round < 50; ++round) {
      must(braid::finalize().has_value());
      must(braid::initialize({.workers = 1}).has_value());
    }
    over.store(true, braid::relaxed);
    threads.clear();
    must(braid::finalize().has_value());
    must(ran.load(braid::relaxed) == taken.load(braid::relaxed));
  }));
}

TEST_CASE("finalize drains; finalize with stop_now drops, and asks what runs to end") {
  CHECK(passes([] {
    must(braid::initialize({.workers = 1}).has_value());
    int ran = 0;
    for (int i = 0; i < 100; ++i) must(braid::post([&ran] { ++ran; }).has_value());
    must(braid::finalize(shutdown_mode::drain).has_value());
    must(ran == 100);
  }));
  CHECK(passes([] {
    must(braid::initialize({.workers = 1}).has_value());
    std::latch begun(1);
    auto running = braid::spawn([&begun](std::stop_token stop) {
      begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      return 1;
    });
    begun.wait();
    auto pending = braid::spawn([] { return 2; });
    must(braid::finalize(shutdown_mode::stop_now).has_value());
    must(running.get() == 1);
    must(failure_code(pending) == errc::dropped);
  }));
}

TEST_CASE("finalize_for gives up when its time is over, and the end of the process waits for what still runs") {
  CHECK(passes([] {
    must(braid::initialize({.workers = 1}).has_value());
    must(braid::finalize_for(std::chrono::minutes(1)).has_value());
    must(braid::initialize({.workers = 1}).has_value());
    static std::latch begun(1);
    auto running = braid::spawn([](std::stop_token stop) {
      begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    begun.wait();
    auto pending = braid::spawn([] { return 2; });
    must(braid::finalize_for(std::chrono::seconds(0)).error() == errc::deadline_exceeded);
    must(failure_code(pending) == errc::dropped);
    must(braid::initialize().error() == errc::already_set);
    must(braid::finalize().has_value());
    must(running.is_ready());
    must(braid::initialize().has_value());
  }));
}

TEST_CASE("work that names no place goes to the pool of the worker that calls") {
  CHECK(passes([] {
    braid::pool mine({.workers = 1, .name = "nearest"});
    auto inner = braid::spawn(mine, [&mine] { return braid::spawn([&mine] { return mine.is_current(); }); });
    must(inner.get());
    must(!braid::thread_info::find("braid-0"));
  }));
}

TEST_CASE("a job of the runtime that finalizes it is told so, and the runtime stays usable") {
  CHECK(passes([] {
    must(braid::spawn([] { return braid::finalize().error() == errc::would_deadlock; }).get());
    auto& blocking = braid::default_runtime().blocking();
    must(braid::spawn(blocking, [] { return braid::finalize().error() == errc::would_deadlock; }).get());
    must(braid::spawn([] { return 1; }).get() == 1);
    must(braid::finalize().has_value());
  }));
}

TEST_CASE("a job may end the process") {
  const auto end = run_in_child([] {
    ::alarm(30);
    static_cast<void>(braid::post([] { std::exit(5); }));
    std::latch(1).wait();
  });
  CAPTURE(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.status == 5);
}

TEST_CASE("several threads may make it, use it and end it at once") {
  for (int round = 0; round < 20; ++round)
    CHECK(passes([] {
      std::vector<std::thread> threads;
      braid::atomic<int> ran{0};
      braid::atomic<int> taken{0};
      for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
          for (int n = 0; n < 50; ++n)
            if (braid::post([&ran] { ran.fetch_add(1, braid::relaxed); })) taken.fetch_add(1, braid::relaxed);
          if (i % 2 == 0) must(braid::finalize().has_value());
        });
      for (std::thread& thread : threads) thread.join();
      must(ran.load(braid::relaxed) == taken.load(braid::relaxed));
    }));
}

TEST_CASE("a child of a fork starts anew, whatever the parent's threads were doing") {
  if (braid::testing::under_thread_sanitizer) return;  // it refuses threads in such a child
  CHECK(passes([] {
    must(braid::initialize({.workers = 2, .name = "parent"}).has_value());
    std::latch opened(1);
    auto busy = braid::spawn([&opened] { opened.wait(); });
    for (int round = 0; round < 8; ++round) {
      auto in_parent = braid::spawn([round] { return round; });
      const ::pid_t child = ::fork();
      if (child == 0) {
        ::alarm(30);
        must(braid::spawn([] { return 5; }).get() == 5);
        must(!braid::thread_info::find("parent-0"));
        must(braid::default_runtime().workers().size() == braid::pool().size());
        must(braid::finalize().has_value());
        must(braid::post([] {}).error() == errc::closed);
        // What only threads of the parent knew would be taken for leaks.
        if (braid::testing::under_address_sanitizer) ::_exit(0);
        std::exit(0);  // with the ends of the static objects
      }
      int status = -1;
      must(::waitpid(child, &status, 0) == child);
      must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      must(in_parent.get() == round);
    }
    opened.count_down();
    busy.get();
    must(braid::finalize().has_value());
  }));
}

TEST_CASE("a child of a fork waits for nothing that a thread of the parent had begun") {
  if (braid::testing::under_thread_sanitizer) return;
  // Where a thread of the parent begins or ends at a fork, the child may wait for a lock of this sanitizer's own that
  // the thread held: a program that only starts, joins and forks does so after some hundred forks (LLVM 22, in
  // FlushToDeadThreadStats), and never without the sanitizer.
  if (braid::testing::under_address_sanitizer) return;
  const auto use_everything = [] {
    const braid::registration known(braid::default_registry(), {.tag = "here", .name = "here"});
    must(braid::spawn([] { return 5; }).get() == 5);
    const auto late = []() -> braid::task<int> {
      co_await braid::sleep_for(1us);
      co_return 6;
    };
    must(braid::spawn(braid::default_runtime().workers(), late()).get() == 6);
  };
  for (int round = 0; round < 20; ++round)  // all of it is used for the first time while the others fork
    CHECK(passes([&use_everything, round] {
      if (round % 2 == 0) must(braid::initialize({.workers = 2}).has_value());
      braid::atomic<bool> is_over{false};
      std::vector<std::jthread> threads;
      for (int i = 0; i < 2; ++i)
        threads.emplace_back([&] {
          do use_everything();
          while (!is_over.load(braid::relaxed));
        });
      for (int fork = 0; fork < 5; ++fork) {
        const ::pid_t child = ::fork();
        if (child == 0) {
          ::alarm(30);
          use_everything();
          ::_exit(0);
        }
        int status = -1;
        must(::waitpid(child, &status, 0) == child);
        must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      }
      is_over.store(true, braid::relaxed);
      threads.clear();
      must(braid::finalize().has_value());
    }));
}

TEST_CASE("a job may fork, too") {
  if (braid::testing::under_thread_sanitizer) return;
  CHECK(passes([] {
    auto ended = braid::spawn([] {
      const ::pid_t child = ::fork();
      if (child == 0) {
        ::alarm(30);
        must(braid::detail::current_worker() == nullptr);
        must(braid::spawn([] { return 5; }).get() == 5);
        ::_exit(0);
      }
      int status = -1;
      must(::waitpid(child, &status, 0) == child);
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    });
    must(ended.get() == 0);
    must(braid::finalize().has_value());
  }));
}
