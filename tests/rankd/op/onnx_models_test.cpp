// tests/rankd/op/onnx_models_test.cpp: models of ONNX: scores of ONNX Runtime, what nodes mean, and files that are
// wrong. tests/rankd/op/onnx/train.py made the files.
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/models.hpp>
#include <tests/rankd/op/onnx_writer.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/trained_world.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing::onnx;
using braid::testing::scratch_folder;
using rankd::testing::lines;
using rankd::testing::op_bench;
using rankd::testing::op_world;
using rankd::testing::rows_of;
using rankd::testing::text_of;
using rankd::testing::trained_world;
using json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path folder_of_models = "tests/rankd/op/onnx";

auto names_of_models() -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder_of_models))
    if (entry.path().extension() == ".onnx") out.push_back(entry.path().stem().string());
  std::ranges::sort(out);
  return out;
}

/// How many scores are further from those of the file than they may be.
auto count_wrong(std::span<const model_sums> found, const json& expected, double apart) -> std::size_t {
  std::size_t wrong = 0;
  for (std::size_t output = 0; output < found.size(); ++output)
    for (std::size_t row = 0; row < found[output].writable.size(); ++row) {
      const double wanted = expected.at(output).at(row);
      if (std::abs(found[output].writable[row] - wanted) > apart * std::max(1.0, std::abs(wanted))) ++wrong;
    }
  return wrong;
}

/// "code /place" of each diagnostic, all of which have the name of the file.
auto said_of(const std::string& text) -> lines {
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  if (made) return {};
  for (const braid::diagnostic& each : made.error()) CHECK(each.source == "m.onnx");
  return rankd::testing::list(made.error());
}

auto sentence_of(const std::string& text) -> std::string {
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  return made ? std::string() : made.error().front().message;
}

using cell = std::optional<double>;

/// The scores of one row, by output; a null is nothing. `count` is the first column, `score` the second.
auto scores_of(const std::string& text, std::optional<std::int64_t> count, cell score) -> std::vector<cell> {
  op_bench bench;
  row_set rows = bench.with<std::int64_t>(bench.rows_of({1}), 1501, {count});
  rows = bench.with<double>(rows, 1001, {score});
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  if (!made) throw std::runtime_error(made.error().to_text());
  std::vector<cell> out;
  const auto sums = (*made)->sums(rows, bench.memory(), {.rows_of_part = 1});
  for (const model_sums& each : *sums) out.push_back(each.values.is_null(0) ? std::nullopt : cell(each.writable[0]));
  return out;
}

auto score_of(const std::string& text, std::optional<std::int64_t> count, cell score) -> cell {
  return scores_of(text, count, score).front();
}

/// A file with one node.
auto with_node(const bytes& made, const std::vector<bytes>& constants = {}) -> std::string {
  return to_bytes({.nodes = {made}, .constants = constants});
}

auto with_trees(const std::function<void(trees&)>& change) -> std::string {
  trees lists;
  change(lists);
  return with_node(regressor(lists));
}

struct wrong_case {
  std::string what;
  std::string text;
  lines expected;
  std::string sentence = {};  ///< a part of it
};

void check_wrong(const std::vector<wrong_case>& table) {
  for (const wrong_case& each : table) {
    CAPTURE(each.what);
    const lines said = said_of(each.text);
    std::string all;
    for (const std::string& line : said) all += line + "\n";
    CAPTURE(all);
    CHECK((said == each.expected));
    const std::string sentence = sentence_of(each.text);
    CAPTURE(sentence);
    CHECK(sentence.find(each.sentence) != std::string::npos);
  }
}

