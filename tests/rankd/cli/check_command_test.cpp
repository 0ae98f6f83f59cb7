// tests/rankd/cli/check_command_test.cpp: rankd check --stdin: a line for each line, until standard input ends.
#include <rankd/cli/commands/check_command.hpp>

#include <rankd/store/line_reader.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;

namespace {

auto list_lines(const std::string& text) -> std::vector<json> {
  std::vector<json> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line));
  return out;
}

}  // namespace

TEST_CASE("each message gets one line, also a wrong one and the last one without an end") {
  const project_copy project;
  const std::string open = json{{"id", 1}, {"do", "open"}, {"project", project.path().string()}}.dump();
  const std::string plan = json{{"id", 3}, {"do", "plan"}, {"file", "plans/compiled/reels_plan_a.json"}}.dump();
  const process_end end = rankd_in(project.path(), {"check", "--stdin"}, open + "\nwhat?\n" + plan);
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  const std::vector<json> answers = list_lines(end.out);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].at("diagnostics").empty());
  CHECK(answers[1].at("error")[0].at("code") == "json_syntax");
  CHECK(answers[2].at("id") == 3);
  CHECK(answers[2].at("diagnostics").empty());
  CHECK_FALSE(std::filesystem::exists(project.path() / "build"));  // no store was made
}

TEST_CASE("a message that is too long is passed over and answered, and the next one is read") {
  const project_copy project;
  const std::string open = json{{"id", 2}, {"do", "open"}, {"project", "."}}.dump();
  const process_end end =
      rankd_in(project.path(), {"check", "--stdin"}, std::string(rankd::line_reader::max_bytes + 1, 'x') + "\n" + open);
  CHECK(end.status == 0);
  const std::vector<json> answers = list_lines(end.out);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].at("error")[0].at("code") == "message_too_long");
  CHECK(answers[1].at("diagnostics").empty());
}

TEST_CASE("nothing on standard input is fine, and the command needs its option") {
  const project_copy project;
  const process_end end = rankd_in(project.path(), {"check", "--stdin"});
  CHECK(end.status == 0);
  CHECK(end.out.empty());
  CHECK(rankd_in(project.path(), {"check"}).status == 2);
}
