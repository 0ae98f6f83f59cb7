// tests/task/sleepers_model.cpp: under no schedule does a job stay while workers sleep, or a pool seem idle too early.
#include <braid/task/detail/sleepers.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>
#include <tests/task/small_pool.hpp>
#include <tests/task/twin_sleepers.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

using braid::placement;
using braid::testing::fault;
using braid::testing::gate;
using braid::testing::layout;
using braid::testing::small_pool;
using braid::testing::twin_sleepers;
namespace model = braid::model;

namespace {

using product = braid::detail::sleepers;

/// A burst from outside: the first job waits for the second one.
template <typename Sleepers>
void burst(model::run& r) {
  small_pool<Sleepers> pool(r, layout::shared, 2);
  gate second;
  pool.on_run = [&](braid::worker&, unsigned job) {
    if (job == 1) return second.open();
    second.pass();
    pool.stop();
  };
  for (std::size_t index : {0U, 1U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    pool.post(0, 0);
    pool.post(1, 0);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1), "both have run");
}

/// The same at one seat.
template <typename Sleepers>
void behind(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 2);
  gate second;
  pool.on_run = [&](braid::worker&, unsigned job) {
    if (job == 1) return second.open();
    second.pass();
    pool.stop();
  };
  for (std::size_t index : {0U, 1U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    pool.post(0, 0);
    pool.post(1, 0);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1), "both have run");
}

/// Worker 0 runs something for as long as the run takes. A job is posted behind that, and one to worker 1 that waits
/// for it.
template <typename Sleepers>
void two_beside_a_long_job(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 3);
  gate first;
  pool.on_run = [&](braid::worker&, unsigned job) {
    if (job == 1) return first.open();
    first.pass();
    pool.stop();
  };
  for (std::size_t index : {1U, 2U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    pool.post(0, 1);
    pool.post(1, 0);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1), "both have run");
}

/// The same with both jobs behind the long one.
template <typename Sleepers>
void two_behind_a_long_job(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 3);
  gate first;
  pool.on_run = [&](braid::worker&, unsigned job) {
    if (job == 1) return first.open();
    first.pass();
    pool.stop();
  };
  for (std::size_t index : {1U, 2U}) r.thread([&, index] { pool.work_as(index); });
  r.thread([&] {
    pool.post(0, 0);
    pool.post(1, 0);
  });
  r.join();
  r.check(pool.has_run(0) && pool.has_run(1), "both have run");
}

/// Somebody posts a job, which posts another at the seat of the other worker, and waits until the pool is idle.
template <typename Sleepers>
void idle_after_posts(model::run& r) {
  small_pool<Sleepers> pool(r, layout::seated, 2);
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

/// The same with one queue.
template <typename Sleepers>
void idle_after_posts_to_one_queue(model::run& r) {
  small_pool<Sleepers> pool(r, layout::shared, 2);
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

}  // namespace

TEST_CASE("scratch") {
  const auto number = [](const char* name, unsigned other) {
    const char* text = std::getenv(name);
    return text == nullptr ? other : static_cast<unsigned>(std::atoi(text));
  };
  const model::options bounds{.seeds = number("SEEDS", 20'000), .preemptions = number("P", 2), .surprises = number("S", 1), .most_runs = number("RUNS", 200'000)};
  const char* only = std::getenv("ONLY");
  const auto probe = [&](const char* name, model::body body) {
    if (only != nullptr && std::string(name).find(only) == std::string::npos) return;
    const model::report all = model::explore_all(bounds, body);
    const model::report some = model::explore({.seeds = number("SEEDS", 20'000), .preemptions = 6, .surprises = 4}, body);
    std::printf("%-60s all: %zu %s %s  seeds: %zu %s\n", name, all.runs, all.complete ? "complete" : "-", all.failure.substr(0, 60).c_str(), some.runs, some.failure.substr(0, 60).c_str());
    if (number("SHOW", 0)) std::printf("%s\n", all.failure.c_str());
    std::fflush(stdout);
  };
#define EACH(F, type) \
  probe(#F ".burst", burst<type>); \
  probe(#F ".behind", behind<type>); \
  probe(#F ".two_beside_a_long_job", two_beside_a_long_job<type>); \
  probe(#F ".two_behind_a_long_job", two_behind_a_long_job<type>); \
  probe(#F ".idle_beside_a_post", idle_beside_a_post<type>); \
  probe(#F ".idle_after_posts", idle_after_posts<type>); \
  probe(#F ".idle_after_posts_to_one_queue", idle_after_posts_to_one_queue<type>); \
  probe(#F ".stop_while_posting", stop_while_posting<type>); \
  probe(#F ".stop_while_posting_to_seats", stop_while_posting_to_seats<type>);
#define TWIN(F) EACH(F, twin_sleepers<fault::F>)
  EACH(product, product)
  TWIN(none)
  TWIN(looks_before_announcing)
  TWIN(announces_without_barrier)
  TWIN(wakes_without_picking)
  TWIN(trusts_an_old_look)
  TWIN(watches_beside_awake_only)
  TWIN(ends_watch_without_barrier)
  TWIN(stops_without_barrier)
  TWIN(leaves_after_one_look)
  TWIN(leaves_the_count)
  TWIN(passes_nothing_on)
  TWIN(passes_on_too_early)
  TWIN(looks_for_more_too_early)
  TWIN(trusts_a_passing_idleness)
  TWIN(forgets_that_it_was_relied_on)
}