/// The first node of a file.
const std::string place = "/graph/node/0/";

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("encoders of several columns are joined, and columns of theirs are chosen") {
  const auto encoders = [](std::int64_t axis, std::int64_t gathered) {
    return to_bytes(
        {.nodes = {node("Gather", {"x", "first"}, {"a"}, with_int("axis", 1)),
                   node("Gather", {"x", "second"}, {"b"}, with_int("axis", 1)),
                   learner("OneHotEncoder", {"a"}, {"a1"}, with_ints("cats_int64s", {5, 7})),
                   learner("OneHotEncoder", {"b"}, {"b1"}, with_ints("cats_int64s", {1, 2})),
                   node("Gather", {"b1", "kept"}, {"b2"}, with_int("axis", gathered)),
                   node("Concat", {"a1", "b2"}, {"c"}, with_int("axis", axis)), node("Reshape", {"c", "shape"}, {"y"})},
         .constants = {int_tensor("first", {0}), int_tensor("second", {1}), int_tensor("kept", {1}),
                       int_tensor("shape", {-1, 3})},
         .outputs = {value("y", 1, {3})}});
  };
  for (const std::int64_t last : {-1, 2}) {
    CHECK((scores_of(encoders(last, last), 5, 2) == std::vector<cell>{1, 0, 1}));
    CHECK((scores_of(encoders(last, last), 7, 1) == std::vector<cell>{0, 1, 0}));
  }
  CHECK((said_of(encoders(1, 2)) == lines{"bad_value /graph/node/5/axis"}));
  CHECK((said_of(encoders(2, 1)) == lines{"bad_value /graph/node/4/axis"}));
}

TEST_CASE("a label encoder gives numbers for numbers, and one for all that it does not know") {
  const auto labels = [](const bytes& keys, const bytes& values) {
    return to_bytes({.nodes = {learner("LabelEncoder", {"x"}, {"y"}, keys + values)}, .outputs = {value("y", 1, {2})}});
  };
  const bytes keys = with_floats("keys_floats", {1, 2.5F});
  CHECK((scores_of(labels(keys, with_floats("values_floats", {7, 8})), 1, 2.5) == std::vector<cell>{7, 8}));
  CHECK((scores_of(labels(keys, with_ints("values_int64s", {7, 8})), 2, 2.5) == std::vector<cell>{-1, 8}));
  const bytes other = with_floats("values_floats", {7, 8}) + with_float("default_float", 0.5F);
  CHECK((scores_of(labels(keys, other), 2, 1) == std::vector<cell>{0.5, 7}));
  CHECK((scores_of(labels(with_ints("keys_int64s", {3, 4}), with_ints("values_int64s", {1, 0})), 4, 3) ==
         std::vector<cell>{0, 1}));
  const lines refused{"bad_value " + place + "keys_floats"};
  CHECK((said_of(labels(keys, with_floats("values_floats", {7}))) == refused));
  CHECK((said_of(labels({}, {})) == refused));
  CHECK((said_of(labels(with_strings("keys_strings", {"a"}), with_ints("values_int64s", {1}))) == refused));
  CHECK((said_of(labels(with_floats("keys_floats", {1, static_cast<float>(not_a_number)}),
                        with_ints("values_int64s", {1, 0}))) == refused));
}

TEST_CASE("models that skl2onnx and CatBoost wrote give the scores of ONNX Runtime") {
  const auto names = names_of_models();
  CHECK(names.size() == 50);
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto made = detail::parse_model(text_of(folder_of_models / (name + ".onnx")), name, trained_world());
    if (!made) MESSAGE(made.error().to_text());
    REQUIRE(made);
    const json expected = json::parse(text_of(folder_of_models / (name + ".rows.json")));
    op_bench bench;
    const auto sums = (*made)->sums(rows_of(expected.at("columns"), bench), bench.memory(), {.rows_of_part = 256});
    REQUIRE(sums);
    REQUIRE(sums->size() == expected.at("scores").size());
    // Sums of leaves are equal. Links call exp of the C library, and products are added up in another order.
    const bool is_linked = name.find("binary") != std::string::npos || name.find("classes") != std::string::npos;
    const double apart = !expected.at("exact").get<bool>() ? 2e-6 : is_linked ? 3e-7 : 0;
    CHECK(count_wrong(*sums, expected.at("scores"), apart) == 0);
  }
}

