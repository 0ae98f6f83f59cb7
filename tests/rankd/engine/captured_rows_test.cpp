// tests/rankd/engine/captured_rows_test.cpp: rows of nodes as data: by request, and by an option of the plan.
#include <rankd/engine/captured_rows.hpp>
#include <rankd/engine/engine.hpp>

#include <rankd/engine/plans/plan_experiments.hpp>
#include <tests/rankd/engine/engine_world.hpp>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

const std::string captures = R"("capabilities_required":["cap.rfc.0010.capture.v1"],)";

auto list(const std::string& id, int count) -> std::string {
  return node(id, "core::list", "", R"({"endpoint":"ep_0001","key":"follow:1","count":)" + std::to_string(count) + "}");
}
auto take(const std::string& id, const std::string& from, int count) -> std::string {
  return node(id, "core::take", from, R"({"count":)" + std::to_string(count) + "}");
}
auto sort(const std::string& id, const std::string& from) -> std::string {
  return node(id, "core::sort", from, R"({"by":1,"order":"desc"})");
}
/// A node with an option behind its others.
auto with(std::string node, const std::string& more) -> std::string {
  node.pop_back();
  return node + "," + more + "}";
}

/// Each captured row set as JSON, a line each.
auto text_of(const std::vector<captured_rows>& all) -> std::string {
  std::string out;
  for (const captured_rows& each : all) {
    append_members(out, each);
    out += '\n';
  }
  return out;
}

auto find_problems(const bound_plan& plan, std::string_view request) -> std::string {
  auto read = parse_request(request, reference_project::get().declared);
  const auto found = read ? fit_to_plan(*read, plan, reference_project::get().declared) : read.error();
  std::string out;
  for (const braid::diagnostic& each : found) out += each.code + " " + each.pointer + "\n";
  return out;
}

}  // namespace

TEST_CASE("a request captures the rows that nodes give and take, and counts what it leaves out") {
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(list("l", 4) + "," + take("t", "l", 2), R"("t")"));
  const ranking answer = world.rank(plan, R"({"request_id":"r","capture":["t",{"node":"l","max_rows":3}]})");
  CHECK(text_of(answer.captured) == R"("node":"t","side":"out","state":"done","rows":{"id":[1,2]},"cut":0)"
                                    "\n"
                                    R"("node":"l","side":"out","state":"done","rows":{"id":[1,2,3]},"cut":1)"
                                    "\n");
  CHECK(to_json(answer).find(R"("captured":[{"node":"t",)") != std::string::npos);
  const ranking both = world.rank(plan, R"({"capture":[{"node":"t","side":"both"}]})");
  CHECK(text_of(both.captured) == R"("node":"t","side":"in","of":"l","state":"done","rows":{"id":[1,2,3,4]},"cut":0)"
                                  "\n"
                                  R"("node":"t","side":"out","state":"done","rows":{"id":[1,2]},"cut":0)"
                                  "\n");
  CHECK(to_json(world.rank(plan, R"({"request_id":"r"})")).find("captured") == std::string::npos);
}

TEST_CASE("captured columns are those that are asked for, with null where a row has no value") {
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(
      source("s", 3) + "," + node("v", "core::vm", "s", R"({"out_key":2001,"expr_id":"e"})"), R"("v")",
      R"("expr_table":{"e":{"op":"mul","a":{"op":"key_ref","key_id":1},"b":{"op":"const_number","value":2}}},)"));
  const ranking one = world.rank(plan, R"({"capture":[{"node":"v","keys":["final_score"]}]})");
  CHECK(text_of(one.captured) ==
        R"("node":"v","side":"out","state":"done","rows":{"id":[1,2,3],"final_score":[2,4,6]},"cut":0)"
        "\n");
  const ranking none = world.rank(plan, R"({"capture":[{"node":"v","keys":[]}]})");
  CHECK(text_of(none.captured) == R"("node":"v","side":"out","state":"done","rows":{"id":[1,2,3]},"cut":0)"
                                  "\n");
}

TEST_CASE("a node that has failed has no rows to capture, and those that it took are shown") {
  engine_world world;
  const bound_plan& plan = world.bind(
      artifact_of(source("s", 2) + "," + sleep("f", "s", 0, sleep_end::failing) + "," + take("t", "f", 1), R"("t")"));
  const ranking answer = world.rank(plan, R"({"capture":[{"node":"f","side":"both"},"t"]})");
  REQUIRE(answer.error);
  CHECK(text_of(answer.captured) == R"("node":"f","side":"in","of":"s","state":"failed","rows":{"id":[1,2]},"cut":0)"
                                    "\n"
                                    R"("node":"f","side":"out","state":"failed")"
                                    "\n"
                                    R"("node":"t","side":"out","state":"skipped")"
                                    "\n");
  CHECK(to_json(answer).find(R"("captured":[{"node":"f")") != std::string::npos);
}

