// tests/task/sleepers_model.cpp: under no schedule does a job stay while workers sleep.
#include <tests/task/sleepers_scenes.hpp>

#include <doctest/doctest.h>

using namespace braid::testing;
namespace model = braid::model;

TEST_CASE("who is posted behind a job that waits for it is brought to another worker") {
  holds(burst<product>);
  holds(burst_at_one_worker<product>);
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
  holds(at_the_worker_of_own_work<product>);
  holds(at_a_worker_that_own_work_watched<product>);
}

TEST_CASE("the twin without a fault is as good as the product") {
  constexpr auto none = fault::none;
  for (const scene each :
       {burst<twin<none>>, burst_at_one_worker<twin<none>>, two_beside_a_long_job<twin<none>>,
        two_behind_a_long_job<twin<none>>, relied_on_in_vain<twin<none>>, moved_past_a_thief<twin<none>>,
        idle_beside_a_post<twin<none>>, stop_while_posting<twin<none>>, stop_while_posting_to_workers<twin<none>>,
        at_the_worker_of_own_work<twin<none>>, at_a_worker_that_own_work_watched<twin<none>>})
    CHECK(model::explore({.seeds = 2'000, .preemptions = 6, .surprises = 4}, each).failure == "");
}

TEST_CASE("faults in how workers fall asleep are found") {
  CHECK(failure_of(burst<twin<fault::looks_before_announcing>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::announces_without_barrier>>).starts_with("deadlock"));
  CHECK(failure_of(burst_at_one_worker<twin<fault::watches_beside_awake_only>>).starts_with("deadlock"));
  CHECK(failure_of(two_beside_a_long_job<twin<fault::ends_watch_without_barrier>>).starts_with("deadlock"));
  CHECK(failure_of(at_the_worker_of_own_work<twin<fault::works_while_announced>>).starts_with("deadlock"));
  CHECK(failure_of(at_a_worker_that_own_work_watched<twin<fault::leaves_monitor_silently>>).starts_with("deadlock"));
}

TEST_CASE("faults in how workers are woken are found") {
  CHECK(failure_of(burst_at_one_worker<twin<fault::wakes_without_picking>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::trusts_an_old_look>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::passes_nothing_on>>).starts_with("deadlock"));
  CHECK(failure_of(burst<twin<fault::passes_on_too_early>>).starts_with("deadlock"));
  CHECK(failure_of(relied_on_in_vain<twin<fault::looks_for_more_too_early>>).starts_with("deadlock"));
  CHECK(failure_of(relied_on_in_vain<twin<fault::forgets_that_it_was_relied_on>>).starts_with("deadlock"));
  CHECK(failure_of(moved_past_a_thief<twin<fault::moves_jobs_silently>>).starts_with("deadlock"));
  CHECK(failure_of(moved_past_a_thief<twin<fault::passes_on_without_barrier>>).starts_with("deadlock"));
}
