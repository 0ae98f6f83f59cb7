// tests/rankd/engine/fallback_test.cpp: what stands in for nodes and plans that fail, and what answers say of it.
#include <rankd/engine/engine.hpp>
#include <rankd/plan/fallback.hpp>

#include <braid/base/random.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

using ids = std::vector<std::int64_t>;
using names = std::vector<std::string>;

const std::string required =
    R"("capabilities_required":["cap.rfc.0004.fallback.v1"],"expr_table":{"n":{"op":"key_ref","key_id":2001}},)";

/// A node with a fallback behind its other fields.
auto or_else(std::string node, const std::string& use, const std::string& on = R"("test_failure")",
             const std::string& more = "") -> std::string {
  node.pop_back();
  return node + R"(,"fallback":{"on":[)" + on + R"(],"use":)" + use + more + "}}";
}

auto use(const std::string& id) -> std::string { return R"({"node":")" + id + "\"}"; }

auto failing(const std::string& id, const std::string& input) -> std::string {
  return sleep(id, input, 0, sleep_end::failing);
}

auto plan_of(const std::string& nodes, const std::string& outputs) -> std::string {
  return artifact_of(nodes, outputs, required);
}

auto list_degraded(const ranking& answer) -> names {
  names out;
  for (const degradation& each : answer.degraded)
    out.push_back((each.plan.empty() ? each.node : each.plan) + " " + each.code + " " + each.used);
  return out;
}

auto list_states(const ranking& answer) -> names {
  names out;
  for (const node_report& each : answer.explained->nodes)
    out.push_back(each.node_id + " " + std::string(to_string(each.state)) + (each.used.empty() ? "" : " " + each.used));
  return out;
}

const std::string asked = R"({"request_id":"r"})";
const std::string explained = R"({"request_id":"r","explain":true})";

}  // namespace

TEST_CASE("another node stands in for one that fails, and runs only then") {
  const watchdog guard(60s);
  for (const run_order order : {run_order::side_by_side, run_order::one_by_one}) {
    engine_world world(2, {.order = order});
    const auto plan = [&](const std::string& first) -> const bound_plan& {
      return world.bind(plan_of(source("a", 3) + "," + source("b", 1) + "," + or_else(first, use("t")) + "," +
                                    node("t", "core::take", "b", R"({"count":9})") + "," +
                                    node("z", "core::take", "x", R"({"count":2})"),
                                R"("z")"));
    };
    const ranking fell = world.rank(plan(failing("x", "a")), explained);
    CHECK((ids_of(fell) == ids{1}));
    CHECK((list_degraded(fell) == names{"x test_failure t"}));
    CHECK((list_states(fell) == names{"a done", "x failed t", "b done", "t done", "z done"}));

    const ranking well = world.rank(plan(sleep("x", "a", 0)), explained);
    CHECK((ids_of(well) == ids{1, 2}));
    CHECK(well.degraded.empty());
    CHECK((list_states(well) == names{"a done", "x done", "b bypassed", "t bypassed", "z done"}));
  }
}

TEST_CASE("the input or nothing stands in, for outputs too, and the answer says so in the order of the plan") {
  engine_world world;
  const bound_plan& plan =
      world.bind(plan_of(source("a", 2) + "," + or_else(failing("y", "a"), R"("empty")", R"("test_*")") + "," +
                             or_else(failing("x", "a"), R"("input")", R"("store_*","*")"),
                         R"("x","y","a")"));
  const ranking answer = world.rank(plan, asked);
  CHECK((ids_of(answer) == ids{1, 2, 1, 2}));
  CHECK((list_degraded(answer) == names{"y test_failure empty", "x test_failure input"}));
  CHECK(to_json(answer).find(R"("plan":"t","degraded":[{"node":"y","code":"test_failure","used":"empty"},)"
                             R"({"node":"x","code":"test_failure","used":"input"}],"candidates":[)") !=
        std::string::npos);
}

