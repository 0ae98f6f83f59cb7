// tests/task/sleepers_scenes.hpp: small pools whose workers fall asleep, wake, idle and stop, for the explorer.
#pragma once

#include <braid/task/detail/sleepers.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/task/small_pool.hpp>
#include <tests/task/twin_sleepers.hpp>

#include <array>
#include <cstddef>
#include <string>

namespace braid::testing {

using product = detail::sleepers;

/// Two jobs are posted from outside; the first waits for the second.
struct pair {
  layout where;
  std::size_t first_thread;  ///< the workers below run something for as long as the run takes
  std::size_t end_thread;
  std::array<std::size_t, 2> local_queues;
};

template <typename Sleepers>
void two_jobs(model::run& r, const pair& given) {
  small_pool<Sleepers> pool(r, given.where, given.end_thread);
  gate second;
  pool.on_run = [&](worker&, unsigned job) {
    if (job == 1) return second.open();
    second.pass();
    pool.stop();
  };
  for (std::size_t index = given.first_thread; index < given.end_thread; ++index)
    r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    for (unsigned job : {0U, 1U}) pool.post(job, given.local_queues[job]);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1), "both have run");
}

template <typename Sleepers>
void burst(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::shared, .first_thread = 0, .end_thread = 2, .local_queues = {0, 0}});
}
template <typename Sleepers>
void burst_at_one_worker(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::per_worker, .first_thread = 0, .end_thread = 2, .local_queues = {0, 0}});
}
template <typename Sleepers>
void two_beside_a_long_job(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::per_worker, .first_thread = 1, .end_thread = 3, .local_queues = {1, 0}});
}
template <typename Sleepers>
void two_behind_a_long_job(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::per_worker, .first_thread = 1, .end_thread = 3, .local_queues = {0, 0}});
}

/// A long job of worker 0 posts one that brings worker 1, and runs that itself. Before worker 1 has given up, it posts
/// one for worker 1 that waits for the one behind itself.
template <typename Sleepers>
void relied_on_in_vain(model::run& r) {
  small_pool<Sleepers> pool(r, layout::per_worker, 3);
  gate last;
  pool.on_run = [&](worker&, unsigned job) {
    if (job == 2) last.open();
    if (job != 1) return;
    last.pass();
    pool.stop();
  };
  for (std::size_t index : {1U, 2U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    pool.post(0, 0, placement::verdict::urgent);
    pool.help_as(0);
    pool.post(1, 1);
    pool.post(2, 0);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1) && pool.has_run(2), "all have run");
}

/// A long job of worker 0 posts three that are urgent. One worker may move two of them, and another take the third; the
/// first and the third wait for the second.
template <typename Sleepers>
void moved_past_a_thief(model::run& r) {
  small_pool<Sleepers> pool(r, layout::per_worker, 4);
  pool.long_backlog = 3;
  gate second;
  pool.on_run = [&](worker&, unsigned job) {
    if (job == 1) return second.open();
    second.pass();
    if (job == 2) pool.stop();
  };
  for (std::size_t index : {1U, 2U, 3U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    for (unsigned job : {0U, 1U, 2U}) pool.post(job, 0, placement::verdict::urgent);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1) && pool.has_run(2), "all have run");
}

/// The driver of worker 1 has something to do at some moment, which waits for a job at this seat. Worker 0 runs
/// something for as long as the run takes.
template <typename Sleepers>
void job_beside_own_work(model::run& r, std::size_t context) {
  small_pool<Sleepers> pool(r, layout::per_worker, 3, 1);
  gate job;
  pool.on_call = [&] { job.pass(); };
  pool.on_run = [&](worker&, unsigned) {
    job.open();
    pool.stop();
  };
  for (std::size_t index : {1U, 2U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] { pool.post(0, context); });
  r.join();
  r.check(pool.has_run(0), "it has run");
}

template <typename Sleepers>
void at_the_worker_of_own_work(model::run& r) {
  job_beside_own_work<Sleepers>(r, 1);
}
template <typename Sleepers>
void at_a_worker_that_own_work_watched(model::run& r) {
  job_beside_own_work<Sleepers>(r, 0);
}

/// Somebody posts a job, which posts another at the seat of the other worker, and waits until the pool is idle.
template <typename Sleepers, layout Where>
void idle_after(model::run& r) {
  small_pool<Sleepers> pool(r, Where, 2);
  pool.on_run = [&](worker&, unsigned job) {
    if (job == 0) pool.post(1, 1);
  };
  for (std::size_t index : {0U, 1U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    pool.post(0, 0);
    pool.wait_idle();
    r.check(pool.has_run(0) && pool.has_run(1), "idle means that all have run");
    pool.stop();
  });
  r.join();
}

