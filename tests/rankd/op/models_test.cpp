// tests/rankd/op/models_test.cpp: models that are wrong, and scores against a plain reading of the same files.
#include <rankd/op/models.hpp>

#include <rankd/op/detail/scoring.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <braid/base/random.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::scratch_folder;
using rankd::testing::bind_op;
using rankd::testing::lines;
using rankd::testing::op_bench;
using rankd::testing::op_world;
using json = nlohmann::json;

namespace {

constexpr std::uint32_t score_key = 1001;
constexpr std::uint32_t count_key = 1501;
constexpr std::uint32_t fresh_key = 1502;

auto said_of(const std::string& text) -> lines {
  const auto made = detail::parse_model(text, "m.json", op_world());
  if (made) return {};
  for (const braid::diagnostic& each : made.error()) CHECK(each.source == "m.json");
  return rankd::testing::list(made.error());
}

auto linear(const std::string& weights) -> std::string {
  return R"({"schema_version":1,"kind":"linear","weights":)" + weights + "}";
}

auto forest(const std::string& trees, const std::string& keys = R"(["count","score"])") -> std::string {
  return R"({"schema_version":1,"kind":"trees","split":"<","keys":)" + keys + R"(,"trees":)" + trees + "}";
}

/// A tree of three nodes with these children of the first and these features.
auto tree(const std::string& feature, const std::string& left, const std::string& right,
          const std::string& rest = R"("threshold":[1,0,0],"null_left":[true,true,true],"value":[0,1,2])")
    -> std::string {
  return R"([{"feature":)" + feature + R"(,"left":)" + left + R"(,"right":)" + right + "," + rest + "}]";
}

/// A tree that is a chain of so many nodes above a leaf at each of them.
auto chain(std::size_t splits) -> std::string {
  json one{{"feature", json::array()}, {"threshold", json::array()}, {"left", json::array()},
           {"right", json::array()},   {"null_left", json::array()}, {"value", json::array()}};
  for (std::size_t at = 0; at < 2 * splits + 1; ++at) {
    const bool split = at % 2 == 0 && at < 2 * splits;
    one["feature"].push_back(split ? 0 : -1);
    one["threshold"].push_back(0);
    one["left"].push_back(split ? static_cast<int>(at) + 1 : -1);
    one["right"].push_back(split ? static_cast<int>(at) + 2 : -1);
    one["null_left"].push_back(false);
    one["value"].push_back(1);
  }
  return json::array({one}).dump();
}

auto model_of(const std::string& text) -> std::shared_ptr<const model> {
  auto made = detail::parse_model(text, "m.json", op_world());
  if (!made) throw std::runtime_error(made.error().to_text());
  return *made;
}

/// Values of a row as a model sees them: nothing for a null.
using row_values = std::vector<std::optional<double>>;

/// One tree for one row, read as its file says.
auto leaf_of(const json& one, const std::string& split, const row_values& row) -> double {
  std::size_t at = 0;
  while (one.at("feature")[at] != -1) {
    const auto& value = row[one.at("feature")[at].get<std::size_t>()];
    const double threshold = one.at("threshold")[at];
    bool left = one.at("null_left")[at];
    if (value) left = split == "<" ? *value < threshold : *value <= threshold;
    at = one.at(left ? "left" : "right")[at].get<std::size_t>();
  }
  return one.at("value")[at];
}

/// Random trees over two keys, whose nodes lie in any order but for the root.
struct tree_maker {
  braid::random_source random;
  json one;

  auto number() -> double { return static_cast<double>(random.below(9)) - 4; }

  auto make(std::size_t depth) -> json {
    one = {{"feature", json::array()}, {"threshold", json::array()}, {"left", json::array()},
           {"right", json::array()},   {"null_left", json::array()}, {"value", json::array()}};
    add(depth);
    return one;
  }

  auto add(std::size_t depth) -> std::size_t {
    const std::size_t at = one["feature"].size();
    const bool split = depth > 0 && random.below(5) != 0;
    one["feature"].push_back(split ? static_cast<int>(random.below(3)) : -1);
    one["threshold"].push_back(number());
    one["left"].push_back(-1);
    one["right"].push_back(-1);
    one["null_left"].push_back(random.below(2) == 0);
    one["value"].push_back(number() / 7);
    if (!split) return at;
    // Which child comes first is left to chance.
    const bool right_first = random.below(2) == 0;
    one[right_first ? "right" : "left"][at] = add(depth - 1);
    one[right_first ? "left" : "right"][at] = add(depth - 1);
    return at;
  }
};

/// Rows with three columns: floats, ints, flags, some of them null.
struct random_rows {
  std::vector<row_values> values;
  row_set rows;

