// tests/task/error_callback_test.cpp: what jobs and hooks throw reaches the callback, with where, and hurts nobody.
#include <braid/task/executor.hpp>

#include <braid/task/executors.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using braid::error_callback;
using braid::inline_executor;
using braid::pool;
using braid::post;
using braid::scheduler;
using braid::testing::failure;
using braid::testing::text_of;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

/// What a callback heard.
struct heard {
  std::string text;
  error_callback::origin from;
};

/// A callback that writes down what it hears; from one worker at a time.
auto noted_in(std::vector<heard>& notes) -> error_callback {
  return [&notes](std::exception_ptr error, const error_callback::origin& from) {
    notes.push_back({text_of(error), from});
  };
}

/// Might throw when it is destroyed.
struct bad_end {
  bad_end() = default;
  bad_end(const bad_end&) = default;
  auto operator=(const bad_end&) -> bad_end& = delete;
  ~bad_end() noexcept(false) {}
};

}  // namespace

TEST_CASE("a callback may ask where, or not, or be none") {
  int plain = 0;
  std::uint64_t job = 0;
  const error_callback without = [&plain](const std::exception_ptr&) { ++plain; };
  const error_callback with = [&job](const std::exception_ptr&, const error_callback::origin& from) { job = from.job; };
  without(failure("any"), {});
  with(failure("any"), {.worker = 1, .job = 7});
  CHECK(plain == 1);
  CHECK(job == 7);
  CHECK(static_cast<bool>(with));
  CHECK_FALSE(static_cast<bool>(error_callback()));
  CHECK_FALSE(static_cast<bool>(error_callback(std::function<void(std::exception_ptr)>())));
}

TEST_CASE_FIXTURE(watched, "the callback learns which worker it was, and which of its jobs") {
  for (const auto chosen : {scheduler::work_stealing, scheduler::shared_queue}) {
    std::vector<heard> notes;
    pool where({.workers = 1, .scheduler = chosen, .on_error = noted_in(notes)});
    for (int i = 0; i < 4; ++i)
      REQUIRE(post(where, [i] {
        if (i % 2 == 1) throw std::runtime_error("job " + std::to_string(i));
      }));
    REQUIRE(where.wait_idle());
    REQUIRE(notes.size() == 2);
    CHECK(notes[0].text == "job 1");
    CHECK(notes[0].from.worker == 0);
    CHECK(notes[0].from.job == 2);
    CHECK(notes[1].from.job == 4);
  }
}

TEST_CASE("where no worker runs the job there is none to name") {
  std::vector<heard> notes;
  inline_executor where(noted_in(notes));
  REQUIRE(post(where, [] { throw std::runtime_error("inline"); }));
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].from.worker == error_callback::origin::no_worker);
}

TEST_CASE_FIXTURE(watched, "a job that throws after it has helped with others keeps its number") {
  std::vector<heard> notes;
  pool where({.workers = 1, .on_error = noted_in(notes)});
  REQUIRE(post(where, [&where] {
    braid::spawn(where, [] {}).wait();
    throw std::runtime_error("late");
  }));
  REQUIRE(where.wait_idle());
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].from.job == 1);
}

TEST_CASE("captures whose end may throw are refused by the compiler, because nobody could be told in every case") {
  const auto plain = [text = std::string()] {};
  const auto throwing = [end = bad_end()] {};
  CHECK(braid::detail::job_function<decltype(plain)>);
  CHECK_FALSE(braid::detail::job_function<decltype(throwing)>);
  CHECK_FALSE(braid::detail::spawnable<decltype(throwing)>);
}

TEST_CASE_FIXTURE(
    watched, "each worker calls the hooks on its own thread, with its name, before its first and after its last job") {
  for (const auto chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    std::mutex mutex;
    std::set<std::string> started;
    std::set<std::string> stopped;
    const auto entry = [](std::size_t index) {
      return std::to_string(index) + braid::this_thread::name() +
             (braid::detail::current_worker() != nullptr ? "!" : "?");
    };
    const auto note = [&](std::set<std::string>& in) {
      return [&](std::size_t index) {
        const std::lock_guard lock(mutex);
        in.insert(entry(index));
      };
    };
    {
      pool where({.workers = 2,
                  .name = "hooked",
                  .scheduler = chosen,
                  .on_worker_start = note(started),
                  .on_worker_stop = note(stopped)});
      CHECK(started == std::set<std::string>{"0hooked-0!", "1hooked-1!"});
      REQUIRE(post(where, [&] {
        const std::lock_guard lock(mutex);
        const std::string self = entry(braid::detail::current_worker()->index);
        CHECK(started.contains(self));
        CHECK_FALSE(stopped.contains(self));  // the other one may have stopped
      }));
    }
    CHECK(stopped == started);
  }
}

TEST_CASE_FIXTURE(watched, "hooks that throw are heard of and change nothing") {
  std::mutex mutex;
  std::vector<heard> notes;
  bool ran = false;
  {
    pool where({.workers = 2,
                .on_error =
                    [&](std::exception_ptr error, const error_callback::origin& from) {
                      const std::lock_guard lock(mutex);
                      notes.push_back({text_of(error), from});
                    },
                .on_worker_start = [](std::size_t) { throw std::runtime_error("start"); },
                .on_worker_stop = [](std::size_t) { throw std::runtime_error("stop"); }});
    CHECK(notes.size() == 2);
    REQUIRE(post(where, [&ran] { ran = true; }));
  }
  CHECK(ran);
  REQUIRE(notes.size() == 4);
  std::set<std::size_t> workers;
  for (const heard& each : notes) {
    CHECK(each.from.job == 0);
    workers.insert(each.from.worker);
  }
  CHECK(workers == std::set<std::size_t>{0, 1});
  CHECK(notes.front().from.what == std::string_view("a hook of a pool"));
}

TEST_CASE("the message on stderr names what threw") {
  const auto end = braid::testing::run_in_child([] {
    braid::blocking_pool threads;
    static_cast<void>(post(threads, [] { throw std::runtime_error("no disk"); }));
  });
  CHECK(end.errors == "braid: a job of a blocking pool threw: no disk\n");
}

TEST_CASE("hooks and a callback that all throw leave the workers alive, and say so on stderr") {
  const auto end = braid::testing::run_in_child([] {
    pool where({.workers = 1,
                .on_error = [](const std::exception_ptr&) { throw std::logic_error("worse"); },
                .on_worker_start = [](std::size_t) { throw std::runtime_error("bad start"); }});
    static_cast<void>(post(where, [] { std::fputs("alive\n", stderr); }));
  });
  CHECK(end.signal == 0);
  CHECK(end.errors ==
        "braid: a hook of a pool threw: bad start\n"
        "braid: the error callback of a pool threw: worse\n"
        "alive\n");
}
