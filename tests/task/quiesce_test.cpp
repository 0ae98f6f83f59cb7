// tests/task/quiesce_test.cpp: quiesce waits for code of the program that a thread of the library is in, and for
// nothing else.
#include <braid/task/quiesce.hpp>

#include <braid/task/executors.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/job_slab.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <chrono>
#include <functional>
#include <latch>
#include <thread>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

using braid::errc;
using braid::pool;
using braid::quiesce;
using braid::quiesce_for;
using braid::relaxed;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

/// A job that says that it has begun and then stays until it is released.
class held_job {
 public:
  void operator()() {
    begun_.count_down();
    released_.wait();
  }
  void await() { begun_.wait(); }
  void release() { released_.count_down(); }

 private:
  std::latch begun_{1};
  std::latch released_{1};
};

/// While `start` has the job run on another thread, quiesce gives up; afterwards it does not.
void waits_for(const std::function<void(std::function<void()>)>& start) {
  held_job job;
  start([&job] { job(); });
  job.await();
  CHECK(quiesce_for(1ms).error() == errc::deadline_exceeded);
  job.release();
  CHECK(quiesce());
}

/// Runs `fn` in a fork of this process, which has threads, and returns what that returned.
auto in_forked_child(int (*fn)()) -> int {
  const ::pid_t child = ::fork();
  if (child == 0) ::_exit(fn());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE_FIXTURE(watched, "quiesce returns at once if no thread is in code of the program") {
  CHECK(quiesce_for(0ms));
  pool idle({.workers = 2});
  braid::blocking_pool threads;
  spawn(idle, [] {}).get();
  spawn(threads, [] {}).get();
  CHECK(quiesce());
}

TEST_CASE_FIXTURE(watched, "quiesce waits for jobs of pools of every kind") {
  pool stealing({.workers = 2});
  pool shared({.workers = 1, .scheduler = braid::scheduler::shared_queue});
  pool awake({.workers = 1, .stay_awake = 1h});
  braid::blocking_pool blocking_threads;
  const auto posts_to = [](auto& where) {
    return [&where](std::function<void()> job) { REQUIRE(post(where, std::move(job))); };
  };
  waits_for(posts_to(stealing));
  waits_for(posts_to(shared));
  waits_for(posts_to(awake));
  waits_for(posts_to(blocking_threads));
}

TEST_CASE_FIXTURE(watched, "quiesce waits for jobs that a thread of the program runs for a pool") {
  braid::inline_executor inline_jobs;
  braid::manual_executor current;
  std::thread caller;
  waits_for([&](std::function<void()> job) {
    caller = std::thread([&inline_jobs, job] { static_cast<void>(post(inline_jobs, job)); });
  });
  caller.join();
  waits_for([&](std::function<void()> job) {
    REQUIRE(post(current, job));
    caller = std::thread([&current] { static_cast<void>(current.wait_idle()); });
  });
  caller.join();
  waits_for([&](std::function<void()> job) {
    REQUIRE(post(current, job));
    caller = std::thread([&current] { static_cast<void>(current.poll()); });
  });
  caller.join();
}

TEST_CASE_FIXTURE(watched, "quiesce waits for functions of timers and jobs of slabs") {
  braid::timer_thread timers;
  braid::inline_executor inline_jobs;
  waits_for([&](std::function<void()> job) {
    static_cast<void>(braid::spawn_after(inline_jobs, timers, 0ms, std::move(job)));
  });
  braid::job_slab slab({.threads = 1});
  REQUIRE(slab.start());
  waits_for(
      [&](std::function<void()> job) { static_cast<void>(slab.schedule(slab.allocate(std::move(job)).value())); });
  slab.stop(braid::job_slab::stop_mode::drain);
  CHECK(slab.join());
}

TEST_CASE_FIXTURE(watched, "a job that waits, and runs others meanwhile, is waited for until its own end") {
  pool workers({.workers = 1, .max_spare_threads = 0});
  held_job inner;
  std::latch inner_ended(1);
  std::latch outer_may_end(1);
  REQUIRE(post(workers, [&] {
    spawn(workers, [&inner] { inner(); }).get();  // runs it on top of this job
    inner_ended.count_down();
    outer_may_end.wait();
  }));
  inner.await();
  inner.release();
  inner_ended.wait();
  CHECK(quiesce_for(1ms).error() == errc::deadline_exceeded);
  outer_may_end.count_down();
  CHECK(quiesce());
}

TEST_CASE_FIXTURE(watched, "a job that blocks is waited for although another thread has its worker's place") {
  pool workers({.workers = 1, .max_spare_threads = 1});
  pool others({.workers = 1});
  held_job inner;
  REQUIRE(post(workers, [&] { spawn(others, [&inner] { inner(); }).get(); }));
  inner.await();
  spawn(workers, [] {}).get();  // by the spare thread
  CHECK(quiesce_for(1ms).error() == errc::deadline_exceeded);
  inner.release();
  CHECK(quiesce());
}

TEST_CASE_FIXTURE(watched, "a worker that never runs out of jobs is not waited for until it does") {
  pool workers({.workers = 1});
  braid::atomic<bool> ends{false};
  std::function<void()> again = [&] {
    if (!ends.load(relaxed)) static_cast<void>(post(workers, again));
  };
  REQUIRE(post(workers, again));
  CHECK(quiesce());
  ends.store(true, relaxed);
  CHECK(workers.wait_idle());
}

TEST_CASE_FIXTURE(watched, "code of the library's threads cannot wait for itself") {
  pool workers({.workers = 1});
  braid::blocking_pool threads;
  braid::timer_thread timers;
  const auto refused = [] { return quiesce().error() == errc::would_deadlock; };
  CHECK(spawn(workers, refused).get());
  CHECK(spawn(threads, refused).get());
  braid::inline_executor inline_jobs;
  CHECK(spawn(inline_jobs, refused).get());
  CHECK(braid::spawn_after(inline_jobs, timers, 0ms, refused).get());
  CHECK(quiesce());
}

TEST_CASE_FIXTURE(watched, "threads that have ended, and pools that have stopped, are not waited for") {
  {
    pool workers({.workers = 3});
    spawn(workers, [] {}).get();
    CHECK(workers.shutdown(braid::shutdown_mode::drain));
    CHECK(quiesce());
  }
  CHECK(quiesce_for(0ms));
}

TEST_CASE_FIXTURE(watched,
                  "in the child of a fork no thread of the parent is waited for, not even the job that forked") {
  pool workers({.workers = 2});
  held_job job;
  REQUIRE(post(workers, [&job] { job(); }));
  job.await();
  const auto is_quiet = [] { return quiesce_for(0ms) ? 7 : 8; };
  CHECK(in_forked_child(is_quiet) == 7);
  CHECK(spawn(workers, [is_quiet] { return in_forked_child(is_quiet); }).get() == 7);
  CHECK(quiesce_for(1ms).error() == errc::deadline_exceeded);  // in the parent nothing has changed
  job.release();
  CHECK(quiesce());
}
