// tests/rankd/server/http_load_test.cpp: a load of requests over HTTP, and what keeps it from beginning.
#include <rankd/server/http_load.hpp>

#include <tests/rankd/server/serve_world.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::serve_world;
using rankd::testing::value_of;

namespace {

auto address_of(serve_world& world) -> http_load_address {
  return {.url = "http://" + world.server().address().to_string()};
}

auto few() -> closed_load_options {
  return {.clients = 3,
          .loops = 2,
          .warm_up = std::chrono::nanoseconds(0),
          .duration = std::chrono::hours(1),
          .most_requests = 50};
}

auto code_of(const braid::checked<void>& made) -> std::string { return made ? "" : made.error().front().code; }

}  // namespace

TEST_CASE("each request over HTTP is counted with its answer, and what fails is") {
  serve_world world;
  const auto good = value_of(requests_for_plan({R"({"user_id":1})", R"({"user_id":2})"}, "ten"));
  const auto all = value_of(run_closed_load(http_load_target(address_of(world), 3), good, few()));
  CHECK(all.latencies.size() >= 50);
  CHECK(all.failed == 0);
  CHECK(all.answer_bytes == all.latencies.size() * world.rank(good[0]).body.size());
  const std::vector<std::string> bad{R"({"user_id":1,"plan":"none"})"};
  const auto none = value_of(run_closed_load(http_load_target(address_of(world), 3), bad, few()));
  CHECK(none.failed == none.latencies.size());
}

TEST_CASE("a load does not begin without a server that knows the plan") {
  http_load_address gone;
  {
    serve_options guarded;
    guarded.tokens = value_of(token_list::parse("0123456789abcdef", "tokens"));
    serve_world world(guarded);
    http_load_address at = address_of(world);
    gone = at;
    CHECK(code_of(check_http_load(at, "ten")) == "server_refused");
    at.token = "0123456789abcdef";
    CHECK(check_http_load(at, "ten"));
    CHECK(code_of(check_http_load(at, "none")) == "server_refused");
  }
  CHECK(code_of(check_http_load(gone, "ten")) == "server_unreachable");
}

TEST_CASE("requests get the plan that they do not name") {
  const auto made = value_of(requests_for_plan({R"({"user_id":9223372036854775807})", R"({"plan":"x"})"}, "p"));
  CHECK(made[0] == R"({"plan":"p","user_id":9223372036854775807})");
  CHECK(made[1] == R"({"plan":"x"})");
  CHECK(requests_for_plan({"{}", "{"}, "p").error().front().source == "line 2");
  CHECK(requests_for_plan({"[]"}, "p").error().front().code == "wrong_type");
}
