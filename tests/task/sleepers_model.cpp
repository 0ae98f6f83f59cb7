// tests/task/sleepers_model.cpp: under no schedule does a job stay while workers sleep, or a pool seem idle too early.
#include <braid/task/detail/sleepers.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/task/small_pool.hpp>
#include <tests/task/twin_sleepers.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

using braid::placement;
using braid::testing::fault;
using braid::testing::gate;
using braid::testing::layout;
using braid::testing::settling;
using braid::testing::small_pool;
using braid::testing::twin_sleepers;
namespace model = braid::model;

namespace {

using product = braid::detail::sleepers;

/// Two jobs are posted from outside; the first waits for the second.
struct pair {
  layout where;
  std::size_t first_thread;  ///< the workers below run something for as long as the run takes
  std::size_t end_thread;
  std::array<std::size_t, 2> seats;
};

template <typename Sleepers>
void two_jobs(model::run& r, const pair& given) {
  small_pool<Sleepers> pool(r, given.where, given.end_thread);
  gate second;
  pool.on_run = [&](braid::worker&, unsigned job) {
    if (job == 1) return second.open();
    second.pass();
    pool.stop();
  };
  for (std::size_t index = given.first_thread; index < given.end_thread; ++index)
    r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    for (unsigned job : {0U, 1U}) pool.post(job, given.seats[job]);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1), "both have run");
}

template <typename Sleepers>
void burst(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::shared, .first_thread = 0, .end_thread = 2, .seats = {0, 0}});
}
template <typename Sleepers>
void burst_at_one_seat(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::seated, .first_thread = 0, .end_thread = 2, .seats = {0, 0}});
}
template <typename Sleepers>
void two_beside_a_long_job(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::seated, .first_thread = 1, .end_thread = 3, .seats = {1, 0}});
}
template <typename Sleepers>
void two_behind_a_long_job(model::run& r) {
  two_jobs<Sleepers>(r, {.where = layout::seated, .first_thread = 1, .end_thread = 3, .seats = {0, 0}});
}

