// tests/rankd/server/http_load_test.cpp: a load of requests over HTTP, and what keeps it from beginning.
#include <rankd/server/traffic/http_load.hpp>

#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::eventually;
using rankd::testing::serve_world;
using rankd::testing::value_of;

namespace {

auto find_address(serve_world& world) -> http_load_address {
  return {.url = "http://" + world.server().address().to_string()};
}

auto few() -> closed_load_options {
  return {.clients = 3,
          .loops = 2,
          .warm_up = std::chrono::nanoseconds(0),
          .duration = std::chrono::hours(1),
          .max_requests = 50};
}

auto code_of(const braid::checked<void>& made) -> std::string { return made ? "" : made.error().front().code; }

}  // namespace

TEST_CASE("each request over HTTP is counted with its answer, and what fails is") {
  serve_world world;
  const auto good = value_of(requests_for_plan({R"({"user_id":1})", R"({"user_id":2})"}, "ten"));
  const auto all = value_of(run_closed_load(http_load_target(find_address(world), 3), good, few()));
  CHECK(all.latencies.size() >= 50);
  CHECK(all.failed == 0);
  CHECK(all.answer_bytes == all.latencies.size() * world.rank(good[0]).body.size());
  const std::vector<std::string> bad{R"({"user_id":1,"plan":"none"})"};
  const auto none = value_of(run_closed_load(http_load_target(find_address(world), 3), bad, few()));
  CHECK(none.failed == none.latencies.size());
}

TEST_CASE("a load does not begin without a server that knows the plan") {
  http_load_address gone;
  {
    serve_options guarded;
    guarded.tokens = value_of(token_list::parse("0123456789abcdef", "tokens"));
    serve_world world(guarded);
    http_load_address at = find_address(world);
    gone = at;
    CHECK(code_of(check_http_load(at, "ten")) == "server_refused");
    at.token = "0123456789abcdef";
    CHECK(check_http_load(at, "ten"));
    CHECK(code_of(check_http_load(at, "none")) == "server_refused");
  }
  CHECK(code_of(check_http_load(gone, "ten")) == "server_unreachable");
}

TEST_CASE("of requests at a rate each is answered, refused, failed or not sent") {
  const std::vector<std::string> quick{R"({"user_id":1,"plan":"ten","deadline_ms":86400000})"};
  const std::vector<std::string> slow{R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"};
  open_load_options how{.per_second = 2'000,
                        .connections = 4,
                        .warm_up = std::chrono::milliseconds(20),
                        .duration = std::chrono::milliseconds(100),
                        .patience = std::chrono::minutes(1)};
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.max_wait = std::chrono::hours(1);
  serve_world world(narrow);
  const auto good = value_of(run_open_load(find_address(world), quick, how));
  CHECK(good.due >= 199);
  CHECK(good.due <= 201);
  CHECK(good.good.size() == good.due);
  CHECK(good.lateness.size() == good.due);
  CHECK(std::ranges::is_sorted(good.good));
  CHECK(find_latency(good.good, 1) >= find_latency(good.lateness, 0.5));

  const auto wrong = value_of(run_open_load(find_address(world), std::vector<std::string>{"{}"}, how));
  CHECK(wrong.failed() == wrong.due);

  how.connections = 1;
  how.patience = std::chrono::milliseconds(10);
  const auto stuck = value_of(run_open_load(find_address(world), slow, how));
  CHECK(stuck.good.empty());
  CHECK(stuck.failed() <= 1);
  CHECK(stuck.unsent >= stuck.due - 1);
}

TEST_CASE("refusals at a rate have latencies of their own, and say when to come again") {
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.queue = 0;
  serve_world world(narrow);
  auto running = world.caller();
  running.say(
      braid::testing::request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"));
  CHECK(eventually([&] { return world.rank(R"({"user_id":1,"plan":"ten"})").status == 503; }));
  const std::vector<std::string> requests{R"({"user_id":1,"plan":"ten"})"};
  const auto seen = value_of(run_open_load(find_address(world), requests,
                                           {.per_second = 1'000,
                                            .connections = 8,
                                            .warm_up = std::chrono::milliseconds(0),
                                            .duration = std::chrono::milliseconds(100),
                                            .patience = std::chrono::minutes(1)}));
  CHECK(seen.refused.size() == seen.due);
  CHECK(seen.refusals.size() == seen.due);
  CHECK(find_latency(seen.refusals, 1) <= find_latency(seen.refused, 1));
  CHECK(seen.without_hint == 0);
  CHECK(seen.failed() == 0);
  const auto code = [&](const std::string& url) {
    return run_open_load({.url = url}, requests, {}).error().front().code;
  };
  CHECK(code("https://127.0.0.1:1") == "no_tls_here");
  CHECK(code("nothing") == "server_unreachable");
}

TEST_CASE("requests get the plan that they do not name") {
  const auto made = value_of(requests_for_plan({R"({"user_id":9223372036854775807})", R"({"plan":"x"})"}, "p"));
  CHECK(made[0] == R"({"plan":"p","user_id":9223372036854775807})");
  CHECK(made[1] == R"({"plan":"x"})");
  CHECK(requests_for_plan({"{}", "{"}, "p").error().front().source == "line 2");
  CHECK(requests_for_plan({"[]"}, "p").error().front().code == "wrong_type");
}