TEST_CASE("a node of a tree compares floats as its mode says, and a null goes where it tracks") {
  const std::string plain = with_trees([](trees&) {});
  CHECK(score_of(plain, 0, 0.5) == 1);
  CHECK(score_of(plain, 0, 0.50000001) == 1);  // as a float it is 0.5
  CHECK(score_of(plain, 0, 0.5000001) == 2);
  CHECK(score_of(plain, 0, std::nullopt) == 2);
  CHECK(score_of(with_trees([](trees& each) { each.missing_true[0] = 1; }), 0, std::nullopt) == 1);
  struct mode_case {
    std::string mode;
    double below, same, above;
  };
  for (const mode_case& each : std::vector<mode_case>{
           {"BRANCH_LEQ", 1, 1, 2}, {"BRANCH_LT", 1, 2, 2}, {"BRANCH_GTE", 2, 1, 1}, {"BRANCH_GT", 2, 2, 1}}) {
    CAPTURE(each.mode);
    for (const std::int64_t tracks : {0, 1}) {
      const std::string text = with_trees([&](trees& lists) {
        lists.mode[0] = each.mode;
        lists.missing_true[0] = tracks;
      });
      CHECK(score_of(text, 0, 0.25) == each.below);
      CHECK(score_of(text, 0, 0.5) == each.same);
      CHECK(score_of(text, 0, 0.75) == each.above);
      CHECK(score_of(text, 0, std::nullopt) == (tracks == 1 ? 1 : 2));
    }
  }
  // 1e300 is no float: it is infinite there, and at most that.
  CHECK(score_of(with_trees([](trees& each) { each.value[0] = infinite; }), 0, 1e300) == 1);
}

TEST_CASE("leaves are added up or averaged, or the least or the greatest counts, and base values come last") {
  const auto twice = [](std::string_view fold, const std::vector<float>& base) {
    trees lists{.tree = {0, 0, 0, 7},
                .number = {0, 1, 2, 0},
                .feature = {1, 0, 0, 0},
                .when_true = {1, 0, 0, 0},
                .when_false = {2, 0, 0, 0},
                .missing_true = {},
                .value = {0.5F, 0, 0, 0},
                .mode = {"BRANCH_LEQ", "LEAF", "LEAF", "LEAF"},
                .leaf_tree = {0, 7, 0},
                .leaf = {1, 0, 2},
                .output = {0, 0, 0},
                .weight = {1, 4, 16}};
    lists.more = with_string("aggregate_function", fold);
    if (!base.empty()) lists.more += with_floats("base_values", base);
    return with_node(regressor(lists));
  };
  CHECK(score_of(twice("SUM", {}), 0, 0) == 5);
  CHECK(score_of(twice("SUM", {}), 0, 1) == 20);
  CHECK(score_of(twice("SUM", {0.5F}), 0, 1) == 20.5);
  CHECK(score_of(twice("AVERAGE", {0.5F}), 0, 1) == 10.5);
  CHECK(score_of(twice("MIN", {}), 0, 0) == 1);
  CHECK(score_of(twice("MAX", {}), 0, 0) == 4);
  CHECK((said_of(twice("MEDIAN", {})) == lines{"bad_value /graph/node/0/aggregate_function"}));
  CHECK((said_of(twice("SUM", {1, 2})) == lines{"wrong_length /graph/node/0/base_values"}));
}