  random_rows(op_bench& bench, std::size_t count, braid::random_source& random) {
    std::vector<std::optional<double>> scores;
    std::vector<std::optional<std::int64_t>> counts;
    std::vector<std::optional<bool>> flags;
    std::vector<std::int64_t> ids;
    for (std::size_t at = 0; at < count; ++at) {
      ids.push_back(static_cast<std::int64_t>(at));
      row_values row(3);
      if (random.below(5) != 0) row[0] = static_cast<double>(random.below(9)) - 4;
      if (random.below(5) != 0) row[1] = static_cast<double>(random.below(9)) - 4;
      if (random.below(5) != 0) row[2] = static_cast<double>(random.below(2));
      scores.push_back(row[0]);
      counts.emplace_back();
      flags.emplace_back();
      if (row[1]) counts.back() = static_cast<std::int64_t>(*row[1]);
      if (row[2]) flags.back() = *row[2] != 0;
      values.push_back(std::move(row));
    }
    rows = row_set(batch(bench.memory().copied(std::span<const std::int64_t>(ids))));
    rows = bench.with<double>(rows, score_key, scores);
    rows = bench.with<std::int64_t>(rows, count_key, counts);
    rows = bench.with<bool>(rows, fresh_key, flags);
  }
};

auto bits(double value) -> std::uint64_t { return std::bit_cast<std::uint64_t>(value); }

const std::string three_keys = R"(["score","count","fresh"])";

/// The positions that some rows have: all, the first of them, or every third from the end.
auto views_of(const row_set& rows, braid::arena& memory) -> std::vector<row_set> {
  std::vector<std::uint32_t> order;
  for (std::size_t at = rows.size(); at-- > 0;)
    if (at % 3 == 0) order.push_back(static_cast<std::uint32_t>(at));
  return {rows, rows.take(rows.size() / 2),
          row_set(rows.table(), memory.copied(std::span<const std::uint32_t>(order)))};
}

/// Checks the sums of all views of rows, in parts of several sizes; `expected(row)` is the sum, or nothing for null.
template <typename Expected>
void check_sums(const model& with, const random_rows& given, op_bench& bench, const Expected& expected) {
  for (const row_set& view : views_of(given.rows, bench.memory())) {
    for (const std::size_t part : {std::numeric_limits<std::size_t>::max(), std::size_t{1}, std::size_t{300}}) {
      const auto sums = with.sums(view, bench.memory(), {.rows_of_part = part});
      REQUIRE(sums);
      std::vector<bool> active(given.values.size(), false);
      view.for_each_row([&](std::uint32_t row) { active[row] = true; });
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < given.values.size(); ++row) {
        const std::optional<double> sum = active[row] ? expected(given.values[row]) : std::nullopt;
        const column& found = sums->front().values;
        if (found.is_null(row) != !sum) ++wrong;
        if (sum && bits((*found.floats())[row]) != bits(*sum)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

}  // namespace

TEST_CASE("models that are wrong are refused with a place for each diagnostic") {
  const std::vector<std::pair<std::string, lines>> table{
      {"", {"json_syntax "}},
      {"[]", {"wrong_type "}},
      {"{}", {"missing_field ", "missing_field "}},
      {R"({"schema_version":2,"kind":"linear","weights":[{"key":"count","weight":1}]})",
       {"unsupported_schema /schema_version"}},
      {R"({"schema_version":1,"kind":"forest"})", {"bad_value /kind"}},
      {R"({"schema_version":1,"kind":"linear"})", {"missing_field "}},
      {R"({"schema_version":1,"kind":"linear","weights":[{"key":"count","weight":1}],"trees":[]})",
       {"unknown_field /trees"}},
      {linear("[]"), {"too_few_items /weights"}},
      {linear("{}"), {"wrong_type /weights"}},
      {linear(R"([{"key":"count","weight":NaN}])"), {"non_finite_number /weights/0/weight"}},
      {linear(R"([{"key":"count","weight":1e400}])"), {"number_out_of_range /weights/0/weight"}},
      {linear(R"([{"key":"count","weight":"1"}])"), {"wrong_type /weights/0/weight"}},
      {linear(R"([{"key":"count","weight":1,"when_null":true}])"), {"wrong_type /weights/0/when_null"}},
      {linear(R"([{"key":"count"},{"weight":1},7,{"key":"score","weight":1,"bias":0}])"),
       {"missing_field /weights/0", "missing_field /weights/1", "wrong_type /weights/2",
        "unknown_field /weights/3/bias"}},
      {linear(R"([{"key":"cuont","weight":1},{"key":"country","weight":1},{"key":"features","weight":1},
                  {"key":"old","weight":1},{"key":"secret","weight":1},{"key":1501,"weight":1}])"),
       {"unknown_key /weights/0/key", "wrong_key_type /weights/1/key", "wrong_key_type /weights/2/key",
        "blocked_key /weights/3/key", "unreadable_key /weights/4/key", "wrong_type /weights/5/key"}},
      {linear(R"([{"key":"count","weight":1},{"key":"count","weight":2}])"), {"duplicate_value /weights/1/key"}},
      {forest("[]"), {"too_few_items /trees"}},
      {forest("[7]"), {"wrong_type /trees/0"}},
      {forest("[{}]"), lines(6, "missing_field /trees/0")},
      {forest(tree("[0,-1,-1]", "[1,-1,-1]", "[2,-1,-1]"), "[]"),
       {"too_few_items /keys", "out_of_range /trees/0/feature/0"}},
      {forest(tree("[0,-1,-1]", "[1,-1,-1]", "[2,-1,-1]"), R"(["count",7,"title","count"])"),
       {"wrong_type /keys/1", "wrong_key_type /keys/2", "duplicate_value /keys/3"}},
      {forest(tree("[]", "[]", "[]", R"("threshold":[],"null_left":[],"value":[])")),
       {"too_few_items /trees/0/feature"}},
      {forest(tree("[2,-1,-1]", "[1,-1,-1]", "[2,-1,-1]")), {"out_of_range /trees/0/feature/0"}},
      {forest(tree("[-2,-1,-1]", "[1,-1,-1]", "[2,-1,-1]")), {"out_of_range /trees/0/feature/0"}},
      {forest(tree("[0,-1,-1]", "[3,-1,-1]", "[-1,-1,-1]")),
       {"out_of_range /trees/0/left/0", "out_of_range /trees/0/right/0"}},
      {forest(tree("[0,-1,-1]", "[1,-1,-1]", "[1,-1,-1]")), {"shared_node /trees/0/right/0"}},
      {forest(tree("[0,1,-1]", "[1,0,-1]", "[2,2,-1]")), {"cycle /trees/0/left/1", "shared_node /trees/0/right/1"}},
      {forest(tree("[0,-1,-1]", "[0,-1,-1]", "[2,-1,-1]")), {"cycle /trees/0/left/0"}},
      {forest(tree("[-1,-1,-1]", "[1,-1,-1]", "[2,-1,-1]")), {"unreached_node /trees/0/feature/1"}},
      {forest(tree("[0,-1,-1]", "[1,-1,-1]", "[2,-1]")), {"wrong_length /trees/0/right"}},
      {forest(tree("[0.5,-1,-1]", R"([1,"x",-1])", "[2,-1,-1]",
                   R"("threshold":[1,null,0],"null_left":[true,1,true],"value":[0,1,2],"gain":[])")),
       {"wrong_type /trees/0/feature/0", "wrong_type /trees/0/threshold/1", "wrong_type /trees/0/left/1",
        "wrong_type /trees/0/null_left/1", "unknown_field /trees/0/gain"}},
      {forest(tree("[0,-1,-1]", "[1,-1,-1]", "[2,-1,-1]",
                   R"("threshold":[1,0,0],"null_left":[true,true,true],"value":[0,1,-1e999])")),
       {"number_out_of_range /trees/0/value/2"}},
      {forest(chain(detail::max_tree_levels + 1)), {"tree_too_deep /trees/0/feature/129"}},
      {forest(chain(5'000)), {"tree_too_deep /trees/0/feature/129"}},
      {R"({"schema_version":1,"kind":"trees","keys":["count"],"trees":[]})",
       {"missing_field ", "too_few_items /trees"}},
      {std::string(5'000, '['), {"json_too_deep "}},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text.substr(0, 300));
    const lines said = said_of(text);
    std::string all;
    for (const std::string& each : said) all += each + "\n";
    CAPTURE(all);
    // Where the document cannot be read its own rules say where.
    const bool same = expected.front().starts_with("json_")
                          ? said.size() == 1 && said.front().starts_with(expected.front())
                          : said == expected;
    CHECK(same);
  }
}

TEST_CASE("what is at the limit is no diagnostic") {
  CHECK((said_of(forest(chain(detail::max_tree_levels))) == lines()));
  CHECK(
      (said_of(forest(tree("[-1]", "[-1]", "[-1]", R"("threshold":[0],"null_left":[false],"value":[3])"))) == lines()));
  CHECK((said_of(linear(R"([{"key":"id","weight":1},{"key":"fresh","weight":1e308,"when_null":null}])")) == lines()));
}

TEST_CASE("a linear model adds its weights in order, and a null is what the model says, or makes the score null") {
  op_bench bench;
  braid::random_source random(1);
  const random_rows given(bench, 1'000, random);
  const auto all = model_of(R"({"schema_version":1,"kind":"linear","intercept":0.1,"weights":[
      {"key":"score","weight":0.3,"when_null":-0.7},{"key":"count","weight":-1.1,"when_null":0},
      {"key":"fresh","weight":1e-3,"when_null":2},{"key":"aging","weight":5,"when_null":0.2}]})");
  check_sums(*all, given, bench, [](const row_values& row) -> std::optional<double> {
    double sum = 0.1;
    sum += 0.3 * row[0].value_or(-0.7);
    sum += -1.1 * row[1].value_or(0);
    sum += 1e-3 * row[2].value_or(2);
    return sum + 5 * 0.2;
  });
  const auto some = model_of(linear(R"([{"key":"score","weight":0.3},{"key":"count","weight":2,"when_null":1}])"));
  check_sums(*some, given, bench, [](const row_values& row) -> std::optional<double> {
    if (!row[0]) return std::nullopt;
    return 0.0 + 0.3 * *row[0] + 2 * row[1].value_or(1);
  });
}

TEST_CASE("trees end in the leaves that a plain walk finds, whatever the nodes' order, the parts and the nulls") {
  op_bench bench;
  braid::random_source random(7);
  for (int round = 0; round < 40; ++round) {
    const std::string split = round % 2 == 0 ? "<" : "<=";
    tree_maker maker{braid::random_source(random.below(1'000'000)), {}};
    json trees = json::array();
    for (std::size_t at = 0; at < 1 + random.below(6); ++at) trees.push_back(maker.make(random.below(8)));
    const json file{{"schema_version", 1}, {"kind", "trees"},  {"keys", json::parse(three_keys)},
                    {"split", split},      {"intercept", 0.3}, {"trees", trees}};
    CAPTURE(file.dump());
    const random_rows given(bench, random.below(700), random);
    check_sums(*model_of(file.dump()), given, bench, [&](const row_values& row) -> std::optional<double> {
      double sum = 0.3;
      for (const json& one : trees) sum += leaf_of(one, split, row);
      return sum;
    });
  }
}

TEST_CASE("the operator writes scores, squeezed where the model says so, and names what it must not write") {
  op_bench bench;
  row_set rows = bench.with<std::int64_t>(bench.rows_of({1, 2, 3}), count_key, {9, 10, std::nullopt});
  rows = bench.with<bool>(rows, fresh_key, {true, true, std::nullopt});
  const row_set out = bench.rows("core::call_models", R"({"models":["line","forest"],"out_keys":[1001,2001]})", {rows});
  const auto line = *out.table().find(1001);
  const auto squeezed = *out.table().find(2001);
  const std::vector<double> sums{17.5, 19.5, -0.5};
  const std::vector<double> leaves{-1, 2, -1};
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK((*line.floats())[row] == sums[row]);
    CHECK((*squeezed.floats())[row] == 1 / (1 + std::exp(-leaves[row])));
  }

  const scratch_folder folder;
  folder.write("strict.json", linear(R"([{"key":"count","weight":1}])"));
  folder.write("huge.json", linear(R"([{"key":"count","weight":1.9e307,"when_null":0}])"));
  const auto failing = [&](const std::string& name, std::uint32_t key) {
    model_folder models(folder.path(), op_world());
    plan_node node;
    node.op = "core::call_models";
    node.params = {{"models", param_kind::names, {}, {}, "/m", {name}},
                   {"out_keys", param_kind::key_ids, {}, {key}, "/o"}};
    const auto bound = find_op(node.op)->bind(node, {op_world(), {}, {}, &models});
    const auto result = bench.run(*bound.value(), {rows});
    return result ? std::string("fine") : result.error().code + ": " + result.error().message;
  };
  CHECK(failing("strict", 1001) == "fine");
  CHECK(failing("strict", 2001) ==
        "null_value: model `strict` gives row 2 (id 3) no score, but `final_score` must not be null");
  CHECK(failing("huge", 1001) ==
        "non_finite_value: model `huge` gives row 1 (id 2) a score that is not a finite number");

  static_cast<void>(bench.stop.request(braid::errc::stopped));
  CHECK(failing("strict", 1001).starts_with("stopped: "));
}

TEST_CASE("scores and features are asked for before memory is taken, where the plan has a budget") {
  op_bench bench;
  std::vector<std::int64_t> ids(100'000, 1);
  const std::vector<row_set> input{row_set(batch(std::span<const std::int64_t>(ids)))};
  const std::array<store*, 3> stores{&bench.store, nullptr, nullptr};
  const auto ended = [&](const std::string& op, const std::string& params, std::uint64_t bytes) {
    usage used({.bytes = bytes}, 1);
    braid::arena memory;
    node_context context{.memory = memory, .inputs = input, .params = bench.params, .stores = stores, .used = &used};
    const auto bound = bind_op(op, params).value();
    const bool waits = bound->work() == op_work::waits;
    const op_result<row_set> result = waits ? braid::sync_wait(bound->start(context)) : bound->run(context);
    if (!result) CHECK(memory.reserved() < 100'000);
    return result ? "fine" : result.error().code;
  };
  for (const auto& [op, params] :
       {std::pair{"core::call_models", R"({"models":["line","forest"],"out_keys":[1001,2001]})"},
        std::pair{"core::fetch_features", R"({"endpoint":"ep_0001","keys":[1001,1501]})"}}) {
    CAPTURE(op);
    CHECK(ended(op, params, 1'000'000) == "budget_exceeded");
    CHECK(ended(op, params, 100'000'000) == "fine");
  }
}

TEST_CASE("a folder reads a model once, knows its digest, and notices who writes meanwhile") {
  const scratch_folder folder;
  const std::string text = linear(R"([{"key":"count","weight":1}])");
  folder.write("good.json", text);
  folder.write("bad.json", linear("[]"));
  model_folder models(folder.path(), op_world());
  CHECK(models.digest("good").value() == sha256_hex(text));
  const auto first = models.find("good");
  REQUIRE(first);
  CHECK(models.find("good").value() == *first);
  REQUIRE_FALSE(models.find("bad"));
  CHECK(models.find("bad").error().front().source == (folder.path() / "bad.json").string());
  const auto missing = models.find("goods");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().front().code == "unknown_model");
  CHECK(missing.error().front().hint == "did you mean `good`?");
  CHECK(models.stands_still());

  folder.write("good.json", linear(R"([{"key":"count","weight":2}])"));
  CHECK_FALSE(models.stands_still());
  CHECK(models.find("good").value() == *first);

  model_folder none({}, op_world());
  REQUIRE_FALSE(none.find("good"));
  CHECK(none.find("good").error().front().code == "no_models");
}

TEST_CASE("a plan names the models that it calls, each once") {
  const auto call = [](const std::string& id, const std::string& input, const std::string& more) {
    return R"(,{"node_id":")" + id + R"(","op":"core::call_models","inputs":[")" + input + R"("],"params":)" + more +
           "}";
  };
  const auto loaded = parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":["b"],"nodes":[)"
                                 R"({"node_id":"s","op":"test::fixed_source","inputs":[]})" +
                                     call("a", "s", R"({"models":["two","one"],"out_keys":[1001,5002]})") +
                                     call("b", "a", R"({"models":["one"],"out_keys":[2001]})") + "]}",
                                 "t.json", {all_op_shapes(), op_world()});
  REQUIRE(loaded);
  CHECK((list_models(*loaded) == lines{"one", "two"}));
}