TEST_CASE("a failure that is not listed fails the request, and so does one of the substitute") {
  engine_world world;
  CHECK(error_of(
            world.rank(world.bind(plan_of(
                           source("a", 1) + "," + or_else(failing("x", "a"), R"("input")", R"("store_*")"), R"("x")")),
                       asked)) == "test_failure x");
  const auto both = [](const std::string& substitute) {
    return plan_of(source("a", 1) + "," + or_else(failing("x", "a"), use("y")) + "," + substitute, R"("x")");
  };
  CHECK(error_of(world.rank(world.bind(both(failing("y", "a"))), asked)) == "test_failure y");
  const ranking chain = world.rank(world.bind(both(or_else(failing("y", "a"), R"("input")"))), asked);
  CHECK((ids_of(chain) == ids{1}));
  CHECK((list_degraded(chain) == names{"x test_failure y", "y test_failure input"}));
}

TEST_CASE("a node that stands in for several waits for all of them, and one that others need anyway runs anyway") {
  engine_world world;
  const bound_plan& shared = world.bind(plan_of(source("a", 1) + "," + or_else(sleep("x", "a", 0), use("s")) + "," +
                                                    or_else(failing("y", "a"), use("s")) + "," + source("s", 4),
                                                R"("x","y")"));
  CHECK((ids_of(world.rank(shared, asked)) == ids{1, 1, 2, 3, 4}));
  const bound_plan& live = world.bind(
      plan_of(source("s", 2) + "," + source("a", 1) + "," + or_else(sleep("x", "a", 0), use("s")), R"("x","s")"));
  const ranking answer = world.rank(live, explained);
  CHECK((ids_of(answer) == ids{1, 1, 2}));
  CHECK((list_states(answer) == names{"s done", "a done", "x done"}));
}

TEST_CASE("a node whose time is over is stood in for at once, whether it can be interrupted or not") {
  const watchdog guard(60s);
  engine_world world(2, {.node_timeout = 5ms});  // the other nodes run on the loop, where none has
  const bound_plan& waits = world.bind(plan_of(
      source("a", 2) + "," + or_else(sleep("x", "a", an_hour_ms), R"("input")", R"("node_timeout")"), R"("x")"));
  const ranking first = world.rank(waits, explained);
  CHECK((ids_of(first) == ids{1, 2}));
  CHECK((list_degraded(first) == names{"x node_timeout input"}));
  CHECK((list_states(first) == names{"a done", "x timed_out input"}));
  const bound_plan& computes = world.bind(plan_of(
      source("a", 2) + "," + or_else(busy("x", "a", an_hour_ms), use("s"), R"("node_*")") + "," + source("s", 3),
      R"("x")"));
  CHECK((ids_of(world.rank(computes, asked)) == ids{1, 2, 3}));
}

namespace {

/// Of a plan whose node `c` takes the rows of its first input where the request says `new_model`.
const std::string branched =
    R"("capabilities_required":["cap.rfc.0004.fallback.v1","cap.rfc.0005.branch.v1"],"pred_table":{"new":)"
    R"({"op":"cmp","cmp":"==","a":{"op":"param_ref","param_id":5},"b":{"op":"const_number","value":1}}},)";

auto choice(const std::string& id, const std::string& inputs) -> std::string {
  return R"({"node_id":")" + id + R"(","op":"core::choose","inputs":[)" + inputs +
         R"(],"params":{"pred_ids":["new"]}})";
}

const std::string is_new = R"({"request_id":"r","explain":true,"param_overrides":{"new_model":true}})";

}  // namespace

TEST_CASE("a node of one branch that stands in in another runs there only when it is needed") {
  const watchdog guard(60s);
  const auto nodes = [](const std::string& first) {
    return source("a", 3) + "," + source("b", 1) + "," + failing("y", "b") + "," + or_else(first, use("y")) + "," +
           choice("c", R"("y","x")");
  };
  for (const run_order order : {run_order::side_by_side, run_order::one_by_one}) {
    engine_world world(2, {.order = order});
    const bound_plan& well = world.bind(artifact_of(nodes(sleep("x", "a", 0)), R"("c")", branched));
    const ranking healthy = world.rank(well, explained);
    CHECK((ids_of(healthy) == ids{1, 2, 3}));
    CHECK((list_states(healthy) == names{"a done", "b bypassed", "y bypassed", "x done", "c done"}));
    CHECK(error_of(world.rank(well, is_new)) == "test_failure y");
    const bound_plan& falls = world.bind(artifact_of(nodes(failing("x", "a")), R"("c")", branched));
    CHECK(error_of(world.rank(falls, asked)) == "test_failure y");
  }
}

