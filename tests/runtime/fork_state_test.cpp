// tests/runtime/fork_state_test.cpp: what the process keeps of its threads, in the child of a fork made anywhere.
#include <braid/runtime/default_runtime.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/dump.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/io/process.hpp>
#include <braid/net/trace_context.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/thread/registry.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/child_checks.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace braid;
using namespace std::chrono_literals;
using testing::must;
using testing::status_of_fork;

namespace {

/// What the child of a fork can do that was made anywhere.
void use_everything_anew() {
  must(detail::current_worker() == nullptr);
  must(!detail::waits_for_io());
  must(loop::current() == nullptr);
  std::atomic<bool> posted = false;
  must(post([&posted] { posted = true; }).has_value());
  while (!posted) std::this_thread::yield();
  must(spawn([] { return 5; }).get() == 5);
  const auto sleeps = []() -> task<int> {
    co_await sleep_for(1us);
    co_return 6;
  };
  must(spawn(sleeps()).get() == 6);
  std::atomic<int> sum = 0;
  parallel_for(0, 100, [&sum](int i) { sum += i; });
  must(sum == 4950);
  pool own({.workers = 2, .name = "own"});
  must(spawn(own, [] { return 7; }).get() == 7);
  std::atomic<bool> fired = false;
  auto timer = or_throw(post_after(own, 1us, [&fired] { fired = true; }));
  while (!fired) std::this_thread::yield();
  auto io = or_throw(loop::create());
  auto in_loop = spawn(*io, sleeps());
  while (!in_loop.is_ready()) must(io->run_once());
  io->stop();
  while (io->run_once()) {}
  for (const task_dump::home& each : dump(10s).homes) must(each.how != task_dump::home::answer::late);
  must(finalize().has_value());
}

auto child_works() -> bool { return status_of_fork(&use_everything_anew) == 0; }

/// Runs `fn` in a process of its own, so that it finds none of the state of other cases.
template <typename Fn>
auto passes(Fn fn) -> bool {
  const auto end = testing::run_in_child([&] {
    const testing::watchdog dog(120s);
    fn();
  });
  if (end.signal != 0 || end.status != 0)
    MESSAGE("signal " << end.signal << ", status " << end.status << "\n" << end.errors);
  return end.signal == 0 && end.status == 0;
}

void in_job_of(pool::options options) {
  pool workers(std::move(options));
  must(spawn(workers, &child_works).get());
}

template <typename Executor>
void in_job_without_threads() {
  Executor where;
  must(spawn(where, &child_works).get());
}

void in_loop() {
  auto io = or_throw(loop::create());
  bool works = false;
  auto forks = [](bool& out) -> task<void> {
    out = child_works();
    co_return;
  };
  io->spawn(forks(works));
  io->run([&io] { io->stop(); });
  must(works);
}

void in_serial_executor() {
  pool workers({.workers = 1});
  serial_executor home(workers);
  auto forks = []() -> task<bool> { co_return child_works(); };
  must(spawn(home, forks()).get());
}

void in_timer() {
  pool workers({.workers = 1});
  std::atomic<int> works = -1;
  auto timer = or_throw(post_after(workers, 1us, [&works] { works = child_works() ? 1 : 0; }));
  while (works < 0) std::this_thread::yield();
  must(works == 1);
}

void in_blocking_pool() {
  blocking_pool blocking({.max_threads = 1});
  must(spawn(blocking, [&blocking] {
         return blocking.is_current() && status_of_fork([&blocking] {
                                           must(!blocking.is_current());
                                           use_everything_anew();
                                         }) == 0;
       }).get());
}

void in_hook_of_registry() {
  std::atomic<int> works = -1;
  const thread_registry registry;
  const registry_observer observer(registry, {.registered = [&works](const thread_entry&) { works = child_works(); }});
  const registration known(registry, {.tag = "here", .name = "here"});
  must(works == 1);
}

void in_callback_of_errors() {
  std::atomic<int> works = -1;
  pool workers({.workers = 1, .on_error = [&works](const std::exception_ptr&, const error_callback::origin&) {
                  works = child_works();
                }});
  must(post(workers, [] { throw 1; }).has_value());
  while (works < 0) std::this_thread::yield();
  must(works == 1);
}

struct place {
  const char* name;
  std::function<void()> fork_there;
};

auto places() -> std::vector<place> {
  return {
      {"on the first thread", [] { must(child_works()); }},
      {"a job by work stealing", [] { in_job_of({.workers = 2}); }},
      {"a job by one queue", [] { in_job_of({.workers = 2, .scheduler = scheduler::shared_queue}); }},
      {"a job of the least loaded", [] { in_job_of({.workers = 2, .scheduler = scheduler::least_loaded}); }},
      {"a job of a manual executor", &in_job_without_threads<manual_executor>},
      {"a job that runs where it is posted", &in_job_without_threads<inline_executor>},
      {"a task of a loop", &in_loop},
      {"a task of a serial executor", &in_serial_executor},
      {"a timer", &in_timer},
      {"a blocking job", &in_blocking_pool},
      {"a hook of a registry", &in_hook_of_registry},
      {"an error callback", &in_callback_of_errors},
  };
}

struct mode {
  const char* name;
  std::function<void()> begin;
};

}  // namespace

