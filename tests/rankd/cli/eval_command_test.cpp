// tests/rankd/cli/eval_command_test.cpp: quality of plans against judgements, and the difference between two.
#include <rankd/cli/commands/commands.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;

namespace {

/// `rows` gives 1, 2, 3, …; `other` the same backwards.
void write_plans(const project_copy& project) {
  std::filesystem::remove(project.path() / "plans/compiled/index.json");
  const std::string source = R"({"node_id":"s","op":"test::fixed_source","inputs":[],"params":{"row_count":6}})";
  project.write("plans/compiled/rows.json",
                R"({"schema_version":1,"plan_name":"rows","outputs":["s"],"nodes":[)" + source + "]}");
  project.write("plans/compiled/other.json",
                R"({"schema_version":1,"plan_name":"other","outputs":["t"],"nodes":[)" + source +
                    R"(,{"node_id":"t","op":"core::sort","inputs":["s"],"params":{"by":1,"order":"desc"}}]})");
}

}  // namespace

TEST_CASE("eval gives the metrics of a plan, and with a second one the difference by request") {
  const project_copy project;
  write_plans(project);
  project.write("judged.ndjson",
                "{\"request\":{\"user_id\":1,\"plan\":\"somebody\"},\"relevance\":{\"1\":1,\"9\":1}}\n\n"
                "{\"request\":{\"user_id\":2},\"relevance\":{\"6\":2,\"2\":0}}\n"
                "{\"request\":{\"user_id\":3},\"relevance\":{}}\n");
  const process_end one = rankd_in(
      project.path(), {"eval", "rows", "--judgements", "judged.ndjson", "--depth", "2", "--json", "--diversity", "id"});
  REQUIRE(one.status == 0);
  const json found = json::parse(one.out);
  CHECK(found.at("requests") == 3);
  CHECK(found.at("depth") == 2);
  CHECK_FALSE(found.contains("difference"));
  const json& metrics = found.at("plans").at(0).at("metrics");
  CHECK(metrics.at("mrr").at("mean") == 0.5);  // 1 and 0; the third has nothing that is relevant
  CHECK(metrics.at("mrr").at("requests") == 2);
  CHECK(metrics.at("mrr").at("low") == 0);
  CHECK(metrics.at("mrr").at("high") == 1);
  CHECK(metrics.at("recall").at("mean") == 0.25);
  CHECK(metrics.at("judged").at("mean") == doctest::Approx((0.5 + 0.5 + 0) / 3));
  CHECK(metrics.at("diversity").at("mean") == 1);
  CHECK(metrics.at("coverage") == json::parse(R"({"share":0.5,"shown":2,"judged":4})"));

  const process_end both =
      rankd_in(project.path(), {"eval", "rows", "other", "--judgements", "judged.ndjson", "--depth", "2", "--json"});
  REQUIRE(both.status == 0);
  const json difference = json::parse(both.out).at("difference");
  CHECK(difference.at("mrr").at("mean") == 0);  // -1 and 1
  CHECK(difference.at("mrr").at("low") == -1);
  CHECK(difference.at("mrr").at("high") == 1);
  CHECK(difference.at("diversity").is_null());
  CHECK(rankd_in(project.path(), {"eval", "rows", "other", "--judgements", "judged.ndjson", "--depth", "2", "--json"})
            .out == both.out);

  const process_end table =
      rankd_in(project.path(), {"eval", "rows", "other", "--judgements", "judged.ndjson", "--depth", "2"});
  CHECK(table.status == 0);
  CHECK(
      has(table.out, "3 requests, the first 2 candidates, 95 % confidence intervals by 1000 resamples with seed 1\n"));
  CHECK(has(table.out, "0.5000 [0.0000, 1.0000]"));
  CHECK(has(table.out, "difference"));
}

TEST_CASE("a request that a plan fails on counts as an empty answer, and the status says so") {
  const project_copy project;
  write_plans(project);
  project.write("judged.ndjson",
                "{\"request\":{},\"relevance\":{\"3\":1}}\n{\"request\":{\"user_id\":1},\"relevance\":{\"3\":1}}\n");
  const process_end run = rankd_in(project.path(), {"eval", "reels_plan_a", "--judgements", "judged.ndjson", "--json"});
  CHECK(run.status == 1);
  CHECK(has(run.err, "1 request of reels_plan_a failed"));
  CHECK(has(run.err, "missing_field"));
  CHECK(json::parse(run.out).at("plans").at(0).at("failed") == 1);
  CHECK(json::parse(run.out).at("plans").at(0).at("metrics").at("recall").at("mean") == 0.5);
}

TEST_CASE("judgements may be larger than a document, and each line counts") {
  const project_copy project;
  write_plans(project);
  constexpr std::size_t lines = 18;
  std::string text;
  for (std::size_t at = 0; at < lines; ++at)
    text += R"({"request":{"user_id":1},"relevance":{"1":1}})" + std::string(std::size_t{1} << 20U, ' ') + "\n";
  project.write("judged.ndjson", text);
  const process_end run =
      rankd_in(project.path(), {"eval", "rows", "other", "--judgements", "judged.ndjson", "--depth", "2", "--json"});
  REQUIRE(run.status == 0);
  const json found = json::parse(run.out);
  CHECK(found.at("requests") == lines);
  for (const json& plan : found.at("plans")) CHECK(plan.at("metrics").at("mrr").at("requests") == lines);
  CHECK(found.at("plans").at(0).at("metrics").at("mrr").at("mean") == 1);
  CHECK(found.at("plans").at(1).at("metrics").at("mrr").at("mean") == 0);

  std::string wrong;
  for (int line = 0; line < 1000; ++line) wrong += "{\n";
  project.write("judged.ndjson", wrong);
  const process_end refused = rankd_in(project.path(), {"eval", "rows", "--judgements", "judged.ndjson"});
  CHECK(refused.status == 1);
  CHECK(has(refused.err, "line 100"));
  CHECK_FALSE(has(refused.err, "line 101"));
  CHECK(has(refused.err, "the rest was not read"));
  project.write("judged.ndjson", "[" + std::string(std::size_t{17} << 20U, ' ') + "]\n");
  CHECK(has(rankd_in(project.path(), {"eval", "rows", "--judgements", "judged.ndjson"}).err,
            "the line is longer than 16 MiB"));
}

TEST_CASE("what is wrong with judgements is told with its line") {
  const project_copy project;
  project.write("judged.ndjson",
                "{\"request\":{\"user_id\":1},\"relevance\":{\"x\":1,\"2\":-1}}\n"
                "{\"request\":{\"user\":1},\"relevance\":[]}\n{\n"
                "{\"request\":{\"user_id\":1},\"relevance\":{\"2\":1e999}}\n");
  const process_end run = rankd_in(project.path(), {"eval", "reels_plan_a", "--judgements", "judged.ndjson"});
  CHECK(run.status == 1);
  CHECK(has(run.err, "judged.ndjson:1#/relevance/x"));
  CHECK(has(run.err, "a relevance must be a number from 0 to 1000, not an integer: `-1`"));
  CHECK(has(run.err, "judged.ndjson:2"));
  CHECK(has(run.err, "judged.ndjson#: line 3, column "));
  CHECK(has(run.err, "judged.ndjson:4#/relevance/2: the number 1e999 is beyond"));
  CHECK(rankd_in(project.path(), {"eval", "reels_plan_a"}).status == 2);
  CHECK(rankd_in(project.path(), {"eval", "reels_plan_a", "--judgements", "judged.ndjson", "--diversity", "contry"})
            .err.find("did you mean `country`?") != std::string::npos);
}