TEST_CASE("of two classes the second has a score, and of more each of them") {
  const auto classes = [](trees lists, const std::vector<std::int64_t>& labels) {
    return to_bytes({.nodes = {classifier(lists, labels)}, .outputs = {value("label", 7, {}), value("y", 1, {2})}});
  };
  trees shares;
  shares.weight = {0.25F, 0.75F};
  CHECK((scores_of(classes(shares, {0, 1}), 0, 0) == std::vector<cell>{0.25}));
  trees both{.leaf_tree = {0, 0, 0, 0}, .leaf = {1, 1, 2, 2}, .output = {0, 1, 0, 1}, .weight = {0.25F, 0.5F, 1, 2}};
  CHECK((scores_of(classes(both, {0, 1}), 0, 0) == std::vector<cell>{0.5}));
  CHECK((scores_of(classes(both, {0, 1, 2}), 0, 1) == std::vector<cell>{1.0, 2.0, 0.0}));
  trees odds;
  odds.weight = {-1, 1};
  odds.more = with_string("post_transform", "LOGISTIC") + with_floats("base_values", {0.5F});
  CHECK(*score_of(classes(odds, {0, 1}), 0, 0) == doctest::Approx(1 / (1 + std::exp(0.5))));
  odds.more = {};
  CHECK((scores_of(classes(odds, {0, 1}), 0, 0) == std::vector<cell>{-1}));
  odds.more = with_string("post_transform", "SOFTMAX");
  CHECK((said_of(classes(odds, {0, 1})) == lines{"bad_value " + place + "post_transform"}));
  shares.more = with_string("post_transform", "LOGISTIC");
  CHECK((said_of(classes(shares, {0, 1})) == lines{"bad_value " + place + "post_transform"}));
  both.more = with_floats("base_values", {8, 16});
  CHECK((scores_of(classes(both, {0, 1}), 0, 0) == std::vector<cell>{16.5}));
  const trees either{.output = {0, 1}};
  CHECK((said_of(classes(either, {0, 1})) == lines{"bad_value " + place + "class_ids"}));
  CHECK((said_of(classes(shares, {0})) == lines{"out_of_range " + place + "classlabels_int64s"}));
}

TEST_CASE("columns are filled in, scaled, chosen, joined and weighed, and a score that is no number is a null") {
  const bytes filled = learner("Imputer", {"x"}, {"filled"},
                               with_floats("imputed_value_floats", {3, 4}) +
                                   with_float("replaced_value_float", static_cast<float>(not_a_number)));
  const bytes scaled =
      learner("Scaler", {"filled"}, {"scaled"}, with_floats("offset", {1, 2}) + with_floats("scale", {10, 100}));
  const bytes turned = node("Gather", {"scaled", "order"}, {"turned"}, with_int("axis", 1));
  const bytes wide = node("Concat", {"turned", "filled"}, {"wide"}, with_int("axis", -1));
  const bytes weighed = node("Gemm", {"wide", "by", "last"}, {"y"}, with_int("transB", 1) + with_float("alpha", 2));
  const std::vector<bytes> constants{int_tensor("order", {-1, 0}), float_tensor("by", {1, 4}, {1, 10, 100, 1000}),
                                     float_tensor("last", {1}, {0.5F})};
  const std::string text = to_bytes({.nodes = {filled, scaled, turned, wide, weighed}, .constants = constants});
  // count 5, score 7: scaled 40 and 500, turned 500 and 40
  CHECK(score_of(text, 5, 7) == 2 * (500 + 400 + 500 + 7000) + 0.5);
  CHECK(score_of(text, std::nullopt, std::nullopt) == 2 * (200 + 200 + 300 + 4000) + 0.5);
  const bytes alone = node("MatMul", {"x", "by"}, {"y"});
  const std::string sum = with_node(alone, {float_tensor("by", {2, 1}, {1, 1})});
  CHECK(score_of(sum, 1, 2) == 3);
  CHECK(score_of(sum, std::nullopt, 2) == std::nullopt);
  CHECK(score_of(sum, 1, 1e300) == std::numeric_limits<double>::infinity());
}

TEST_CASE("integers and flags are columns of their own, for keys that hold such numbers") {
  const bytes cast = node("Cast", {"count"}, {"as_float"}, with_int("to", 1));
  const bytes sum = node("Add", {"as_float", "score"}, {"y"});
  file both{.nodes = {cast, sum}, .inputs = {value("count", 7, {1}), value("score", 1, {1})}, .names = ""};
  CHECK(score_of(to_bytes(both), 16777217, 0) == 16777216);  // as a float
  CHECK(score_of(to_bytes(both), std::nullopt, 1) == std::nullopt);
  both.inputs[0] = value("count", 9, {1});
  CHECK((said_of(to_bytes(both)) == lines{"wrong_key_type /graph/input/0"}));
  both.inputs = {value("count", 7, {1}), value("score", 7, {1})};
  both.nodes[1] = node("Cast", {"score"}, {"y"}, with_int("to", 1));
  CHECK((said_of(to_bytes(both)) == lines{"wrong_key_type /graph/input/1"}));
  both.inputs = {value("fresh", 9, {1})};
  both.nodes = {node("Cast", {"fresh"}, {"y"}, with_int("to", 1))};
  CHECK(said_of(to_bytes(both)).empty());
}

