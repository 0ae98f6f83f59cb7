// tests/rankd/engine/closed_load_test.cpp: a load asks what it should, counts every answer, and says how long each
// took.
#include <rankd/engine/batch/closed_load.hpp>

#include <tests/rankd/engine/engine_world.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto load(const bound_plan& plan, const std::vector<std::string>& requests, const closed_load_options& how)
    -> closed_load_result {
  const reference_project& project = reference_project::get();
  return value_of(run_closed_load(plan, project.declared, project.stores, requests, how));
}

}  // namespace

TEST_CASE("every answer is counted once, whatever the clients and loops") {
  engine_world world(1);
  const bound_plan& plan = world.reference_plan("reels_plan_a");
  const std::vector<std::string> requests{R"({"user_id":1,"request_id":"a"})", R"({"user_id":2,"request_id":"b"})"};
  for (const unsigned clients : {1U, 3U, 8U}) {
    for (const unsigned loops : {1U, 2U}) {
      const closed_load_result found = load(
          plan, requests,
          {.clients = clients, .loops = loops, .warm_up = {}, .duration = std::chrono::hours(1), .max_requests = 200});
      CHECK(found.latencies.size() >= 200);
      CHECK(found.latencies.size() < 200 + clients);  // each may have begun one more
      CHECK(found.failed == 0);
      CHECK(found.answer_bytes > 100 * found.latencies.size());
      CHECK(std::ranges::is_sorted(found.latencies));
      CHECK(found.latencies.front().count() > 0);
      CHECK(found.per_second() > 0);
    }
  }
}

TEST_CASE("requests that are refused and plans that fail are counted as failed") {
  engine_world world(1);
  const closed_load_options few{.warm_up = {}, .duration = std::chrono::hours(1), .max_requests = 10};
  const bound_plan& fine = world.reference_plan("reels_plan_a");
  CHECK(load(fine, {"{}"}, few).failed == 10);
  CHECK(load(fine, {"{}", R"({"user_id":1})"}, few).failed == 5);
  const bound_plan& failing =
      world.bind(artifact_of(source("s", 1) + "," + sleep("f", "s", 0, sleep_end::failing), R"("f")"));
  CHECK(load(failing, {R"({"user_id":1})"}, few).failed == 10);
}

TEST_CASE("however short the time that counts, each client has an answer to tell of") {
  engine_world world(1);
  for (const std::chrono::nanoseconds warm_up : {std::chrono::nanoseconds(0), std::chrono::nanoseconds(1'000'000)}) {
    const closed_load_result found = load(world.reference_plan("reels_plan_a"), {R"({"user_id":1})"},
                                          {.clients = 3, .warm_up = warm_up, .duration = std::chrono::nanoseconds(1)});
    CHECK(found.latencies.size() == 3);
    CHECK(found.per_second() > 0);
  }
}

TEST_CASE("what ends before the warm-up is over is not counted") {
  engine_world world(1);
  const closed_load_result found = load(world.reference_plan("reels_plan_a"), {R"({"user_id":1})"},
                                        {.warm_up = std::chrono::milliseconds(5), .duration = {}});
  CHECK(found.latencies.empty());
  CHECK(found.per_second() == 0);
  CHECK(found.latency(0.5).count() == 0);
}

TEST_CASE("percentiles are the smallest latencies that do not exceed their part") {
  closed_load_result result;
  for (int i = 1; i <= 100; ++i) result.latencies.push_back(std::chrono::nanoseconds(i));
  CHECK(result.latency(0.5).count() == 50);
  CHECK(result.latency(0.9).count() == 90);
  CHECK(result.latency(0.999).count() == 100);
  CHECK(result.latency(1).count() == 100);
  CHECK(result.latency(0).count() == 1);
  result.total = std::chrono::milliseconds(50);
  CHECK(result.per_second() == 2000);
}
