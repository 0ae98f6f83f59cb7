// tests/rankd/cli/redis_command_test.cpp: the program itself on a project whose data is in Redis.
#include <rankd/cli/commands/commands.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/support/redis_server.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using braid::testing::redis_server;
using braid::testing::request_text;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::running_server;

namespace {

/// The reference project in the environment prod, with a server at `port`.
void point_to(const project_copy& project, std::uint16_t port) {
  project.write("rankd.toml",
                "name = \"reference\"\nenvironment = \"prod\"\nregistry = \"registry\"\nplans = \"plans/compiled\"\n"
                "data = \"data/reference\"\n");
  project.write("registry/endpoints.prod.toml",
                "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"redis_default\"\nkind = \"redis\"\n"
                "resolver = { type = \"static\", host = \"localhost\", port = " +
                    std::to_string(port) +
                    " }\npolicy = { connect_timeout_ms = 20000, request_timeout_ms = 20000 }\n"
                    "[[endpoint]]\nendpoint_id = \"ep_0002\"\nname = \"http_api\"\nkind = \"http\"\n"
                    "resolver = { type = \"static\", host = \"127.0.0.1\", port = 8081 }\n");
}

auto requests() -> std::string {
  std::string lines;
  for (int user = 1; user <= 60; ++user) lines += "{\"user_id\":" + std::to_string(user) + "}\n";
  return lines;
}

}  // namespace

TEST_CASE("what is loaded into Redis ranks to the same bytes as the embedded store") {
  const redis_server server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port());
  const project_copy embedded;
  const project_copy remote;
  point_to(remote, server.port());
  const process_end loaded = rankd_in(remote.path(), {"load", "--store", url});
  CHECK(loaded.status == 0);
  CHECK(has(loaded.out, " records into " + url + "/0\n"));
  CHECK(rankd_in(remote.path(), {"load", "data/reference", "--store", url}).out == loaded.out);

  for (const char* plan : {"reels_plan_a", "concat_plan"}) {
    const process_end expected = rankd_in(embedded.path(), {"batch", "--plan", plan}, requests());
    CHECK(has(expected.out, "\"candidates\":[{"));
    for (const char* workers : {"1", "3"}) {
      const process_end got = rankd_in(remote.path(), {"batch", "--plan", plan, "--workers", workers}, requests());
      CHECK(got.out == expected.out);
      CHECK(got.status == expected.status);
    }
    const process_end one = rankd_in(remote.path(), {"rank", "--plan", plan}, R"({"user_id":1,"request_id":"r"})");
    CHECK(one.out == rankd_in(embedded.path(), {"rank", "--plan", plan}, R"({"user_id":1,"request_id":"r"})").out);
    CHECK(has(rankd_in(remote.path(), {"rank", "--plan", plan, "--table"}, R"({"user_id":1})").out, "total: "));
  }
}

TEST_CASE("who runs a command is told what the server says, and a client of a server is not") {
  const redis_server server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port());
  const project_copy project;
  point_to(project, server.port());
  project.write("wrong.ndjson", R"({"hash":"follow:1","fields":{"a":"b"}})");
  REQUIRE(rankd_in(project.path(), {"load", "wrong.ndjson", "--store", url}).status == 0);
  const std::string request = R"({"user_id":1,"plan":"reels_plan_a"})";
  for (const char* command : {"rank", "batch"}) {
    const process_end end = rankd_in(project.path(), {command}, request);
    CHECK(end.status == 1);
    const json error = json::parse(end.out).at("error");
    CHECK(error.at("code") == "store_wrong_type");
    CHECK(has(error.at("message").get<std::string>(), "; the server says: WRONGTYPE "));
  }
  const running_server serving(project.path());
  auto client = serving.caller();
  client.say(request_text("POST", "/v1/rank", {}, request));
  const json error = json::parse(client.hear().value().body).at("error");
  CHECK(error.at("code") == "store_wrong_type");
  CHECK_FALSE(has(error.at("message").get<std::string>(), "WRONGTYPE"));
}

TEST_CASE("a server that is away stops those who need it, with its place, and nobody else") {
  const braid::testing::held_port away;
  const std::string place = "redis://127.0.0.1:" + std::to_string(away.number()) + "/0";
  const project_copy project;
  point_to(project, away.number());
  CHECK(rankd_in(project.path(), {"validate"}).status == 0);
  CHECK(rankd_in(project.path(), {"plans"}).status == 0);
  CHECK(rankd_in(project.path(), {"registry"}).status == 0);

  const process_end ranked = rankd_in(project.path(), {"rank", "--plan", "reels_plan_a"}, R"({"user_id":1})");
  CHECK(ranked.status == 1);
  const json error = json::parse(ranked.out).at("error");
  CHECK(error.at("code") == "store_unreachable");
  CHECK(has(error.at("message").get<std::string>(), "endpoint `ep_0001` at " + place + ": "));

  const process_end loaded = rankd_in(project.path(), {"load", "--store", place});
  CHECK(loaded.status == 1);
  CHECK(has(loaded.err, place));
  CHECK(has(loaded.err, "[store_unreachable]"));
}