TEST_CASE(
    "only what the scores need is read: nodes of labels may be anything, and inputs that are not read need no key") {
  const file labels{.nodes = {regressor({}), node("Strange", {"y"}, {"label"})},
                    .outputs = {value("label", 8, {1}), value("y", 1, {1})},
                    .names = R"(["no_such_key","score"])"};
  CHECK(said_of(to_bytes(labels)).empty());
  CHECK(score_of(to_bytes(labels), 0, 1) == 2);
}

TEST_CASE("files of ONNX that are wrong are refused with a place and a sentence") {
  const auto changed = [](const std::function<void(file&)>& change) {
    file made{.nodes = {regressor({})}};
    change(made);
    return to_bytes(made);
  };
  const std::string good = with_trees([](trees&) {});
  CHECK(said_of(good).empty());
  check_wrong({
      {"nothing", "", {"missing_field /graph", "missing_field /opset_import"}, "no graph"},
      {"half", good.substr(0, good.size() / 2), {"truncated "}, "no complete field begins at byte 2"},
      {"no file of ONNX", "\x08garbage", {"truncated "}},
      {"no versions", changed([](file& each) { each.versions.clear(); }), {"missing_field /opset_import"}},
      {"a later version",
       changed([](file& each) { each.versions[0].second = 99; }),
       {"unsupported_schema /opset_import/0/version"},
       "up to version 28, not of 99"},
      {"no output", changed([](file& each) { each.outputs.clear(); }), {"missing_field /graph/output"}},
      {"an output that nothing gives",
       changed([](file& each) { each.outputs = {value("z", 1, {1})}; }),
       {"unknown_value /graph/output/0"},
       "`z`"},
      {"a text as input",
       changed([](file& each) { each.inputs = {value("x", 8, {2})}; }),
       {"wrong_type /graph/input/0"},
       "`x` is tensor(string)"},
      {"an input without columns",
       changed([](file& each) { each.inputs = {value("x", 1, {0})}; }),
       {"wrong_length /graph/input/0"}},
      {"no names", changed([](file& each) { each.names = ""; }), {"unnamed_features /graph/input/0"}},
      {"names that are no list",
       changed([](file& each) { each.names = "count"; }),
       {"bad_value /metadata_props/feature_names"}},
      {"too few names",
       changed([](file& each) { each.names = R"(["score"])"; }),
       {"wrong_length /metadata_props/feature_names"},
       "the list has 1 name, but the inputs have 2 columns"},
      {"a name that is none",
       changed([](file& each) { each.names = R"(["count",7])"; }),
       {"wrong_type /metadata_props/feature_names/1"}},
      {"an unknown key",
       changed([](file& each) { each.names = R"(["count","scores"])"; }),
       {"unknown_key /metadata_props/feature_names/1"}},
      {"sparse tensors",
       changed([](file& each) { each.more_graph = message(15, ""); }),
       {"wrong_type /graph/sparse_initializer"}},
      {"a field of another type", changed([](file& each) { each.more_graph = whole(1, 7); }), {"bad_value /graph"}},
      {"a node that ends early", changed([](file& each) { each.nodes[0].pop_back(); }), {"truncated /graph/node/0"}},
  });
}