TEST_CASE("between two nodes that are one there are no rows to capture, unless the plan captures them") {
  engine_world world(2, {.captures = plan_captures::taken});
  const auto nodes = [](const std::string& sorted) { return list("l", 3) + "," + sorted + "," + take("t", "o", 1); };
  const bound_plan& one = world.bind(artifact_of(nodes(sort("o", "l")), R"("t")"));
  const ranking fused = world.rank(one, R"({"capture":["o",{"node":"t","side":"both"}]})");
  CHECK(text_of(fused.captured) == R"("node":"o","side":"out","state":"done","fused_with":"t")"
                                   "\n"
                                   R"("node":"t","side":"in","of":"o","state":"done","fused_with":"o")"
                                   "\n"
                                   R"("node":"t","side":"out","state":"done","rows":{"id":[3]},"cut":0)"
                                   "\n");
  const bound_plan& two = world.bind(artifact_of(nodes(with(sort("o", "l"), R"("capture":{})")), R"("t")", captures));
  const ranking apart = world.rank(two, R"({"capture":["o"]})");
  const std::string rows = R"("node":"o","side":"out","state":"done","rows":{"id":[3,2,1]},"cut":0)"
                           "\n";
  CHECK(text_of(apart.captured) == rows);
  CHECK(text_of(apart.captured_by_plan) == rows);
  CHECK(ids_of(apart) == ids_of(fused));
}

TEST_CASE("all captures of a request together have a bound") {
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(source("s", 6'000) + "," + take("t", "s", 5'000), R"("t")"));
  const ranking answer =
      world.rank(plan, R"({"capture":[{"node":"s","max_rows":10000},{"node":"t","max_rows":10000}]})");
  REQUIRE(answer.captured.size() == 2);
  CHECK(answer.captured[0].rows->size() == 6'000);
  CHECK(answer.captured[0].cut == 0);
  CHECK(answer.captured[1].rows->size() == max_captured_rows - 6'000);
  CHECK(answer.captured[1].cut == 1'000);
}

TEST_CASE("a capture of what a plan does not have is refused where it stands") {
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(list("l", 4) + "," + take("t", "l", 2), R"("t")"));
  CHECK(find_problems(plan, R"({"capture":["t","l"]})").empty());
  CHECK(find_problems(plan, R"({"capture":["t","x"]})") == "unknown_node /capture/1\n");
  CHECK(find_problems(plan, R"({"capture":[{"node":"","keys":["id"]}]})") == "unknown_node /capture/0/node\n");
  CHECK(find_problems(plan, R"({"capture":[{"node":"t","keys":["id","final_score"]}]})") ==
        "unknown_column /capture/0/keys/1\n");
  const auto refused = parse_capture("t:final_scor", reference_project::get().declared);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "unknown_key");
  CHECK(refused.error().front().hint.find("final_score") != std::string::npos);
}

TEST_CASE("a plan captures rows of a share of the requests, by their ids, where that is wanted") {
  const auto plan_text = artifact_of(
      with(list("l", 3), R"("capture":{"sample":0.25,"max_rows":2,"key_ids":[1]})") + "," + take("t", "l", 2), R"("t")",
      captures);
  engine_world world(2, {.captures = plan_captures::taken});
  const bound_plan& plan = world.bind(plan_text);
  std::size_t sampled = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string id = "r" + std::to_string(i);
    const ranking answer = world.rank(plan, R"({"request_id":")" + id + R"("})");
    CHECK(answer.captured.empty());
    CHECK(answer.captured_by_plan.empty() == !is_sampled(id, 0.25));
    if (answer.captured_by_plan.empty()) continue;
    ++sampled;
    CHECK(text_of(answer.captured_by_plan) == R"("node":"l","side":"out","state":"done","rows":{"id":[1,2]},"cut":1)"
                                              "\n");
  }
  CHECK(sampled == 88);  // hashes do not depend on the machine
  engine_world other;
  CHECK(other.rank(other.bind(plan_text), R"({"request_id":"r1"})").captured_by_plan.empty());
}

TEST_CASE("a smaller share of the requests is part of a larger one") {
  CHECK(is_sampled("any", 1));
  CHECK_FALSE(is_sampled("any", 0));
  for (int i = 0; i < 300; ++i) {
    const std::string id = "r" + std::to_string(i);
    if (is_sampled(id, 0.1)) CHECK(is_sampled(id, 0.3));
  }
}
