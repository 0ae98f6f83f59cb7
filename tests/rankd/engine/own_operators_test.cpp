// tests/rankd/engine/own_operators_test.cpp: operators of libraries in plans that run: failures, budgets, versions,
// many requests at once.
#include <rankd/abi/operators.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/plans/plan_graph.hpp>
#include <rankd/op/operator_library.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/watchdog.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::watchdog;
using namespace std::chrono_literals;
namespace ops = rankd::operators;

namespace {

/// Fails, takes memory, or waits until another one is running, too.
struct trouble {
  static auto shape() -> ops::shape {
    return ops::shape("engine_test::trouble", "Trouble.").choice("what", {"fail", "take", "meet"});
  }
  explicit trouble(const ops::binding& with) : what(with.choice("what")) {}
  void run(ops::rows& /*rows*/) const {
    if (what == 0) throw std::runtime_error("no luck today");
    if (what == 2) meet();
  }
  void meet() const {
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
  }
  std::size_t what;
  mutable std::atomic<int> inside{0};  // requests that came in
};

/// A text for each row, as long as it is told.
struct long_text {
  static auto shape() -> ops::shape {
    return ops::shape("engine_test::long_text", "A long text.")
        .writes("out_key", ops::texts)
        .integer("size", {0, 1 << 20});
  }
  explicit long_text(const ops::binding& with)
      : out(with.written("out_key")), text(static_cast<std::size_t>(with.integer("size")), 'x') {}
  void run(ops::rows& rows) const {
    auto texts = rows.write_texts(out);
    for (std::size_t row = 0; row < rows.size(); ++row) texts.set(row, text);
  }
  ops::written_column out;
  std::string text;
};

/// So many rows, with ids from a first one on.
struct numbers {
  static auto shape() -> ops::shape {
    return ops::shape("engine_test::numbers", "Rows of its own.", ops::effect::makes_rows)
        .integer("count", {0, 1 << 20})
        .integer("first", {0, 1000});
  }
  explicit numbers(const ops::binding& with)
      : count(static_cast<std::size_t>(with.integer("count"))), first(with.integer("first")) {}
  void run(ops::rows& rows) const {
    ops::made_rows made = rows.make(count);
    for (std::size_t row = 0; row < count; ++row) made.set_id(row, first + static_cast<std::int64_t>(row));
  }
  std::size_t count;
  std::int64_t first;
};

/// All rows but the first, the last of the others before them, and one of its own, with id 999, behind them.
struct blend {
  static auto shape() -> ops::shape {
    return ops::shape("engine_test::blend", "Rows of both.", ops::effect::merges_rows).input("others");
  }
  explicit blend(const ops::binding& with) : others(with.input("others")) {}
  void run(ops::rows& rows) const {
    ops::made_rows made = rows.make(rows.size() + 1);
    made.take(0, others, rows.input(others).size() - 1);
    for (std::size_t row = 1; row < rows.size(); ++row) made.take(row, ops::first_input, row);
    made.set_id(rows.size(), 999);
  }
  ops::input_rows others;
};

/// Keeps its rows, whatever stands in the others.
struct beside {
  static auto shape() -> ops::shape { return ops::shape("engine_test::beside", "Its rows.").input("others"); }
  explicit beside(const ops::binding&) {}
  void run(ops::rows&) const {}
};

auto loaded() -> bool {
  static const bool once =
      add_operators(*ops::detail::library<trouble, long_text, numbers, blend, beside>(), {"libengine_test.so", "00"})
          .has_value();
  return once;
}

auto troubled(const std::string& what) -> std::string {
  return node("t", "engine_test::trouble", "s", R"({"what":")" + what + "\"}");
}

auto numbered(const std::string& id, int count, int first) -> std::string {
  return node(id, "engine_test::numbers", "",
              R"({"count":)" + std::to_string(count) + R"(,"first":)" + std::to_string(first) + "}");
}

auto blended(const std::string& id, const std::string& input, const std::string& others) -> std::string {
  return node(id, "engine_test::blend", input, R"({"others":")" + others + "\"}");
}

const std::string asked = R"({"request_id":"r"})";

}  // namespace

TEST_CASE("an operator of a library fails its node, and a fallback answers that") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const ranking failed = world.rank(world.bind(artifact_of(source("s", 3) + "," + troubled("fail"), R"("t")")), asked);
  CHECK(error_of(failed) == "operator_failed t");
  CHECK(failed.error->message.find("no luck today") != std::string::npos);
  std::string covered = troubled("fail");
  covered.pop_back();
  covered += R"(,"fallback":{"on":["operator_failed"],"use":"input"}})";
  const ranking answer = world.rank(world.bind(artifact_of(source("s", 3) + "," + covered, R"("t")",
                                                           R"("capabilities_required":["cap.rfc.0004.fallback.v1"],)")),
                                    asked);
  CHECK(error_of(answer) == "fine");
  CHECK(ids_of(answer) == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("what an operator of a library takes counts for the budget of its plan") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const auto of_size = [&](int size) {
    const std::string text =
        node("t", "engine_test::long_text", "s", R"({"out_key":3002,"size":)" + std::to_string(size) + "}");
    return error_of(
        world.rank(world.bind(artifact_of(source("s", 4) + "," + text, R"("t")"), {.bytes = 1'000'000}), asked));
  };
  CHECK(of_size(1000) == "fine");
  CHECK(of_size(1 << 20) == "memory_budget_exceeded t");
}

