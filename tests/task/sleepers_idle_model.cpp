// tests/task/sleepers_idle_model.cpp: under no schedule does a pool seem idle, or end, before all has run.
#include <tests/task/sleepers_scenes.hpp>

#include <doctest/doctest.h>

using namespace braid::testing;
namespace model = braid::model;

TEST_CASE("a pool is not idle before what was posted by what runs has run") {
  holds(idle_beside_a_post<product>);
  holds(idle_after_posts<product>);
  holds(idle_after_posts_to_one_queue<product>);
}

TEST_CASE("a pool is not idle before a chain of posts has run") {
  holds_in_order(idle_beside_a_chain<product>);
  CHECK(model::explore(rare, idle_beside_a_chain<product>).failure == "");
}

TEST_CASE("what a pool accepted before it stopped has run, every worker leaves, and then it is idle") {
  holds(stop_while_posting<product>);
  holds_in_order(stop_while_posting_to_workers<product>);
  holds_in_order(stop_beside_thieves<quiescing::counted>);
  holds(leave_behind_a_stop<product>);
}

TEST_CASE("faults in how a pool stops or seems idle are found") {
  CHECK(failure_of(stop_while_posting<twin<fault::stops_without_barrier>>).starts_with("deadlock"));
  CHECK(failure_of(stop_while_posting<twin<fault::leaves_after_one_look>>).starts_with("check failed"));
  CHECK(failure_of(stop_beside_thieves<quiescing::blindly>).starts_with("check failed"));
  CHECK(failure_of(stop_while_posting<twin<fault::leaves_the_count>>).starts_with("deadlock"));
  CHECK(model::explore(rare, idle_beside_a_chain<twin<fault::takes_two_looks_for_one>>).failure.starts_with("check"));
  CHECK(failure_of(idle_beside_a_post<twin<fault::trusts_a_passing_idleness>>).starts_with("check failed"));
}