template <typename Sleepers>
void idle_after_posts(model::run& r) {
  idle_after<Sleepers, layout::per_worker>(r);
}
template <typename Sleepers>
void idle_after_posts_to_one_queue(model::run& r) {
  idle_after<Sleepers, layout::shared>(r);
}

/// A job that runs from the start posts another at the seat of the other worker.
template <typename Sleepers>
void idle_beside_a_post(model::run& r) {
  small_pool<Sleepers> pool(r, layout::per_worker, 2);
  r.thread([&] {
    pool.post(1, 1);
    pool.work_as(0);
  });
  r.thread([&] { pool.work_as(1); });
  r.thread([&] {
    pool.wait_idle();
    r.check(pool.has_run(1), "idle means that all have run");
    pool.stop();
  });
  r.join();
}

/// The same, and that one posts two at the seat of the first worker.
template <typename Sleepers>
void idle_beside_a_chain(model::run& r) {
  small_pool<Sleepers> pool(r, layout::per_worker, 2);
  pool.on_run = [&](worker&, unsigned job) {
    if (job != 1) return;
    pool.post(2, 0);
    pool.post(3, 0);
  };
  r.thread([&] {
    pool.post(1, 1);
    pool.work_as(0);
  });
  r.thread([&] { pool.work_as(1); });
  r.thread([&] {
    pool.wait_idle();
    for (unsigned job : {1U, 2U, 3U}) r.check(pool.has_run(job), "idle means that all have run");
    pool.stop();
  });
  r.join();
}

/// Somebody stops the pool while somebody else posts.
template <typename Sleepers>
void stop_while_posting(model::run& r) {
  small_pool<Sleepers> pool(r, layout::shared, 1);
  bool accepted = false;
  r.thread([&] { pool.work_as(0); });
  r.thread([&] { accepted = pool.post(0, 0); });
  r.thread([&] { pool.stop(); });
  r.join();
  r.check(!accepted || pool.has_run(0), "what was accepted has run");
  pool.wait_idle();
}

/// The same with two workers that take from each other.
template <typename Sleepers>
void stop_while_posting_to_workers(model::run& r) {
  small_pool<Sleepers> pool(r, layout::per_worker, 2);
  std::array<bool, 2> accepted{};
  for (std::size_t index : {0U, 1U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    for (unsigned job : {0U, 1U}) accepted[job] = pool.post(job, 0);
  });
  r.thread([&] { pool.stop(); });
  r.join();
  for (unsigned job : {0U, 1U}) r.check(!accepted[job] || pool.has_run(job), "what was accepted has run");
  pool.wait_idle();
}

/// A thread that leaves, by whatever way, sees what was written before the stop.
template <typename Sleepers>
void leave_behind_a_stop(model::run& r) {
  small_pool<Sleepers> pool(r, layout::per_worker, 2);
  model::shared<int> written;
  for (std::size_t index : {0U, 1U}) {
    r.thread([&, index] {
      pool.work_as(index);
      r.check(written == 1, "a worker has left before the stop");
    });
  }
  r.thread([&] {
    written = 1;
    pool.stop();
  });
  r.join();
}

/// The same as with posts to seats where they leave without a look at each other's seat once somebody has found that
/// nothing is there.
template <quiescing How>
void stop_beside_thieves(model::run& r) {
  small_pool<product> pool(r, layout::per_worker, 2);
  pool.quiesces = How;
  for (unsigned job : {0U, 1U, 2U}) pool.post(job, 0);
  for (std::size_t index : {0U, 1U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] { pool.stop(); });
  r.join();
  for (unsigned job : {0U, 1U, 2U}) r.check(pool.has_run(job), "what was accepted has run");
  pool.wait_idle();
}

using scene = model::body;

/// Few schedules and all of them, and many by seeds.
inline void holds(scene body) {
  const model::report all = model::explore_all({.preemptions = 1, .surprises = 1}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 8'000, .preemptions = 6, .surprises = 4}, body).failure == "");
}

/// The same where all are too many: without a surprise.
inline void holds_in_order(scene body) {
  const model::report all = model::explore_all({.preemptions = 1, .surprises = 0}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, body).failure == "");
}

/// For what takes four changes of thread at the right places.
inline constexpr model::options rare{.seeds = 100'000, .preemptions = 8, .surprises = 1};

inline auto failure_of(scene body) -> std::string {
  return model::explore({.seeds = 40'000, .preemptions = 6, .surprises = 4}, body).failure;
}

template <fault Broken>
using twin = twin_sleepers<Broken>;

}  // namespace braid::testing