TEST_CASE("graphs of ONNX that are wrong are refused with a place and a sentence") {
  check_wrong({
      {"an unknown operator",
       with_node(node("Conv", {"x"}, {"y"})),
       {"unknown_operator " + place + "op_type"},
       "node `it` (`Conv`): the operator of `ai.onnx` is not supported"},
      {"an operator of another domain",
       with_node(node("Scaler", {"x"}, {"y"})),
       {"unknown_operator " + place + "op_type"}},
      {"a value from nowhere",
       with_node(node("Exp", {"z"}, {"y"})),
       {"unknown_value " + place + "input"},
       "provides `z`"},
      {"a cycle of nodes",
       to_bytes({.nodes = {node("Exp", {"b"}, {"y"}), node("Exp", {"y"}, {"b"})}}),
       {"unknown_value " + place + "input"},
       "earlier node provides `b`"},
      {"one name twice",
       to_bytes({.nodes = {node("Exp", {"x"}, {"y"}), node("Exp", {"x"}, {"y"})}}),
       {"duplicate_value /graph/node/1/output"}},
      {"external data",
       with_node(node("MatMul", {"x", "by"}, {"y"}),
                 {whole(1, 2) + whole(2, 1) + message(8, "by") + message(13, message(1, "location")) + whole(14, 1)}),
       {"external_data /graph/initializer/0"},
       "in another file"},
      {"texts",
       with_node(node("MatMul", {"x", "by"}, {"y"}), {whole(2, 8) + message(8, "by") + message(6, "a")}),
       {"wrong_type /graph/initializer/0"},
       "tensor(string) cannot be used for numbers"},
      {"too few numbers",
       with_node(node("MatMul", {"x", "by"}, {"y"}), {float_tensor("by", {2, 1}, {1})}),
       {"wrong_length /graph/initializer/0"}},
      {"huge dimensions",
       with_node(node("MatMul", {"x", "by"}, {"y"}), {float_tensor("by", {1LL << 40, 1LL << 40}, {1})}),
       {"too_many_items /graph/initializer/0"}},
      {"negative dimensions",
       with_node(node("MatMul", {"x", "by"}, {"y"}), {float_tensor("by", {-2, 1}, {1, 2})}),
       {"too_many_items /graph/initializer/0"}},
      {"a constant of no shape", with_node(node("ConstantOfShape", {"x"}, {"y"})), {"bad_value " + place + "input"}},
      {"a part of a shape",
       with_node(node("Shape", {"x"}, {"y"}, with_int("start", 1))),
       {"bad_value " + place + "start"}},
      {"a shape as numbers", with_node(node("Shape", {"x"}, {"y"})), {"unknown_value /graph/output/0"}},
      {"another matrix",
       with_node(node("MatMul", {"x", "by"}, {"y"}), {float_tensor("by", {3, 1}, {1, 2, 3})}),
       {"wrong_length " + place + "input"},
       "(`MatMul`): the matrix must have 2 rows, one for each column"},
  });
}

TEST_CASE("trees of ONNX that are wrong are refused with a place and a sentence") {
  const auto tree = [](const std::function<void(trees&)>& change) { return with_trees(change); };
  check_wrong({
      {"a tree in a circle",
       tree([](trees& each) { each.when_true[0] = 0; }),
       {"cycle " + place + "nodes_truenodeids/0"},
       "node `it` (`TreeEnsembleRegressor`): node 0 is an ancestor"},
      {"a node of two parents",
       tree([](trees& each) { each.when_true[0] = 2; }),
       {"shared_node " + place + "nodes_falsenodeids/0"}},
      {"a child that is not there",
       tree([](trees& each) { each.when_false[0] = 9; }),
       {"out_of_range " + place + "nodes_falsenodeids/0"},
       "no node 9"},
      {"a feature that is not there",
       tree([](trees& each) { each.feature[0] = 2; }),
       {"out_of_range " + place + "nodes_featureids/0"}},
      {"a negative feature",
       tree([](trees& each) { each.feature[0] = -1; }),
       {"out_of_range " + place + "nodes_featureids/0"}},
      {"a node twice", tree([](trees& each) { each.number[2] = 1; }), {"duplicate_value " + place + "nodes_nodeids/2"}},
      {"a tree in two places",
       tree([](trees& each) {
         each.tree = {0, 0, 0, 1, 0};
         each.number = {0, 1, 2, 0, 3};
         each.feature.resize(5);
         each.when_true.resize(5);
         each.when_false.resize(5);
         each.missing_true.clear();
         each.value.resize(5);
         each.mode.resize(5, "LEAF");
         each.leaf_tree = {0, 0, 1, 0};
         each.leaf = {1, 2, 0, 3};
         each.output.resize(4);
         each.weight.resize(4);
       }),
       {"duplicate_value " + place + "nodes_treeids"},
       "must be consecutive"},
      {"a short list", tree([](trees& each) { each.value.pop_back(); }), {"wrong_length " + place + "nodes_values"}},
      {"no nodes", tree([](trees& each) { each.tree.clear(); }), {"too_few_items " + place + "nodes_treeids"}},
      {"another comparison",
       tree([](trees& each) { each.mode[0] = "BRANCH_EQ"; }),
       {"bad_value " + place + "nodes_modes/0"},
       "BRANCH_EQ"},
      {"a threshold that is none",
       tree([](trees& each) { each.value[0] = static_cast<float>(not_a_number); }),
       {"number_out_of_range " + place + "nodes_values/0"}},
      {"an infinite leaf",
       tree([](trees& each) { each.weight[1] = infinite; }),
       {"number_out_of_range " + place + "target_weights/1"}},
      {"a leaf without weight",
       tree([](trees& each) { each.leaf[1] = 1; }),
       {"duplicate_value " + place + "nodes_nodeids/1"}},
      {"a leaf that is left out",
       tree([](trees& each) { each.leaf[1] = 7; }),
       {"missing_field " + place + "nodes_nodeids/2"}},
      {"an output that is not there",
       tree([](trees& each) { each.output[1] = 1; }),
       {"out_of_range " + place + "target_ids/1"}},
      {"no targets", tree([](trees& each) { each.targets = 0; }), {"out_of_range " + place + "n_targets"}},
      {"too many targets",
       tree([](trees& each) { each.targets = 1LL << 40; }),
       {"out_of_range " + place + "n_targets"}},
      {"another transform",
       tree([](trees& each) { each.more = with_string("post_transform", "PROBIT"); }),
       {"bad_value " + place + "post_transform"}},
  });
}