TEST_CASE("rows that operators of libraries make count for the budget of their plan") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const std::string made = numbered("n", 5, 100);
  const auto within = [&](const std::string& nodes, const std::string& output, plan_budget budget) {
    return error_of(world.rank(world.bind(artifact_of(nodes, output), budget), asked));
  };
  CHECK(within(made, R"("n")", {.rows = 5}) == "fine");
  CHECK(within(made, R"("n")", {.rows = 4}) == "row_budget_exceeded n");
  CHECK(within(numbered("n", 1 << 20, 0), R"("n")", {.bytes = 1'000'000}) == "memory_budget_exceeded n");
  const std::string both = source("s", 3) + "," + made + "," + blended("b", "s", "n");
  CHECK(within(both, R"("b")", {.rows = 12}) == "fine");
  CHECK(within(both, R"("b")", {.rows = 11}) == "row_budget_exceeded b");
}

TEST_CASE("an explanation says which input a merged row came from, and which rows were left") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const bound_plan& plan =
      world.bind(artifact_of(source("s", 3) + "," + numbered("n", 3, 1) + "," + blended("b", "s", "n"), R"("b")"));
  const ranking answer = world.rank(plan, R"({"request_id":"r","explain":{"ids":[1,2,3,999]}})");
  CHECK(ids_of(answer) == std::vector<std::int64_t>{3, 2, 3, 999});
  REQUIRE(answer.explained != nullptr);
  const auto fate = [&](std::size_t at) {
    std::string out;
    const id_fate& of = answer.explained->ids[at];
    for (const std::string& each : of.produced_by) out += "made by " + each + ", ";
    for (const id_merge& each : of.merges) out += each.node_id + " takes " + each.from + ", ";
    for (const id_drop& each : of.drops)
      out += each.node_id + " leaves " + std::string(to_string(each.reason)) + " " + each.from + " " +
             std::to_string(each.position) + ", ";
    return out;
  };
  CHECK(fate(0) == "made by s, made by n, b leaves merged s 1, b leaves merged n 1, ");
  CHECK(fate(1) == "made by s, made by n, b takes s, b leaves merged n 2, ");
  CHECK(fate(2) == "made by s, made by n, b takes s, b takes n, ");
  CHECK(fate(3) == "made by b, ");
  const std::string text = to_json(*answer.explained);
  CHECK(text.contains(R"("reason":"merged","rows":1,"from":"n","position":2)"));
  CHECK(text.contains(R"("merged":[{"node":"b","from":"s","rows":1}])"));
  const node_report& merged = answer.explained->nodes.back();
  CHECK(merged.rows_in == 6);
  CHECK(merged.rows_out == 4);
}

TEST_CASE("rows of an input that is only read are not followed") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(
      source("s", 2) + "," + numbered("n", 1, 7) + "," + node("k", "engine_test::beside", "s", R"({"others":"n"})"),
      R"("k")"));
  const ranking answer = world.rank(plan, R"({"request_id":"r","explain":{"ids":[7]}})");
  CHECK(ids_of(answer) == std::vector<std::int64_t>{1, 2});
  REQUIRE(answer.explained != nullptr);
  CHECK(answer.explained->ids[0].drops.empty());
  const plan_graph graph = make_graph(plan, reference_project::get().declared);
  REQUIRE(graph.nodes.back().sources.size() == 2);
}

TEST_CASE("an operator of a library runs for several requests at once") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world first;
  engine_world second;
  const bound_plan& plan = first.bind(artifact_of(source("s", 1) + "," + troubled("meet"), R"("t")"));
  std::string other;
  std::thread beside([&] { other = error_of(second.rank(plan, asked)); });
  CHECK(error_of(first.rank(plan, asked)) == "fine");
  beside.join();
  CHECK(other == "fine");
}

TEST_CASE("the version of a plan covers the libraries that it uses, and no others") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const bound_plan& with = world.bind(artifact_of(source("s", 1) + "," + troubled("fail"), R"("t")"));
  CHECK(with.operators == std::vector<operator_digest>{{"libengine_test.so", "00"}});
  CHECK(with.digest != with.artifact_digest);
  CHECK(with.digest == plan_identity(with.artifact_digest, {}, with.operators));
  CHECK(with.digest != plan_identity(with.artifact_digest, {}, {{"libengine_test.so", "01"}}));
  const bound_plan& without = world.bind(artifact_of(source("s", 1), R"("s")"));
  CHECK(without.operators.empty());
  CHECK(without.digest == without.artifact_digest);
  const plan_graph graph = make_graph(with, reference_project::get().declared);
  CHECK(graph.nodes.back().doc == "Trouble.");
  CHECK(graph_json(graph).find(R"("operators":[{"library":"libengine_test.so","sha256":"00"}])") != std::string::npos);
}
