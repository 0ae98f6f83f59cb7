// tests/rankd/server/traffic_comparison_test.cpp: frames that no server writes, and requests whose order counts.
// Comparisons of recorded traffic: tests/rankd/cli/traffic_diff_test.cpp, tests/oracle/traffic.py
#include <rankd/server/traffic/traffic_comparison.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/traffic/traffic_images.hpp>
#include <rankd/store/read_recorder.hpp>
#include <tests/rankd/server/serve_world.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto plan_of_rows(int rows) -> std::shared_ptr<const bound_plan> {
  return bound_from(artifact_of(source("a", rows), R"("a")"), "t");
}

/// `reels_plan_a` whose cutoff is that one.
auto reels_plan(double cutoff) -> std::shared_ptr<const bound_plan> {
  auto plan = nlohmann::json::parse(value_of(read_text_file("plans/compiled/reels_plan_a.json")));
  plan["plan_name"] = "t";
  plan["pred_table"]["p_cutoff"]["b"]["value"] = cutoff;
  return bound_from(plan.dump(), "t");
}

auto compared(std::shared_ptr<const bound_plan> before, std::shared_ptr<const bound_plan> after)
    -> std::unique_ptr<traffic_comparison> {
  auto made = value_of(traffic_comparison::make({.declared = &reference_project::get().declared,
                                                 .before = std::move(before),
                                                 .after = std::move(after),
                                                 .recorded_plan = "t",
                                                 .workers = 2}));
  made->begin("t.rec");
  return made;
}

auto compared(int before, int after) -> std::unique_ptr<traffic_comparison> {
  return compared(plan_of_rows(before), plan_of_rows(after));
}

/// What a plan reads for a request.
auto count_reads(const std::shared_ptr<const bound_plan>& plan, const std::string& text) -> std::string {
  engine_world world;
  const auto recorder = std::make_shared<read_recorder>(reference_project::get().stores);
  rank_request request = value_of(parse_request(text, reference_project::get().declared));
  const ranking answer =
      world.on().run(world.ranker().rank(plan, std::move(request), read_recorder::list_stores(recorder)));
  CHECK_FALSE(answer.error.has_value());
  return recorder->take();
}

auto project_frame() -> std::string {
  const auto& project = reference_project::get();
  return encode_frame(value_of(make_image(project.where, project.declared, "1.2")));
}

auto request_frame(std::uint64_t number, const std::string& text, const std::string& redacted = "",
                   const std::string& reads = "") -> std::string {
  recorded_request out{.number = number,
                       .plan = 1,
                       .head_id = {},
                       .request_id = "r",
                       .text = text,
                       .code = "ok",
                       .reads = reads,
                       .answer = {}};
  if (!redacted.empty()) out.redacted.push_back(redacted);
  return encode_frame(out);
}

auto plan_frame() -> std::string {
  recorded_plan out;
  out.number = 1;
  out.name = "t";
  return encode_frame(out);
}

auto take(traffic_comparison& into, const std::string& frame) -> std::string {
  const auto kind = static_cast<frame_kind>(frame[frame_head - 1]);
  const auto taken = into.take({.kind = kind, .content = std::string_view(frame).substr(frame_head)});
  return taken ? "" : taken.error().front().code;
}

}  // namespace

TEST_CASE("frames that cannot be read, or stand where none may, are an error") {
  const auto one = compared(1, 1);
  CHECK(take(*one, request_frame(0, "{}")) == "not_traffic");
  CHECK(take(*one, project_frame()).empty());
  CHECK(take(*one, project_frame()) == "not_traffic");
  CHECK(take(*one, request_frame(0, "{}")) == "not_traffic");  // its plan has not come
  CHECK(take(*one, plan_frame()).empty());
  CHECK(take(*one, request_frame(std::numeric_limits<std::uint64_t>::max(), "{}")) == "not_traffic");
  std::string unreadable = request_frame(0, "{}");
  unreadable.resize(frame_head + 5);
  CHECK(take(*one, unreadable) == "not_traffic");
  one->begin("next.rec");  // another record has a project of its own
  CHECK(take(*one, plan_frame()) == "not_traffic");
}