TEST_CASE("a weight of a tree of ONNX is that of a leaf") {
  const std::string text = with_trees([](trees& each) {
    each.leaf_tree.push_back(0);
    each.leaf.push_back(0);
    each.output.push_back(0);
    each.weight.push_back(3);
  });
  CHECK((said_of(text) == lines{"out_of_range " + place + "target_nodeids"}));
  CHECK(sentence_of(text).find("1 of the weights") != std::string::npos);
}

TEST_CASE("operators of ONNX that are called wrongly are refused with a place and a sentence") {
  check_wrong({
      {"a scale that is too long",
       with_node(learner("Scaler", {"x"}, {"y"}, with_floats("offset", {0, 0}) + with_floats("scale", {1, 2, 3}))),
       {"wrong_length " + place + "scale"}},
      {"a column that is not there",
       with_node(learner("ArrayFeatureExtractor", {"x", "at"}, {"y"}), {int_tensor("at", {2})}),
       {"out_of_range " + place + "input"},
       "no column 2; the input has 2 columns"},
      {"coefficients that do not fit",
       with_node(learner("LinearRegressor", {"x"}, {"y"}, with_floats("coefficients", {1, 2, 3}))),
       {"wrong_length " + place + "coefficients"}},
      {"categories that are texts",
       with_node(learner("OneHotEncoder", {"x"}, {"y"}, with_strings("cats_strings", {"a"}))),
       {"bad_value " + place + "cats_int64s"}},
      {"rows that are mixed",
       with_node(node("Concat", {"x", "x"}, {"y"}, with_int("axis", 0))),
       {"bad_value " + place + "axis"}},
      {"a shape that moves numbers between rows",
       to_bytes({.nodes = {node("Reshape", {"x", "shape"}, {"column"}), node("Exp", {"column"}, {"y"})},
                 .constants = {int_tensor("shape", {-1, 1})}}),
       {"bad_value " + place + "input"}},
      {"a cast to texts", with_node(node("Cast", {"x"}, {"y"}, with_int("to", 8))), {"wrong_type " + place + "to"}},
      {"an operand that is missing", with_node(node("Add", {"x"}, {"y"})), {"missing_field " + place + "input"}},
      {"operands of two types",
       to_bytes({.nodes = {node("Cast", {"x"}, {"double"}, with_int("to", 11)), node("Add", {"x", "double"}, {"y"})}}),
       {"wrong_type /graph/node/1/input"}},
  });
}

