// tests/task/sleepers_orders_model.cpp: each order and barrier of the sleepers is needed by one schedule or another.
#include <tests/task/sleepers_scenes.hpp>

#include <doctest/doctest.h>

#include <vector>

using namespace braid::testing;
namespace model = braid::model;

TEST_CASE("every order and every barrier of the sleepers is needed") {
  const std::vector<scene> scenes{burst<product>,
                                  stop_while_posting<product>,
                                  two_beside_a_long_job<product>,
                                  idle_beside_a_post<product>,
                                  stop_while_posting_to_workers<product>,
                                  leave_behind_a_stop<product>,
                                  moved_past_a_thief<product>};
  const model::options bounds{.seeds = 10'000, .preemptions = 6, .surprises = 4};
  for (const char* file : {"task/detail/sleepers.hpp", "task/sleepers.cpp"})
    CHECK(model::orders_not_needed(file, bounds, scenes, model::by_seeds) == "");
}