TEST_CASE("of branches that stand in for each other the one that is not chosen runs when the other has failed") {
  engine_world world;
  const auto plan = [&](const std::string& first, const std::string& second) -> const bound_plan& {
    return world.bind(
        artifact_of(source("a", 3) + "," + or_else(first, use("y")) + "," + second + "," + choice("c", R"("y","x")"),
                    R"("c")", branched));
  };
  const ranking fell = world.rank(plan(failing("x", "a"), source("y", 1)), explained);
  CHECK((ids_of(fell) == ids{1}));
  CHECK((list_states(fell) == names{"a done", "x failed y", "y done", "c done"}));
  const ranking other = world.rank(plan(failing("x", "a"), source("y", 1)), is_new);
  CHECK((list_states(other) == names{"a bypassed", "x bypassed", "y done", "c done"}));
}

TEST_CASE("a node that would wait for itself in a branch runs there anyway") {
  // Where `x` is chosen, `s` stands in for `x` and for `z`, which takes its rows.
  engine_world world;
  const bound_plan& plan =
      world.bind(artifact_of(source("a", 2) + "," + source("s", 3) + "," + or_else(sleep("x", "a", 0), use("s")) + "," +
                                 choice("c", R"("s","x")") + "," + or_else(failing("z", "c"), use("s")),
                             R"("z")", branched));
  const ranking answer = world.rank(plan, explained);
  CHECK((ids_of(answer) == ids{1, 2, 3}));
  CHECK((list_states(answer) == names{"a done", "s done", "x done", "c done", "z failed s"}));
}

TEST_CASE("what became of an id goes on through a substitute") {
  engine_world world;
  const bound_plan& plan = world.bind(plan_of(source("a", 3) + "," + or_else(failing("x", "a"), use("t")) + "," +
                                                  node("t", "core::take", "a", R"({"count":2})"),
                                              R"("x")"));
  const ranking answer = world.rank(plan, R"({"explain":{"ids":[2,3]}})");
  REQUIRE(answer.explained->ids.size() == 2);
  CHECK((answer.explained->ids[0].positions == std::vector<std::size_t>{2}));
  CHECK(answer.explained->ids[0].drops.empty());
  REQUIRE(answer.explained->ids[1].drops.size() == 2);
  CHECK(answer.explained->ids[1].drops[0].node_id == "x");
  CHECK(answer.explained->ids[1].drops[1].node_id == "t");
}

