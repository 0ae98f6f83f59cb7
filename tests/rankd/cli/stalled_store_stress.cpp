// tests/rankd/cli/stalled_store_stress.cpp: servers that take connections and never answer, under a policy that names
// no timeouts, in every way to rank: the documented second passes, and the documented code is the answer.
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/scripted_server.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using braid::testing::process_end;
using braid::testing::request_text;
using braid::testing::scripted_server;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::running_server;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

namespace {

/// docs/rankd.md: `request_timeout_ms` is 1000 where the policy names none. A machine may be slow, but not quick.
constexpr auto documented = 1000ms;
constexpr auto longest = 30s;

/// With a deadline of its own that is far away: `rankd serve` gives it a second otherwise.
constexpr std::string_view request = R"({"user_id":1,"request_id":"r","plan":"reels_plan_a","deadline_ms":60000})";

/// The reference project in the environment prod, whose store is what `resolver` says.
void point_to(const project_copy& project, const std::string& resolver) {
  project.write("rankd.toml",
                "name = \"reference\"\nenvironment = \"prod\"\nregistry = \"registry\"\nplans = \"plans/compiled\"\n"
                "data = \"data/reference\"\n");
  project.write(
      "registry/endpoints.prod.toml",
      "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"redis_default\"\nkind = \"redis\"\nresolver = " + resolver +
          "\n[[endpoint]]\nendpoint_id = \"ep_0002\"\nname = \"http_api\"\nkind = \"http\"\n"
          "resolver = { type = \"static\", host = \"127.0.0.1\", port = 8081 }\n");
}

/// What a way to rank gave, and how long it took.
struct answer {
  std::string way;
  json body;
  int status = 0;
  clock_type::duration took{};
};

auto ranked(const project_copy& project, const std::string& way, std::vector<std::string> words) -> answer {
  const auto begin = clock_type::now();
  const process_end end = rankd_in(project.path(), std::move(words), request);
  return {.way = way,
          .body = json::parse(end.out, nullptr, false),
          .status = end.status,
          .took = clock_type::now() - begin};
}

auto served(const running_server& server) -> answer {
  auto client = server.caller();
  const auto begin = clock_type::now();
  client.say(request_text("POST", "/v1/rank", {}, request));
  const auto heard = client.hear();
  return {.way = "serve",
          .body = heard ? json::parse(heard->body, nullptr, false) : json(),
          .status = heard ? heard->status : 0,
          .took = clock_type::now() - begin};
}

/// All ways at the same time, since all they do is wait.
auto ranked_in_every_way(const project_copy& project) -> std::vector<answer> {
  const running_server server(project.path());
  std::vector<answer> all(4);
  std::vector<std::thread> threads;
  threads.emplace_back([&] { all[0] = ranked(project, "rank", {"rank"}); });
  threads.emplace_back([&] { all[1] = ranked(project, "batch", {"batch", "--workers", "2"}); });
  threads.emplace_back([&] {
    all[2] = ranked(project, "rank with a time for each node",
                    {"rank", "--node-timeout-ms", std::to_string(60'000), "--workers", "1"});
  });
  threads.emplace_back([&] { all[3] = served(server); });
  for (std::thread& each : threads) each.join();
  return all;
}

void check_all(const std::string& resolver, const std::string& place) {
  const braid::testing::watchdog dog(120s);
  const project_copy project;
  point_to(project, resolver);
  for (const answer& each : ranked_in_every_way(project)) {
    CAPTURE(each.way);
    CAPTURE(each.body.dump());
    REQUIRE(each.body.is_object());
    REQUIRE(each.body.contains("error"));
    const json& error = each.body.at("error");
    CHECK(error.at("code") == "store_timeout");
    CHECK(has(error.at("message").get<std::string>(), "endpoint `ep_0001` at " + place));
    CHECK(each.status == (each.way == "serve" ? 504 : 1));
    CHECK(each.took >= documented);
    CHECK(each.took < longest);
  }
}

}  // namespace

TEST_CASE("a server that never answers is given up after the documented time, in every way to rank") {
  const scripted_server silent(scripted_server::place::port);
  const std::string port = std::to_string(silent.port());
  check_all("{ type = \"static\", host = \"127.0.0.1\", port = " + port + " }", "redis://127.0.0.1:" + port + "/0: ");
}

TEST_CASE("a cluster whose nodes never answer is given up after the same time") {
  const scripted_server silent(scripted_server::place::port);
  const std::string port = std::to_string(silent.port());
  check_all("{ type = \"cluster\", nodes = [{ host = \"127.0.0.1\", port = " + port + " }] }",
            "redis-cluster://127.0.0.1:" + port + ": ");
}

TEST_CASE("a bench whose nodes run one by one is told the same, or that a silent connection was given up meanwhile") {
  const scripted_server silent(scripted_server::place::port);
  const project_copy project;
  point_to(project, "{ type = \"static\", host = \"127.0.0.1\", port = " + std::to_string(silent.port()) + " }");
  project.write("requests.ndjson", std::string(request) + "\n");
  const auto begin = clock_type::now();
  const process_end end = rankd_in(project.path(), {"bench", "--plan", "reels_plan_a", "--sequential", "--clients", "1",
                                                    "--duration-ms", "1500", "--requests", "requests.ndjson"});
  const std::string said = end.out + end.err;
  // A request between the end of a first one and the moment at which the connection is given up fails with it.
  CHECK_MESSAGE((has(said, "store_timeout") || has(said, "the connection ended before the reply arrived")), said);
  CHECK(clock_type::now() - begin >= documented);
}
