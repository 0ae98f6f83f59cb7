// tests/rankd/cli/explain_command_test.cpp: rankd rank --explain and --why, as the program prints them.
#include <rankd/cli/commands/commands.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

auto rank(const project_copy& project, words more, const std::string& request = R"({"user_id":1})") -> process_end {
  words line{"rank", "--plan", "reels_plan_a"};
  line.insert(line.end(), more.begin(), more.end());
  return rankd_in(project.path(), line, request);
}

}  // namespace

TEST_CASE("an explanation is tables for people, and part of the answer for programs") {
  const project_copy project;
  const process_end people = rank(project, {"--explain", "--why", "2,3", "--why", "99"});
  CHECK(people.status == 0);
  CHECK(has(people.out, "critical path"));
  CHECK(has(people.out, "core::follow"));
  CHECK(has(people.out,
            "\nid 2: no candidate; given by follow\n  at cutoff (core::filter): the predicate is "
            "false, row 2 of those that came in; final_score 0.4, country "));
  CHECK(has(people.out, "\nid 3: candidate number 1; given by follow\n"));
  CHECK(has(people.out, "\nid 99: no node gave it\n"));

  const process_end programs = rank(project, {"--explain", "--json", "--why=3"});
  CHECK(programs.status == 0);
  const json answer = json::parse(programs.out);
  const json& explained = answer.at("explain");
  CHECK(explained.at("nodes").size() == 6);
  CHECK(explained.at("ids").at(0).at("positions") == json::array({1}));
  double sum = explained.at("answering_us").get<double>();
  for (const json& step : explained.at("critical_path")) {
    sum += step.at("wait_us").get<double>();
    sum += step.contains("io_us") ? step.at("io_us").get<double>() : step.at("run_us").get<double>();
  }
  CHECK(sum == doctest::Approx(explained.at("total_us").get<double>()));
  CHECK(rank(project, {"--json"}).out == rank(project, {}).out);
}

TEST_CASE("ids of the request and of the command line are explained together, each once") {
  const project_copy project;
  const process_end end = rank(project, {"--json", "--why", "4,5"}, R"({"user_id":1,"explain":{"ids":[3,4]}})");
  const json answer = json::parse(end.out);
  std::string ids;
  for (const json& each : answer.at("explain").at("ids")) ids += each.at("id").dump() + " ";
  CHECK(ids == "3 4 5 ");
}

TEST_CASE("a request that fails is explained as far as it came") {
  const project_copy project;
  project.write(
      "plans/compiled/failing.json",
      R"({"schema_version":1,"plan_name":"failing","outputs":["z"],"nodes":[)"
      R"({"node_id":"s","op":"test::fixed_source","inputs":[],"params":{"row_count":2}},)"
      R"({"node_id":"z","op":"test::sleep","inputs":["s"],"params":{"duration_ms":0,"fail_after_sleep":true}}]})");
  const words line{"rank", "--plan", "failing", "--explain"};
  const process_end people = rankd_in(project.path(), line, R"({"user_id":1})");
  CHECK(people.status == 1);
  CHECK(has(people.err, "[test_failure]"));
  CHECK(has(people.out, "failed"));
  words json_line = line;
  json_line.emplace_back("--json");
  const process_end programs = rankd_in(project.path(), json_line, R"({"user_id":1})");
  CHECK(programs.status == 1);
  const json answer = json::parse(programs.out);
  CHECK(answer.at("error").at("node") == "z");
  CHECK(answer.at("explain").at("nodes").at(1).at("state") == "failed");
}

TEST_CASE("wrong ways to ask for an explanation are wrong usage") {
  const project_copy project;
  std::string many = "1";
  for (int id = 2; id <= 101; ++id) many += "," + std::to_string(id);
  for (const words& line : {words{"--why", "x"}, {"--why", "1.5"}, {"--why", many}, {"--table", "--json"}}) {
    const process_end end = rank(project, line);
    CHECK(end.status == 2);
    CHECK(end.out.empty());
  }
}