TEST_CASE("what a node made before it failed does not count against the budget of its plan") {
  engine_world world;
  const auto plan = [&](std::uint64_t bytes) -> const bound_plan& {
    return world.bind(plan_of(source("a", 20'000) + "," +
                                  or_else(node("x", "core::vm", "a", R"({"out_key":1001,"expr_id":"n"})"), R"("empty")",
                                          R"("null_value")") +
                                  "," + node("z", "core::take", "x", R"({"count":2})"),
                              R"("z")"),
                      {.bytes = bytes});
  };
  const std::uint64_t ids_and_more = 20'000 * sizeof(std::int64_t) * 3 / 2;  // but less than ids and values
  CHECK((list_degraded(world.rank(plan(ids_and_more), asked)) == names{"x null_value empty"}));
  CHECK(error_of(world.rank(plan(1000), asked)) == "memory_budget_exceeded a");
}

TEST_CASE("nodes that were fused are not where one of them has a substitute") {
  engine_world world;
  const std::string sort = node("s", "core::sort", "a", R"({"by":1,"order":"desc"})");
  const bound_plan& plan = world.bind(
      plan_of(source("a", 3) + "," + or_else(sort, R"("input")") + "," + node("t", "core::take", "s", R"({"count":2})"),
              R"("t")"));
  for (const bound_node& each : plan.nodes) CHECK_FALSE(each.fused_with);
  CHECK((ids_of(world.rank(plan, asked)) == ids{3, 2}));
}

TEST_CASE("another plan stands in for one that fails by a code that it lists") {
  const watchdog guard(60s);
  engine_world world;
  const auto bound = [&](const std::string& nodes, const std::string& name, const std::string& more) {
    std::string artifact = artifact_of(nodes, R"("x")", required + more);
    artifact.replace(artifact.find("\"t\""), 3, "\"" + name + "\"");
    return value_of(
        bind_plan(value_of(parse_plan(artifact, name + ".json", {all_op_shapes(), reference_project::get().declared})),
                  reference_project::get().declared));
  };
  const auto ranked = [&](const std::string& nodes, const std::string& fallback, const std::string& request) {
    auto plan = bound(nodes, "first", fallback);
    CHECK(add_substitute(plan, std::make_shared<const bound_plan>(bound(source("x", 2), "other", ""))).empty());
    return world.on().run(world.ranker().rank(std::make_shared<const bound_plan>(std::move(plan)),
                                              value_of(parse_request(request, reference_project::get().declared))));
  };
  const std::string on_failure =
      R"("fallback_plan":{"plan":"other","on":["test_failure","deadline_*"],"reserve_ms":60000},)";
  const ranking answer = ranked(source("a", 1) + "," + failing("x", "a"), on_failure, asked);
  CHECK((ids_of(answer) == ids{1, 2}));
  CHECK((list_degraded(answer) == names{"first test_failure other"}));
  CHECK(answer.plan == "first");
  CHECK(to_json(answer).find(R"("degraded":[{"plan":"first","code":"test_failure","used":"other"}])") !=
        std::string::npos);

  // The plan has what it does not have to leave.
  const ranking late = ranked(source("a", 1) + "," + sleep("x", "a", an_hour_ms), on_failure,
                              R"({"request_id":"r","deadline_ms":60003})");
  CHECK((list_degraded(late) == names{"first deadline_exceeded other"}));

  CHECK(error_of(ranked(source("a", 1) + "," + failing("x", "a"),
                        R"("fallback_plan":{"plan":"other","on":["store_*"]},)", asked)) == "test_failure x");
}

TEST_CASE("a plan and its substitute are one version, and a substitute has none") {
  const registries& declared = reference_project::get().declared;
  const auto bound = [&](const std::string& more) {
    return value_of(bind_plan(value_of(parse_plan(artifact_of(source("x", 2), R"("x")", required + more), "t.json",
                                                  {all_op_shapes(), declared})),
                              declared));
  };
  const std::string on_failure = R"("fallback_plan":{"plan":"other","on":["*"]},)";
  auto plan = bound(on_failure);
  const std::string alone = plan.digest;
  CHECK(add_substitute(plan, std::make_shared<const bound_plan>(bound(on_failure))).front().code == "nested_fallback");
  CHECK(add_substitute(plan, nullptr).front().code == "unknown_plan");
  const auto paged = std::make_shared<bound_plan>(bound(""));
  paged->page_node = 0;
  CHECK(add_substitute(plan, paged).front().code == "fallback_with_pages");
  CHECK(plan.digest == alone);
  CHECK(add_substitute(plan, std::make_shared<const bound_plan>(bound(""))).empty());
  CHECK(plan.digest != alone);
}

namespace {

/// Plans of nodes that fail, with substitutes of all kinds, some of which fail as well.
class failing_plans {
 public:
  explicit failing_plans(std::uint64_t seed) : random_(seed) {}

  auto make() -> std::string {
    add(source(next(), 2));
    const std::size_t more = 3 + random_.below(8);
    for (std::size_t i = 0; i < more; ++i) add(with_fallback(made(pick())));
    std::string outputs = "\"n" + std::to_string(count_ - 1) + "\"";
    for (std::size_t at = 0; at + 1 < count_; ++at)
      if (!used_.contains(at)) outputs += ",\"n" + std::to_string(at) + "\"";
    return artifact_of(nodes_, outputs, branched + R"("expr_table":{"n":{"op":"key_ref","key_id":2001}},)");
  }

 private:
  auto next() -> std::string { return "n" + std::to_string(count_++); }
  auto pick() -> std::string {
    const std::size_t at = random_.below(count_);
    used_[at] = true;
    return "n" + std::to_string(at);
  }
  void add(const std::string& text) { nodes_ += (nodes_.empty() ? "" : ",") + text; }

  auto made(const std::string& from) -> std::string {
    switch (random_.below(7)) {
      case 5: {
        const std::string other = pick();
        return choice(next(), "\"" + from + "\",\"" + other + "\"");
      }
      case 0:
      case 1: return failing(next(), from);
      case 2: return sleep(next(), from, 0);
      case 3: return node(next(), "core::vm", from, R"({"out_key":1001,"expr_id":"n"})");  // fails on nulls
      case 4: return node(next(), "core::take", from, R"({"count":3})");
      default: {
        const std::string other = pick();
        return node(next(), "core::concat", from, R"({"rhs":")" + other + "\"}");
      }
    }
  }

  auto with_fallback(const std::string& text) -> std::string {
    const std::string on = random_.below(4) == 0 ? R"("store_*","null_value")" : R"("*")";
    switch (random_.below(5)) {
      case 0: return text;
      case 1: return or_else(text, R"("empty")", on);
      case 2: return or_else(text, R"("input")", on, R"(,"nulls":[1001])");
      default: return or_else(text, use(substitute()), on, R"(,"nulls":[1001])");
    }
  }

  /// A node of its own, with one before it at times; or one that is there.
  auto substitute() -> std::string {
    if (random_.below(3) == 0 && count_ > 2) return "n" + std::to_string(random_.below(count_ - 2));
    std::string id = next();
    std::string text = source(id, static_cast<int>(1 + random_.below(3)));
    used_[count_ - 1] = true;
    if (random_.below(2) == 0) {
      add(text);
      const std::string from = id;
      id = next();
      used_[count_ - 1] = true;
      text = random_.below(2) == 0 ? failing(id, from) : sleep(id, from, 0);
      if (random_.below(2) == 0) text = or_else(text, R"("input")");
    }
    add(text);
    return id;
  }

  braid::random_source random_;
  std::size_t count_ = 0;
  std::map<std::size_t, bool> used_;
  std::string nodes_;
};

}  // namespace