TEST_CASE("a file that is cut anywhere is refused, or is one without its names") {
  const std::string good = with_trees([](trees&) {});
  for (std::size_t length = 0; length < good.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(said_of(good.substr(0, length)).empty());
  }
}

TEST_CASE("graphs that would take very many steps or columns are refused") {
  std::vector<bytes> doubled{node("Concat", {"x", "x"}, {"c0"}, with_int("axis", 1))};
  for (int at = 0; at < 20; ++at) {
    const std::string from = "c" + std::to_string(at);
    doubled.push_back(node("Concat", {from, from}, {"c" + std::to_string(at + 1)}, with_int("axis", 1)));
  }
  doubled.push_back(node("ReduceSum", {"c20", "axes"}, {"y"}));
  CHECK((said_of(to_bytes({.nodes = doubled, .constants = {int_tensor("axes", {1})}})) ==
         lines{"too_many_items /graph/node/12/input"}));
  std::vector<bytes> many{node("Mul", {"x", "by"}, {"c0"})};
  for (int at = 0; at < 80; ++at)
    many.push_back(node("Exp", {"c" + std::to_string(at)}, {"c" + std::to_string(at + 1)}));
  many.push_back(node("ReduceSum", {"c80", "axes"}, {"y"}));
  const std::vector<bytes> constants{float_tensor("by", {1, 9000}, std::vector<float>(9000, 1)),
                                     int_tensor("axes", {1})};
  const lines said = said_of(
      to_bytes({.nodes = many, .constants = constants, .inputs = {value("x", 1, {1})}, .names = R"(["score"])"}));
  REQUIRE(said.size() == 1);
  CHECK(said.front().starts_with("too_many_items /graph/node/"));
  const bytes wide = node("Mul", {"x", "by"}, {"c0"});
  const std::vector<std::string> often(1'000, "c0");
  CHECK((said_of(to_bytes({.nodes = {wide, node("Sum", often, {"c1"}), node("ReduceSum", {"c1", "axes"}, {"y"})},
                           .constants = constants,
                           .inputs = {value("x", 1, {1})},
                           .names = R"(["score"])"})) == lines{"too_many_items /graph/node/1/input"}));
  std::vector<bytes> sums{wide};
  for (int at = 0; at < 2'000; ++at) sums.push_back(node("ReduceSum", {"c0", "axes"}, {"s" + std::to_string(at)}));
  sums.push_back(node("Sum", {"s0", "s1"}, {"y"}));
  CHECK(said_of(
            to_bytes({.nodes = sums, .constants = constants, .inputs = {value("x", 1, {1})}, .names = R"(["score"])"}))
            .size() <= 1);
}

TEST_CASE("a node of ONNX that gives no column is refused, and so is one that gives too many") {
  CHECK((said_of(to_bytes({.nodes = {node("FeatureVectorizer", {}, {"none"}, {}, "ai.onnx.ml"),
                                     node("ReduceMax", {"none"}, {"y"}, with_ints("axes", {1}))}})) ==
         lines{"wrong_length /graph/node/0/output"}));
  CHECK((said_of(to_bytes(
             {.nodes = {node("MatMul", {"x", "by"}, {"c"}), node("ReduceSum", {"c", "axes"}, {"y"})},
              .constants = {float_tensor("by", {1, 10'001}, std::vector<float>(10'001, 1)), int_tensor("axes", {1})},
              .inputs = {value("x", 1, {1})},
              .names = R"(["score"])"})) == lines{"too_many_items /graph/node/0/output"}));
}

TEST_CASE("a folder has models of ONNX beside the others, one file for each name") {
  const scratch_folder folder;
  folder.write("clicks.onnx", with_trees([](trees&) {}));
  model_folder models(folder.path(), op_world());
  REQUIRE(models.find("clicks"));
  CHECK((model_files(folder.path()) == std::vector{folder.path() / "clicks.onnx"}));
  folder.write("clicks.txt", "tree");
  model_folder again(folder.path(), op_world());
  const auto two = again.find("clicks");
  REQUIRE_FALSE(two);
  CHECK(two.error().front().code == "two_models");
  CHECK(two.error().front().message.find(".onnx and .txt") != std::string::npos);
}