TEST_CASE("the child of a fork works wherever it was made, with a runtime in the parent and without") {
  if (testing::under_thread_sanitizer) return;  // it refuses threads in such a child
  std::unique_ptr<runtime> own;
  const std::array modes{
      mode{"without a runtime", [] {}},
      mode{"with that of the process", [] { must(initialize({.workers = 1}).has_value()); }},
      mode{"with a merged one", [] { must(initialize({.workers = 1, .shape = runtime_shape::merged}).has_value()); }},
      mode{"with one of its own", [&own] { own = or_throw(runtime::create({.workers = 1})); }},
  };
  for (const mode& with : modes)
    for (const place& where : places()) {
      CAPTURE(with.name);
      CAPTURE(where.name);
      CHECK(passes([&] {
        with.begin();
        where.fork_there();
        own.reset();
      }));
    }
}

TEST_CASE("the child of a fork ends by a signal of its parent's set, and the handler writes to no file of its own") {
  CHECK(passes([] {
    ::signal(SIGTERM, SIG_DFL);  // in place of the handler of the test framework
    auto io = or_throw(loop::create());
    auto body = [](loop& on) -> task<void> {
      const auto set = or_throw(signal_set::create(on, {SIGTERM}));
      std::array<int, 2> pipe{};
      must(::pipe(pipe.data()) == 0);
      const int status = status_of_fork([&pipe] {
        for (int number = 3; number < 100; ++number)
          if (number != pipe[1]) ::dup2(pipe[1], number);
        ::raise(SIGTERM);
      });
      must(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
      ::close(pipe[1]);
      char byte = 0;
      must(::read(pipe[0], &byte, 1) == 0);
      ::close(pipe[0]);
      on.stop();
      co_return;
    };
    io->spawn(body(*io));
    io->run();
  }));
}

TEST_CASE("a set of the child has its signals, and neither the end of its parent's sets nor the parent changes that") {
  CHECK(passes([] {
    auto io = or_throw(loop::create());
    auto body = [](loop& on) -> task<void> {
      auto set = std::make_unique<signal_set>(or_throw(signal_set::create(on, {SIGUSR1, SIGUSR2})));
      const int status = status_of_fork([&set] {
        auto own = or_throw(loop::create());
        bool taken = false;
        auto takes = [](loop& home, signal_set& parents, bool& out) -> task<void> {
          auto mine = or_throw(signal_set::create(home, {SIGUSR1}));
          signal_set gone(std::move(parents));
          { const signal_set ends(std::move(gone)); }
          ::raise(SIGUSR1);
          out = or_throw(co_await mine.next()) == SIGUSR1;
          home.stop();
        };
        own->spawn(takes(*own, *set, taken));
        own->run();
        must(taken);
      });
      must(status == 0);
      ::raise(SIGUSR2);
      must(or_throw(co_await set->next()) == SIGUSR2);
      set.reset();
      on.stop();
    };
    io->spawn(body(*io));
    io->run();
  }));
}

TEST_CASE("a registry of the child has none of the threads of its parent") {
  CHECK(passes([] {
    const registration known(default_registry(), {.tag = "parent", .name = "parent"});
    auto leaves = std::make_unique<registration>(default_registry(), thread_label{.tag = "two", .name = "two"});
    must(default_registry().size() == 2);
    const int status = status_of_fork([&leaves] {
      must(default_registry().size() == 0);
      must(default_registry().entries().empty());
      const registration own(default_registry(), {.tag = "child", .name = "child"});
      leaves.reset();
      must(default_registry().size() == 1);
      must(default_registry().entries().front().tid == ::getpid());
    });
    must(status == 0);
    must(default_registry().size() == 2);
  }));
}

TEST_CASE("the child of a fork numbers its traces otherwise than its parent") {
  CHECK(passes([] {
    must(!trace_context::begin().traceparent().empty());
    std::array<int, 2> pipe{};
    must(::pipe(pipe.data()) == 0);
    const int status = status_of_fork([&pipe] {
      const std::string own = trace_context::begin().traceparent();
      must(::write(pipe[1], own.data(), own.size()) == static_cast<::ssize_t>(own.size()));
    });
    must(status == 0);
    std::string of_child(trace_context::begin().traceparent().size(), ' ');
    must(::read(pipe[0], of_child.data(), of_child.size()) == static_cast<::ssize_t>(of_child.size()));
    must(of_child != trace_context::begin().traceparent());
    must(of_child.starts_with("00-"));
  }));
}