TEST_CASE("1, 2 and 8 workers give the same answer, whatever fails and whatever stands in") {
  const watchdog guard(3000s);
  engine_world one(1);
  engine_world two(2, {.max_inline_ns = 0});
  engine_world eight(8, {.max_inline_ns = 0});
  const auto plans = std::uint64_t{braid::testing::scaled(60)};
  const std::string chosen = R"({"request_id":"r","param_overrides":{"new_model":true}})";
  std::size_t refused = 0;
  std::size_t fell = 0;
  std::size_t failed = 0;
  for (std::uint64_t seed = 1; seed <= plans; ++seed) {
    CAPTURE(seed);
    const std::string artifact = failing_plans(seed).make();
    const auto loaded = parse_plan(artifact, "t.json", {all_op_shapes(), reference_project::get().declared});
    if (!loaded || !bind_plan(*loaded, reference_project::get().declared)) {
      ++refused;
      continue;
    }
    const std::string& request = seed % 2 == 0 ? asked : chosen;
    const ranking expected = one.rank(one.bind(artifact), request);
    fell += expected.degraded.empty() ? 0 : 1;
    failed += expected.error ? 1 : 0;
    for (engine_world* world : {&two, &eight}) {
      const bound_plan& plan = world->bind(artifact);
      for (int run = 0; run < 3; ++run) REQUIRE(to_json(world->rank(plan, request)) == to_json(expected));
    }
  }
  CHECK(refused < plans / 2);
  CHECK(fell > plans / 8);
  CHECK(failed > plans / 8);
}