TEST_CASE("requests are counted by what can be done with them, and lost ones by the numbers of those that came") {
  const auto one = compared(3, 2);
  CHECK(take(*one, project_frame()).empty());
  CHECK(take(*one, plan_frame()).empty());
  for (std::uint64_t number = 0; number < 400; ++number)
    CHECK(take(*one, request_frame(number, R"({"plan":"t"})")).empty());
  CHECK(take(*one, request_frame(400, "{")).empty());
  CHECK(take(*one, request_frame(405, R"({"plan":"t"})", "user_id")).empty());
  const traffic_differences found = one->finish();
  CHECK(one->lost() == 4);
  CHECK(found.requests == 402);
  CHECK(found.unusable == 1);
  CHECK(found.redacted == 1);
  CHECK(found.compared() == 400);
  CHECK(found.count(answer_change::candidates) == 400);
  REQUIRE(found.changed.size() == 20);
  for (std::size_t at = 0; at < found.changed.size(); ++at) {
    CHECK(found.changed[at].number == at);  // all are changed alike
    REQUIRE(found.changed[at].moves.size() == 1);
    CHECK(found.changed[at].moves[0].was == 3);
    CHECK_FALSE(found.changed[at].moves[0].is.has_value());
    CHECK_FALSE(found.changed[at].moves[0].why.empty());
  }
}

TEST_CASE("what a request wanted captured is not asked of plans that have no such node, and is not compared") {
  const auto other = bound_from(artifact_of(source("b", 3), R"("b")"), "t");
  for (const int rows : {3, 2}) {
    const auto one = compared(plan_of_rows(rows), other);
    CHECK(take(*one, project_frame()).empty());
    CHECK(take(*one, plan_frame()).empty());
    CHECK(take(*one, request_frame(0, R"({"plan":"t","capture":["a"]})")).empty());
    const traffic_differences found = one->finish();
    CHECK(found.compared() == 1);
    CHECK(found.count(rows == 3 ? answer_change::equal : answer_change::candidates) == 1);
    if (rows == 3) continue;
    REQUIRE(found.changed.size() == 1);
    CHECK(found.changed[0].moved == 1);
    CHECK_FALSE(found.changed[0].moves.at(0).why.empty());
  }
}

TEST_CASE("a request that asked for some keys is explained from what it read for these") {
  const std::string text = R"({"plan":"t","user_id":1,"output_keys":["final_score"]})";
  const auto before = reels_plan(0.6);
  const auto one = compared(before, reels_plan(1));
  CHECK(take(*one, project_frame()).empty());
  CHECK(take(*one, plan_frame()).empty());
  CHECK(take(*one, request_frame(0, text, "", count_reads(before, text))).empty());
  const traffic_differences found = one->finish();
  CHECK(found.not_recorded == 0);
  REQUIRE(found.changed.size() == 1);
  CHECK(found.changed[0].moved > 0);
  REQUIRE_FALSE(found.changed[0].moves.empty());
  CHECK(found.changed[0].moves[0].node == "cutoff");
}

TEST_CASE("values that a request did not ask for explain a move all the same") {
  const auto sorted_by = [](const std::string& expr) {
    const std::string nodes = source("a", 3) + "," + node("v", "core::vm", "a", R"({"expr_id":"e","out_key":2001})") +
                              "," + node("s", "core::sort", "v", R"({"by":2001,"order":"desc"})");
    return bound_from(artifact_of(nodes, R"("s")", R"("expr_table":{"e":)" + expr + "},"), "t");
  };
  const std::string id = R"({"op":"key_ref","key_id":1})";
  const auto one = compared(sorted_by(id), sorted_by(R"({"op":"neg","x":)" + id + "}"));
  CHECK(take(*one, project_frame()).empty());
  CHECK(take(*one, plan_frame()).empty());
  CHECK(take(*one, request_frame(0, R"({"plan":"t","output_keys":[]})")).empty());
  const traffic_differences found = one->finish();
  CHECK(found.count(answer_change::order) == 1);
  REQUIRE(found.changed.size() == 1);
  REQUIRE_FALSE(found.changed[0].moves.empty());
  CHECK(found.changed[0].moves[0].why.starts_with("final_score "));
}
