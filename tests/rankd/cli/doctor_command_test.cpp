// tests/rankd/cli/doctor_command_test.cpp: rankd doctor, with servers that answer, refuse, or are away.
#include <rankd/cli/commands/commands.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/redis_server.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using braid::testing::redis_server;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;

namespace {

/// The reference project with the first endpoint at a server.
void point_to(const project_copy& project, std::uint16_t port) {
  project.write("registry/endpoints.test.toml",
                "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"redis_default\"\nkind = \"redis\"\n"
                "resolver = { type = \"static\", host = \"127.0.0.1\", port = " +
                    std::to_string(port) +
                    " }\npolicy = { connect_timeout_ms = 20000, request_timeout_ms = 20000 }\n"
                    "[[endpoint]]\nendpoint_id = \"ep_0002\"\nname = \"http_api\"\nkind = \"http\"\n"
                    "resolver = { type = \"static\", host = \"127.0.0.1\", port = 8081 }\n");
}

/// All findings about the store: "status found".
auto store_findings(const project_copy& project) -> std::string {
  const process_end end = rankd_in(project.path(), {"doctor", "--json"});
  CHECK(end.err.empty());
  const json answer = json::parse(end.out);
  CHECK(end.status == (answer.at("failures") == 0 ? 0 : 1));
  std::string out;
  for (const json& each : answer.at("findings"))
    if (each.at("area") == "store ep_0001")
      out += each.at("status").get<std::string>() + " " + each.at("found").get<std::string>() + "\n";
  return out;
}

}  // namespace

TEST_CASE("the doctor tells all of a project and its machine, and fails where something does") {
  const project_copy project;
  const process_end people = rankd_in(project.path(), {"doctor"});
  CHECK(people.status == 0);
  CHECK(people.err.empty());
  for (const char* area :
       {"project", "registries", "plans", "store ep_0001", "descriptors", "memory", "kernel", "clock"})
    CHECK(has(people.out, area));
  CHECK(has(people.out, "\n0 failures, "));
  CHECK(rankd_in(project.path() / "data", {"doctor"}).status == 0);

  project.write("plans/compiled/reels_plan_a.json", "{");
  CHECK(rankd_in(project.path(), {"doctor"}).status == 1);
  const process_end nowhere = rankd_in("/", {"doctor"});
  CHECK(nowhere.status == 1);
  CHECK(has(nowhere.out, "fail  project"));
  CHECK(rankd_in("/", {"doctor", "extra"}).status == 2);
}

TEST_CASE("a server that answers is told with version, keys and the time of a PING") {
  const redis_server server;
  const project_copy project;
  point_to(project, server.port());
  const std::string empty = store_findings(project);
  CHECK(has(empty, "ok redis://127.0.0.1:" + std::to_string(server.port()) + "/0: Redis "));
  CHECK(has(empty, ", PING in "));
  CHECK(has(empty, "holds no key"));
  REQUIRE(rankd_in(project.path(), {"load", "--store", "redis://127.0.0.1:" + std::to_string(server.port())}).status ==
          0);
  CHECK_FALSE(has(store_findings(project), "holds no key"));
}

TEST_CASE("a server that is away, or wants a password, is a failure that says so") {
  const braid::testing::held_port away;
  const project_copy project;
  point_to(project, away.number());
  CHECK(store_findings(project).starts_with("fail redis://127.0.0.1:"));

  const redis_server locked({"--requirepass", "x"});
  point_to(project, locked.port());
  CHECK(has(store_findings(project), "fail redis://127.0.0.1:"));
  CHECK(has(store_findings(project), "NOAUTH"));
}