/// A long job of worker 0 posts one that brings worker 1, and runs that itself. Before worker 1 has given up, it posts
/// one for worker 1 that waits for the one behind itself.
template <typename Sleepers>
void relied_on_in_vain(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 3);
  gate last;
  pool.on_run = [&](braid::worker&, unsigned job) {
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
  small_pool<Sleepers> pool(r, layout::seated, 4);
  pool.long_backlog = 3;
  gate second;
  pool.on_run = [&](braid::worker&, unsigned job) {
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
void job_beside_own_work(model::run& r, std::size_t seat) {
  small_pool<Sleepers> pool(r, layout::seated, 3, 1);
  gate job;
  pool.on_call = [&] { job.pass(); };
  pool.on_run = [&](braid::worker&, unsigned) {
    job.open();
    pool.stop();
  };
  for (std::size_t index : {1U, 2U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] { pool.post(0, seat); });
  r.join();
  r.check(pool.has_run(0), "it has run");
}

template <typename Sleepers>
void at_the_seat_of_own_work(model::run& r) {
  job_beside_own_work<Sleepers>(r, 1);
}
template <typename Sleepers>
void at_a_seat_that_own_work_watched(model::run& r) {
  job_beside_own_work<Sleepers>(r, 0);
}

/// Somebody posts a job, which posts another at the seat of the other worker, and waits until the pool is idle.
template <typename Sleepers, layout Where>
void idle_after(model::run& r) {
  small_pool<Sleepers> pool(r, Where, 2);
  pool.on_run = [&](braid::worker&, unsigned job) {
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
  idle_after<Sleepers, layout::seated>(r);
}
template <typename Sleepers>
void idle_after_posts_to_one_queue(model::run& r) {
  idle_after<Sleepers, layout::shared>(r);
}

/// A job that runs from the start posts another at the seat of the other worker.
template <typename Sleepers>
void idle_beside_a_post(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 2);
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
  small_pool<Sleepers> pool(r, layout::seated, 2);
  pool.on_run = [&](braid::worker&, unsigned job) {
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

/// The same with two workers who take from each other.
template <typename Sleepers>
void stop_while_posting_to_seats(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 2);
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

/// Who leaves, by whatever way, sees what was written before the stop.
template <typename Sleepers>
void leave_behind_a_stop(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 2);
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
template <settling How>
void stop_beside_thieves(model::run& r) {
  small_pool<product> pool(r, layout::seated, 2);
  pool.settles = How;
  for (unsigned job : {0U, 1U, 2U}) pool.post(job, 0);
  for (std::size_t index : {0U, 1U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] { pool.stop(); });
  r.join();
  for (unsigned job : {0U, 1U, 2U}) r.check(pool.has_run(job), "what was accepted has run");
  pool.wait_idle();
}

using scene = model::body;

/// Few schedules and all of them, and many by seeds.
void holds(scene body) {
  const model::report all = model::explore_all({.preemptions = 1, .surprises = 1}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 8'000, .preemptions = 6, .surprises = 4}, body).failure == "");
}

/// The same where all are too many: without a surprise.
void holds_in_order(scene body) {
  const model::report all = model::explore_all({.preemptions = 1, .surprises = 0}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 20'000, .preemptions = 6, .surprises = 4}, body).failure == "");
}

/// For what takes four changes of thread at the right places.
constexpr model::options rare{.seeds = 100'000, .preemptions = 8, .surprises = 1};

auto failure_of(scene body) -> std::string {
  return model::explore({.seeds = 40'000, .preemptions = 6, .surprises = 4}, body).failure;
}

template <fault Broken>
using twin = twin_sleepers<Broken>;

}  // namespace

TEST_CASE("who is posted behind a job that waits for it is brought to another worker") {
  holds(burst<product>);
  holds(burst_at_one_seat<product>);
}

TEST_CASE("no job stays behind a long one, or beside one that waits for it, while a worker sleeps") {
  holds(two_beside_a_long_job<product>);
  holds(two_behind_a_long_job<product>);
}

TEST_CASE("who was relied on and found nothing at first calls others before it runs what it finds later") {
  holds(relied_on_in_vain<product>);
}

TEST_CASE("jobs that a thief has moved are seen by who looked for them too early, or the thief sees that one sleeps") {
  holds_in_order(moved_past_a_thief<product>);
}

TEST_CASE("no job stays at a seat, or behind a long one, whose worker does what its driver has to do") {
  holds(at_the_seat_of_own_work<product>);
  holds(at_a_seat_that_own_work_watched<product>);
}

TEST_CASE("a pool is not idle before everything has run that was posted, also by what ran") {
  holds(idle_beside_a_post<product>);
  holds_in_order(idle_beside_a_chain<product>);
  CHECK(model::explore(rare, idle_beside_a_chain<product>).failure == "");
  holds(idle_after_posts<product>);
  holds(idle_after_posts_to_one_queue<product>);
}

TEST_CASE("what a pool accepted before it stopped has run, every worker leaves, and then it is idle") {
  holds(stop_while_posting<product>);
  holds_in_order(stop_while_posting_to_seats<product>);
  holds_in_order(stop_beside_thieves<settling::counted>);
  holds(leave_behind_a_stop<product>);
}

TEST_CASE("the twin without a fault is as good as the product") {
  constexpr auto none = fault::none;
  for (const scene each :
       {burst<twin<none>>, burst_at_one_seat<twin<none>>, two_beside_a_long_job<twin<none>>,
        two_behind_a_long_job<twin<none>>, relied_on_in_vain<twin<none>>, moved_past_a_thief<twin<none>>,
        idle_beside_a_post<twin<none>>, stop_while_posting<twin<none>>, stop_while_posting_to_seats<twin<none>>,
        at_the_seat_of_own_work<twin<none>>, at_a_seat_that_own_work_watched<twin<none>>})
    CHECK(model::explore({.seeds = 2'000, .preemptions = 6, .surprises = 4}, each).failure == "");
}

TEST_CASE("faults in how workers fall asleep are found") {
  CHECK(failure_of(burst<twin<fault::looks_before_announcing>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::announces_without_barrier>>).starts_with("deadlock"));
  CHECK(failure_of(burst_at_one_seat<twin<fault::watches_beside_awake_only>>).starts_with("deadlock"));
  CHECK(failure_of(two_beside_a_long_job<twin<fault::ends_watch_without_barrier>>).starts_with("deadlock"));
  CHECK(failure_of(at_the_seat_of_own_work<twin<fault::works_while_announced>>).starts_with("deadlock"));
  CHECK(failure_of(at_a_seat_that_own_work_watched<twin<fault::leaves_watch_silently>>).starts_with("deadlock"));
}

TEST_CASE("faults in how workers are woken are found") {
  CHECK(failure_of(burst_at_one_seat<twin<fault::wakes_without_picking>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::trusts_an_old_look>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::passes_nothing_on>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::passes_on_too_early>>).starts_with("deadlock"));
  CHECK(failure_of(relied_on_in_vain<twin<fault::looks_for_more_too_early>>).starts_with("deadlock"));
  CHECK(failure_of(relied_on_in_vain<twin<fault::forgets_that_it_was_relied_on>>).starts_with("deadlock"));
  CHECK(failure_of(moved_past_a_thief<twin<fault::moves_jobs_silently>>).starts_with("deadlock"));
  CHECK(failure_of(moved_past_a_thief<twin<fault::passes_on_without_barrier>>).starts_with("deadlock"));
}

TEST_CASE("faults in how a pool stops or seems idle are found") {
  CHECK(failure_of(stop_while_posting<twin<fault::stops_without_barrier>>).starts_with("deadlock"));
  CHECK(failure_of(stop_while_posting<twin<fault::leaves_after_one_look>>).starts_with("check failed"));
  CHECK(failure_of(stop_beside_thieves<settling::blindly>).starts_with("check failed"));
  CHECK(failure_of(stop_while_posting<twin<fault::leaves_the_count>>).starts_with("deadlock"));
  CHECK(model::explore(rare, idle_beside_a_chain<twin<fault::takes_two_looks_for_one>>).failure.starts_with("check"));
  CHECK(failure_of(idle_beside_a_post<twin<fault::trusts_a_passing_idleness>>).starts_with("check failed"));
}

TEST_CASE("every order and every barrier of the sleepers is needed") {
  const std::vector<scene> scenes{burst<product>,
                                  stop_while_posting<product>,
                                  two_beside_a_long_job<product>,
                                  idle_beside_a_post<product>,
                                  stop_while_posting_to_seats<product>,
                                  leave_behind_a_stop<product>,
                                  moved_past_a_thief<product>};
  const model::options bounds{.seeds = 10'000, .preemptions = 6, .surprises = 4};
  for (const char* file : {"task/detail/sleepers.hpp", "task/sleepers.cpp"})
    CHECK(model::orders_not_needed(file, bounds, scenes, model::by_seeds) == "");
}
