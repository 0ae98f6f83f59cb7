// tests/rankd/cli/diff_command_test.cpp: rankd diff: names and files, lines and JSON, and its exit status.
#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/tables/table.hpp>

#include <cstddef>
#include <filesystem>
#include <sstream>
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

auto reels() -> json { return json::parse(read_text_file("plans/compiled/reels_plan_a.json").value()); }

/// The plan of the reference project with another threshold and its last node renamed, after one more.
auto edited() -> json {
  json plan = reels();
  plan["pred_table"]["p_cutoff"]["b"]["value"] = 0.5;
  plan["nodes"][5]["node_id"] = "best";
  plan["nodes"][5]["inputs"] = {"sort"};
  plan["nodes"].push_back({{"node_id", "sort"},
                           {"op", "core::sort"},
                           {"inputs", {"final"}},
                           {"params", {{"by", 2001}, {"order", "desc"}}}});
  plan["outputs"] = {"best"};
  return plan;
}

}  // namespace

TEST_CASE("a plan differs from an edited file of any name by the edits, printed by name") {
  const project_copy project;
  const auto file = project.write("yesterday.json", edited().dump());
  const process_end end = rankd_in(project.path(), {"diff", "reels_plan_a", file});
  CHECK(end.status == 1);
  CHECK(end.err.empty());
  CHECK(end.out == read_text_file("tests/rankd/cli/shown/diff.txt").value());
}

TEST_CASE("equal plans say nothing and exit with 0") {
  const project_copy project;
  const process_end end = rankd_in(project.path(), {"diff", "reels_plan_a", "plans/compiled/reels_plan_a.json"});
  CHECK(end.status == 0);
  CHECK(end.out.empty());
  CHECK(end.err.empty());
  const json equal = json::parse(rankd_in(project.path(), {"diff", "reels_plan_a", "reels_plan_a", "--json"}).out);
  CHECK(equal.at("equal") == true);
  CHECK(equal.at("changes").empty());
}

TEST_CASE("for programs each change is an object, and what follows from them stands beside") {
  const project_copy project;
  project.write("rankd.toml", read_text_file("rankd.toml").value() + "\n[budget.plan.concat_plan]\nrows = 9\n");
  const process_end end = rankd_in(project.path(), {"diff", "concat_plan", "reels_plan_a", "--json"});
  CHECK(end.status == 1);
  const json found = json::parse(end.out);
  CHECK(found.at("before").at("plan") == "concat_plan");
  CHECK(found.at("after").at("digest").get<std::string>().size() == 64);
  CHECK(found.at("equal") == false);
  CHECK(found.at("changes")[0] ==
        json{{"kind", "removed"},
             {"node", "recommendation"},
             {"was", nullptr},
             {"field", nullptr},
             {"before", "core::recommendation, inputs: viewer, endpoint: EP.redis_default, fanout: 4"},
             {"after", nullptr}});
  CHECK(found.at("consequences") ==
        json{{{"what", "columns"}, {"before", {"country", "id"}}, {"after", {"country", "final_score", "id"}}},
             {{"what", "budget"}, {"before", {"rows 9"}}, {"after", json::array()}}});
  const std::string lines = rankd_in(project.path(), {"diff", "concat_plan", "reels_plan_a"}).out;
  CHECK(has(lines, "follows  columns: country, id → country, final_score, id\n"));
  CHECK(has(lines, "follows  budget: rows 9 → (none)\n"));
}

TEST_CASE("every error exits with 2, so that 1 means a difference") {
  const project_copy project;
  const auto no_plan = project.write("bad.json", "{\"nodes\": 1}");
  const auto no_json = project.write("torn.json", "{\"nodes\": ");
  struct wrong {
    words line;
    std::string said;
  };
  const std::vector<wrong> table{{{"diff", "reels_plan_b", "reels_plan_a"}, "did you mean `reels_plan_a`"},
                                 {{"diff", "reels_plan_a", "nothing.json"}, "nothing.json"},
                                 {{"diff", "reels_plan_a", no_plan}, "missing_field"},
                                 {{"diff", "reels_plan_a", no_json}, "json_syntax"},
                                 {{"diff", "reels_plan_a"}, "after"},
                                 {{"diff"}, "before"}};
  for (const wrong& each : table) {
    CAPTURE(each.said);
    const process_end end = rankd_in(project.path(), each.line);
    CHECK(end.status == 2);
    CHECK(end.out.empty());
    CHECK(has(end.err, each.said));
  }
  const process_end programs = rankd_in(project.path(), {"diff", "nothing", "reels_plan_a", "--json"});
  CHECK(programs.status == 2);
  CHECK(json::parse(programs.out).at("error").at("code") == "unknown_plan");
  CHECK(rankd_in("/", {"diff", "a", "b"}).status == 2);
}

TEST_CASE("ids of a plan cannot steer the terminal") {
  const project_copy project;
  json plan = reels();
  plan["nodes"][5]["params"]["trace"] = "a\x1b[2J";
  const auto file = project.write("other.json", plan.dump());
  CHECK(
      has(rankd_in(project.path(), {"diff", "reels_plan_a", file}).out, "changed  take: trace: (none) → a\\x1b[2J\n"));
}

TEST_CASE("each row of the table of differences is said, as the compiler of plans says it") {
  using rankd::testing::table_file;
  const braid::testing::scratch_folder folder;
  for (const char* part : {"registry", "models"})
    std::filesystem::copy(std::string("tests/rankd/tables/") + part, folder.path() / part,
                          std::filesystem::copy_options::recursive);
  folder.write("rankd.toml", table_file("diffs.toml"));
  std::filesystem::create_directory(folder.path() / "plans");
  for (const std::string name : {"another", "static"})  // they stand in for plans of the table
    folder.write("plans/" + name + ".json",
                 R"({"schema_version":1,"plan_name":")" + name + R"(","outputs":["v"],"nodes":[{"node_id":"v",)" +
                     R"("op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}}]})");
  std::istringstream rows(table_file("diffs.ndjson"));
  std::size_t count = 0;
  for (std::string line; std::getline(rows, line); ++count) {
    const json row = json::parse(line);
    const std::string before = table_file(row.at("base").get<std::string>());
    folder.write("before.json", before);
    folder.write("after.json", rankd::testing::document_of(row, before));
    std::string said;
    for (const json& each : row.at("said")) said += each.get<std::string>() + "\n";
    const process_end end = rankd_in(folder.path(), {"diff", "before.json", "after.json"});
    CHECK_MESSAGE(end.out == said, row.at("case") << end.err);
    CHECK(end.status == (said.empty() ? 0 : 1));
  }
  CHECK(count >= 30);
}
