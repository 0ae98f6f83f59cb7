// tests/rankd/op/trained_models_test.cpp: models as trainers save them: their own scores, and files that are wrong.
// tests/rankd/op/trained/train.py made the files.
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/models.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/trained_world.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
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

const fs::path folder_of_models = "tests/rankd/op/trained";
const fs::path folder_of_versions = "tests/rankd/op/trained_versions";

auto model_file(const fs::path& folder, const std::string& name) -> fs::path {
  const fs::path text = folder / (name + ".txt");
  return fs::exists(text) ? text : folder / (name + ".json");
}

/// The names of all models, and of none that is left out by mistake.
auto names_of_models(const fs::path& folder) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder))
    if (const std::string name = entry.path().filename().string(); name.ends_with(".rows.json"))
      out.push_back(name.substr(0, name.size() - std::string(".rows.json").size()));
  std::ranges::sort(out);
  return out;
}

/// How many floats, or doubles, lie between two numbers of one sign.
auto numbers_apart(double a, double b, bool floats) -> std::int64_t {
  if (floats)
    return std::abs(std::int64_t{std::bit_cast<std::int32_t>(static_cast<float>(a))} -
                    std::bit_cast<std::int32_t>(static_cast<float>(b)));
  return std::abs(std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b));
}

/// How many values of all outputs are further apart than that.
auto count_wrong(std::span<const model_sums> found, const json& expected, bool floats, std::int64_t apart)
    -> std::size_t {
  std::size_t wrong = 0;
  for (std::size_t output = 0; output < found.size(); ++output)
    for (std::size_t row = 0; row < found[output].writable.size(); ++row)
      if (numbers_apart(found[output].writable[row], expected.at(output).at(row), floats) > apart) ++wrong;
  return wrong;
}

auto said_of(const std::string& text) -> lines {
  const auto made = detail::parse_model(text, "m", op_world());
  if (made) return {};
  for (const braid::diagnostic& each : made.error()) CHECK(each.source == "m");
  return rankd::testing::list(made.error());
}

using changes = std::vector<std::pair<std::string, std::string>>;

/// The text with each first place that is like `from` exchanged.
auto with_changes(std::string text, const changes& all) -> std::string {
  for (const auto& [from, to] : all) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  }
  return text;
}

struct wrong_case {
  changes made;
  lines expected;
};

void check_wrong(const std::string& good, const std::vector<wrong_case>& table) {
  CHECK((said_of(good) == lines()));
  for (const wrong_case& each : table) {
    std::string change;
    for (const auto& [from, to] : each.made) change += from + " → " + to.substr(0, 100) + "; ";
    CAPTURE(change);
    const lines said = said_of(with_changes(good, each.made));
    std::string all;
    for (const std::string& line : said) all += line + "\n";
    CAPTURE(all);
    CHECK((said == each.expected));
  }
}

/// A number, a set of categories, and a leaf alone.
const std::string small_text = R"(tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=binary sigmoid:1
feature_names=count score
feature_infos=[0:1] 0:1
tree_sizes=1 1

Tree=0
num_leaves=3
num_cat=1
split_feature=1 0
threshold=0.5 0
decision_type=10 1
left_child=1 -1
right_child=-2 -3
leaf_value=1 2 3
cat_boundaries=0 2
cat_threshold=1 8
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
split_feature=
threshold=
leaf_value=0.25
is_linear=0
shrinkage=1


end of trees

parameters:
[boosting: gbdt]
end of parameters

pandas_categorical:null
)";

const std::string small_dump = R"({"name":"tree","version":"v4","num_class":1,"num_tree_per_iteration":1,
"max_feature_idx":1,"objective":"regression","average_output":false,"feature_names":["count","score"],
"tree_info":[{"tree_index":0,"num_leaves":3,"tree_structure":{"split_feature":1,"threshold":0.5,"decision_type":"<=",
"default_left":true,"missing_type":"NaN","left_child":{"split_feature":0,"threshold":"0||35","decision_type":"==",
"default_left":false,"missing_type":"NaN","left_child":{"leaf_value":1},"right_child":{"leaf_value":2}},
"right_child":{"leaf_value":3}}}],"pandas_categorical":[[0,1,2]]})";

const std::string small_xgboost = R"({"version":[3,2,0],"learner":{"feature_names":["count","score"],
"learner_model_param":{"base_score":"[5E-1]","num_class":"0","num_feature":"2","num_target":"1"},
"objective":{"name":"reg:squarederror"},
"gradient_booster":{"name":"gbtree","model":{"cats":{"enc":[]},"gbtree_model_param":{"num_trees":"1"},
"tree_info":[0],"trees":[{"tree_param":{"num_deleted":"0","size_leaf_vector":"1"},
"left_children":[1,3,-1,-1,-1],"right_children":[2,4,-1,-1,-1],"split_indices":[1,0,0,0,0],
"split_conditions":[0.5,1E-45,1,2,3],"default_left":[1,0,0,0,0],"split_type":[0,1,0,0,0],
"categories":[1,35],"categories_nodes":[1],"categories_segments":[0],"categories_sizes":[2]}]}}}})";

/// The score of a row with that count and that score, of a model of one output.
auto score_of(const std::string& text, std::optional<std::int64_t> count, std::optional<double> score) -> double {
  op_bench bench;
  row_set rows = bench.with<std::int64_t>(bench.rows_of({1}), 1501, {count});
  rows = bench.with<double>(rows, 1001, {score});
  const auto made = detail::parse_model(text, "m", op_world());
  if (!made) throw std::runtime_error(made.error().to_text());
  return (*made)->sums(rows, bench.memory(), {.rows_of_part = 1})->front().writable[0];
}

/// Compares a model with what its trainer made of rows.
void check_scores_of(const std::string& text, const fs::path& folder, const std::string& name) {
  CAPTURE(name);
  const auto made = detail::parse_model(text, name, trained_world());
  if (!made) MESSAGE(made.error().to_text());
  REQUIRE(made);
  const json expected = json::parse(text_of(folder / (name + ".rows.json")));
  op_bench bench;
  const auto sums = (*made)->sums(rows_of(expected.at("columns"), bench), bench.memory(), {.rows_of_part = 256});
  REQUIRE(sums);
  REQUIRE(sums->size() == expected.at("sums").size());
  const bool floats = !name.starts_with("lightgbm");
  CHECK(count_wrong(*sums, expected.at("sums"), floats, 0) == 0);
  std::ignore = (*made)->link(*sums);
  // exp of the C library may differ by the last digit from machine to machine.
  CHECK(count_wrong(*sums, expected.at("scores"), floats, 4) == 0);
}

void check_scores(const fs::path& folder, const std::string& name) {
  check_scores_of(text_of(model_file(folder, name)), folder, name);
}

}  // namespace

TEST_CASE("models that LightGBM and XGBoost trained give the sums of the trainer, bit for bit, and its scores") {
  const auto names = names_of_models(folder_of_models);
  CHECK(names.size() == 18);
  for (const std::string& name : names) check_scores(folder_of_models, name);
}

TEST_CASE(
    "files of old versions, with infinite thresholds, without a title at the end, give the scores of their trainer") {
  const auto names = names_of_models(folder_of_versions);
  CHECK(names.size() == 33);
  for (const std::string& name : names) check_scores(folder_of_versions, name);
}

TEST_CASE("models of XGBoost in UBJSON have the bits of the same models in JSON") {
  std::size_t compared = 0;
  for (const fs::path& folder : {folder_of_models, folder_of_versions}) {
    for (const std::string& name : names_of_models(folder)) {
      if (!name.starts_with("xgboost")) continue;
      const auto document = parse_foreign_json(text_of(model_file(folder, name)), name);
      REQUIRE(document);
      for (const bool is_typed : {false, true}) {
        const auto bytes = json::to_ubjson(*document, is_typed, is_typed);
        check_scores_of(std::string(bytes.begin(), bytes.end()), folder, name);
      }
      ++compared;
    }
  }
  CHECK(compared > 20);
  // As XGBoost writes it: with typed arrays of float32, and lengths of 64 bits.
  const std::string name = "xgboost_3_2_0_categories";
  check_scores_of(text_of(folder_of_versions / (name + ".ubj")), folder_of_versions, name);
}

TEST_CASE("weights of trees multiply leaves, wherever a version of XGBoost writes them") {
  const std::string weights = R"("weight_drop":[0.25],)";
  const std::string booster = R"("gradient_booster":{)";
  const std::vector<changes> versions{
      {{R"("tree_info":[0],)", R"("tree_info":[0],)" + weights}},
      {{booster, booster + weights}},
      {{booster, booster + R"("name":"dart",)" + weights + R"("gbtree":{)"}, {"}]}}}}", "}]}}}}}"}}};
  for (const changes& each : versions) {
    const std::string text = with_changes(small_xgboost, each);
    CHECK(score_of(text, 35, 0.25) == 1.25);
    CHECK(score_of(text, 35, 0.5) == 0.75);
  }
}

TEST_CASE("the leaves of a random forest are scores if the file is of a version of LightGBM before 2.2") {
  const auto first_score = [](const std::string& text) {
    op_bench bench;
    const row_set rows = bench.with<double>(bench.rows_of({1}), 1001, {0.75});
    const auto made = detail::parse_model(text, "m", op_world()).value();
    const auto sums = *made->sums(rows, bench.memory(), {.rows_of_part = 1});
    CHECK(made->link(sums));
    return sums.front().writable[0];
  };
  const std::string now = with_changes(small_text, {{"sigmoid:1", "sigmoid:1\naverage_output"}});
  CHECK(first_score(now) == 1 / (1 + std::exp(-1.125)));
  const std::string of_2_2 = with_changes(now, {{"version=v4", "version=v2"}});
  CHECK((said_of(of_2_2) == lines{"unsupported_schema /version"}));
  CHECK((said_of(with_changes(of_2_2, {{"binary sigmoid:1", "regression"}})) == lines()));
  CHECK((said_of(with_changes(of_2_2, {{"average_output\n", ""}})) == lines()));
  const std::string of_2_1 = with_changes(of_2_2, {{"end of trees", "feature importances:"}});
  CHECK(first_score(of_2_1) == 1.125);
}

TEST_CASE("a byte order mark in front of a model is passed over, and the end of old texts is required") {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& text : {small_text, small_dump, small_xgboost}) CHECK((said_of(mark + text) == lines()));
  const changes old_end{
      {"end of trees\n\nparameters:\n[boosting: gbdt]\nend of parameters\n", "feature importances:\nscore=1\n"},
      {"version=v4", "version=v2"}};
  const std::string old_text = with_changes(small_text, old_end);
  CHECK((said_of(old_text) == lines()));
  CHECK(score_of(old_text, 35, 0.5) == 1.25);
  CHECK((said_of(with_changes(old_text, {{"version=v2\n", ""}})) == lines()));
  CHECK((said_of(with_changes(old_text, {{"feature importances:\nscore=1\n", ""}})) == lines{"truncated /trees"}));
  CHECK((said_of(with_changes(old_text, {{"version=v2\n", ""}, {"num_cat=1", "default_value=0 0"}})).front() ==
         "unsupported_schema /trees/0/default_value"));
}

TEST_CASE("a threshold may be infinite, and every row goes to one side of it") {
  const std::string own = R"({"schema_version":1,"kind":"trees","keys":["score"],"split":"<","trees":[{
"feature":[0,-1,-1],"threshold":[0.5,0,0],"left":[1,0,0],"right":[2,0,0],"null_left":[true,false,false],
"value":[0,1,2]}]})";
  const auto with_threshold = [&own](const std::string& threshold, const std::string& split) {
    return with_changes(own, {{"[0.5,0,0]", "[" + threshold + ",0,NaN]"}, {R"("<")", '"' + split + '"'}});
  };
  for (const std::string split : {"<", "<="})
    for (const double value : {-1.7976931348623157e308, -1.0, 0.0, 1.7976931348623157e308}) {
      CHECK(score_of(with_threshold("Infinity", split), 0, value) == 1);
      CHECK(score_of(with_threshold("-Infinity", split), 0, value) == 2);
    }
  CHECK((said_of(with_threshold("NaN", "<")) == lines{"non_finite_number /trees/0/threshold/0"}));
  CHECK((said_of(with_changes(own, {{"[0,1,2]", "[0,1,Infinity]"}})) == lines{"non_finite_number /trees/0/value/2"}));
  // A value beyond all floats counts as the largest: it stays below an infinite threshold of XGBoost.
  const std::string infinite =
      with_changes(small_xgboost, {{"[0.5,1E-45,1,2,3]", "[Infinity,Infinity,1,2,3]"},
                                   {R"("split_type":[0,1,0,0,0])", R"("split_type":[0,0,0,0,0])"}});
  for (const double value : {1.0, 3.4e38, 1e39, 1.7976931348623157e308}) CHECK(score_of(infinite, 5, value) == 2.5);
}

TEST_CASE("a large forest is limited by its nodes, and by the memory that its document takes") {
  const std::string tree = R"({"feature":[-1],"threshold":[0],"left":[0],"right":[0],"null_left":[false],"value":[0]})";
  std::string text = R"({"schema_version":1,"kind":"trees","keys":["score"],"split":"<","trees":[)" + tree;
  // Longer than other documents may be, by spaces: nodes are few.
  text += std::string(largest_document, ' ') + "]}";
  CHECK((said_of(text) == lines()));
  const scratch_folder folder;
  folder.write("wide.json", text);
  CHECK(model_folder(folder.path(), op_world()).find("wide"));
  CHECK(read_model_file(folder.path() / "wide.json")->size() == text.size());
}

TEST_CASE("a category is the whole part of a number, and zero goes the way of nulls where the file says so") {
  CHECK(score_of(small_text, 0, 0.5) == 1.25);
  CHECK(score_of(small_text, 35, 0.5) == 1.25);
  CHECK(score_of(small_text, 1, 0.5) == 3.25);
  CHECK(score_of(small_text, 64, -1) == 3.25);
  CHECK(score_of(small_text, -1, -1) == 3.25);
  CHECK(score_of(small_text, std::nullopt, std::nullopt) == 3.25);
  CHECK(score_of(small_text, 0, std::nullopt) == 1.25);
  CHECK(score_of(small_text, 0, 0.50000000000000011) == 2.25);
  // The set is one of `score` now, whose numbers have fractions.
  const std::string fractions = with_changes(small_text, {{"split_feature=1 0", "split_feature=0 1"}});
  CHECK(score_of(fractions, 0, -0.75) == 1.25);
  CHECK(score_of(fractions, 0, -1) == 3.25);
  CHECK(score_of(fractions, 0, 35.99) == 1.25);
  const std::string zeros = with_changes(small_text, {{"decision_type=10 1", "decision_type=4 1"}});
  CHECK(score_of(zeros, 0, 0) == 2.25);
  CHECK(score_of(zeros, 0, 1e-36) == 2.25);
  CHECK(score_of(zeros, 0, 1e-30) == 1.25);
  CHECK(score_of(zeros, 0, std::nullopt) == 2.25);
  const std::string no_missing = with_changes(small_text, {{"decision_type=10 1", "decision_type=0 1"}});
  CHECK(score_of(no_missing, 0, std::nullopt) == 1.25);
  CHECK(score_of(no_missing, 0, 1) == 2.25);
  CHECK(score_of(small_dump, 35, 0.5) == 1);
  CHECK(score_of(small_dump, 34, 0.5) == 2);
  CHECK(score_of(small_dump, 34, 0.6) == 3);
  CHECK(score_of(small_xgboost, 35, 0.25) == 3.5);
  CHECK(score_of(small_xgboost, 34, 0.25) == 2.5);
  CHECK(score_of(small_xgboost, std::nullopt, std::nullopt) == 3.5);
  CHECK(score_of(small_xgboost, 35, 0.5) == 1.5);
  CHECK(score_of(small_xgboost, 1, 0.49999999999) == 1.5);  // as a float it is the threshold
}

TEST_CASE("numbers next to zero are zero for LightGBM, also beside a threshold next to zero") {
  constexpr double max_zero = 1e-35F;
  const auto with_threshold = [](const std::string& threshold) {
    return with_changes(small_text, {{"threshold=0.5 0", "threshold=" + threshold + " 0"}});
  };
  const std::string below = with_threshold("-1.0000000180025095e-35");
  for (const double zero : {0.0, -0.0, 1e-36, -1e-36, max_zero, -max_zero}) CHECK(score_of(below, 1, zero) == 2.25);
  CHECK(score_of(below, 1, -1.1e-35) == 3.25);
  const std::string above = with_threshold("1e-36");
  for (const double zero : {0.0, -0.0, 1e-36, -1e-36, max_zero, -max_zero}) CHECK(score_of(above, 1, zero) == 3.25);
  CHECK(score_of(above, 1, 1.1e-35) == 2.25);
}

TEST_CASE("a value beyond all floats is that of the largest, and stays in the leaf that it came to") {
  // The root asks for `count` and has a leaf on its right; a leaf asks for the first feature, `score`.
  const std::string numbers = with_changes(
      small_xgboost, {{R"(["count","score"])", R"(["score","count"])"},
                      {R"("split_type":[0,1,0,0,0])", R"("split_type":[0,0,0,0,0])"},
                      {R"("categories":[1,35],"categories_nodes":[1],"categories_segments":[0],"categories_sizes":[2])",
                       R"("categories":[],"categories_nodes":[],"categories_segments":[],"categories_sizes":[])"}});
  for (const std::int64_t count : {0, 5}) CHECK(score_of(numbers, count, 1e39) == score_of(numbers, count, 1e38));
}

TEST_CASE("texts of LightGBM that are wrong are refused with a place for each diagnostic") {
  check_wrong(
      small_text,
      {{{{"version=v4", "version=v9"}}, {"unsupported_schema /version"}},
       {{{"version=v4\n", ""}}, {"missing_field "}},
       {{{"count score", "count \xff"}}, {"invalid_utf8 "}},
       {{{"num_tree_per_iteration=1", "num_tree_per_iteration=0"}}, {"out_of_range /num_tree_per_iteration"}},
       {{{"num_tree_per_iteration=1", "num_tree_per_iteration=3"}}, {"wrong_length /num_tree_per_iteration"}},
       {{{"num_tree_per_iteration=1", "num_tree_per_iteration=99999999999999999999"}},
        {"out_of_range /num_tree_per_iteration"}},
       {{{"max_feature_idx=1", "max_feature_idx=2"}}, {"wrong_length /feature_names"}},
       {{{"max_feature_idx=1", "max_feature_idx=1000000"}},
        {"out_of_range /max_feature_idx", "wrong_length /feature_names"}},
       {{{"binary sigmoid:1", "binary2 sigmoid:1"}}, {"unknown_objective /objective"}},
       {{{"binary sigmoid:1", "binary sigmoid:-1"}}, {"bad_value /objective"}},
       {{{"binary sigmoid:1", "binary squash"}}, {"unknown_objective /objective"}},
       {{{"binary sigmoid:1", "multiclass num_class:2"}}, {"wrong_length /objective"}},
       {{{"count score", "count scoer"}}, {"unknown_key /feature_names/1"}},
       {{{"count score", "country secret"}}, {"wrong_key_type /feature_names/0", "unreadable_key /feature_names/1"}},
       {{{"count score", "count count"}}, {"duplicate_value /feature_names/1"}},
       {{{"count score", "Column_0 Column_1"}}, {"unnamed_features /feature_names"}},
       {{{"count score", "count Column_1"}}, {"unknown_key /feature_names/1"}},
       {{{"tree_sizes=1 1", "tree_sizes=1 1 1"}}, {"wrong_length /tree_sizes"}},
       {{{"num_leaves=3", "num_leaves=4"}}, {"wrong_length /trees/0/leaf_value"}},
       {{{"num_leaves=3", "num_leaves=1000001"}},
        {"out_of_range /trees/0/num_leaves", "wrong_length /trees/0/leaf_value"}},
       {{{"num_leaves=3\n", ""}}, {"missing_field /trees/0", "wrong_length /trees/0/leaf_value"}},
       {{{"leaf_value=1 2 3", "leaf_value=1 x 3"}}, {"wrong_type /trees/0/leaf_value/1"}},
       {{{"leaf_value=1 2 3", "leaf_value=1 inf 3"}}, {"non_finite_number /trees/0/leaf_value/1"}},
       {{{"leaf_value=1 2 3", "leaf_value=1 nan 3"}}, {"wrong_type /trees/0/leaf_value/1"}},
       {{{"leaf_value=1 2 3", "leaf_value=1 2 3\nleaf_value=1 2 3"}}, {"duplicate_field /trees/0"}},
       {{{"threshold=0.5 0", "threshold=0.5"}}, {"wrong_length /trees/0/threshold"}},
       {{{"split_feature=1 0", "split_feature=2 -1"}}, {"out_of_range /trees/0/split_feature/1"}},
       {{{"split_feature=1 0", "split_feature=2 0"}}, {"out_of_range /trees/0/split_feature/0"}},
       {{{"left_child=1 -1", "left_child=0 -1"}}, {"cycle /trees/0/left_child/0"}},
       {{{"left_child=1 -1", "left_child=1 0"}}, {"cycle /trees/0/left_child/1"}},
       {{{"left_child=1 -1", "left_child=1 -3"}}, {"shared_node /trees/0/left_child/1"}},
       {{{"left_child=1 -1", "left_child=2 -4"}},
        {"out_of_range /trees/0/left_child/0", "out_of_range /trees/0/left_child/1"}},
       {{{"left_child=1 -1", "left_child=-1 -1"}}, {"unreached_node /trees/0/split_feature/1"}},
       {{{"decision_type=10 1", "decision_type=14 1"}}, {"bad_value /trees/0/decision_type/0"}},
       {{{"decision_type=10 1", "decision_type=-2 1"}}, {"bad_value /trees/0/decision_type/0"}},
       {{{"decision_type=10 1", "decision_type=1 1"}, {"threshold=0.5 0", "threshold=1 0"}},
        {"out_of_range /trees/0/threshold/0"}},
       {{{"num_cat=1", "num_cat=2"}}, {"wrong_length /trees/0/cat_boundaries"}},
       {{{"num_cat=1", "num_cat=0"}}, {"out_of_range /trees/0/threshold/1"}},
       {{{"cat_boundaries=0 2", "cat_boundaries=0 3"}}, {"wrong_length /trees/0/cat_threshold"}},
       {{{"cat_boundaries=0 2", "cat_boundaries=2 0"}},
        {"out_of_range /trees/0/cat_boundaries/0", "out_of_range /trees/0/cat_boundaries/1"}},
       {{{"cat_boundaries=0 2", "cat_boundaries=0 9223372036854775807"}}, {"wrong_length /trees/0/cat_threshold"}},
       {{{"cat_threshold=1 8", "cat_threshold=1 4294967296"}}, {"wrong_type /trees/0/cat_threshold/1"}},
       {{{"is_linear=0", "is_linear=1"}}, {"linear_leaves /trees/0/is_linear"}},
       {{{"Tree=1", "Tree=7"}}, {"bad_value /trees/1"}},
       {{{"end of trees", "end of"}, {"parameters:\n[boosting: gbdt]\nend of parameters\n\n", ""}},
        {"truncated /trees"}},
       {{{small_text.substr(small_text.find("Tree=0")), ""}, {"tree_sizes=1 1\n", ""}},
        {"truncated /trees", "too_few_items /trees"}},
       {{{"pandas_categorical:null", R"(pandas_categorical:[["a", "b"]])"}},
        {"recoded_categories /pandas_categorical"}},
       {{{"pandas_categorical:null", "pandas_categorical:[[1, 2]]"}}, {"recoded_categories /pandas_categorical"}},
       {{{"pandas_categorical:null", "pandas_categorical:[[0, 1]]"}}, {}}});
  CHECK((said_of("tree") == lines{"truncated /trees", "missing_field ", "missing_field ", "missing_field ",
                                  "missing_field ", "too_few_items /trees"}));
}

TEST_CASE("documents of dump_model that are wrong are refused with a place for each diagnostic") {
  const std::string root = "/tree_info/0/tree_structure";
  check_wrong(
      small_dump,
      {{{{R"("split_feature":1)", R"("split_feature":2)"}}, {"out_of_range " + root + "/split_feature"}},
       {{{R"("decision_type":"<=")", R"("decision_type":"<")"}}, {"bad_value " + root + "/decision_type"}},
       {{{R"("missing_type":"NaN")", R"("missing_type":"nan")"}}, {"bad_value " + root + "/missing_type"}},
       {{{R"("0||35")", R"("0||x")"}}, {"bad_value " + root + "/left_child/threshold"}},
       {{{R"("0||35")", R"("0||-1")"}}, {"out_of_range " + root + "/left_child/threshold"}},
       {{{R"("0||35")", R"("0||2147483647")"}}, {"too_many_items " + root + "/left_child/threshold"}},
       {{{R"({"leaf_value":2})", "{}"}},
        {"missing_field " + root + "/left_child/right_child", "missing_field " + root + "/left_child/right_child",
         "missing_field " + root + "/left_child/right_child"}},
       {{{R"({"leaf_value":2})", "7"}}, {"wrong_type " + root + "/left_child/right_child"}},
       {{{R"("leaf_value":2)", R"("leaf_value":"2")"}}, {"wrong_type " + root + "/left_child/right_child/leaf_value"}},
       {{{R"("leaf_value":2)", R"("leaf_value":2,"leaf_coeff":[1])"}},
        {"linear_leaves " + root + "/left_child/right_child/leaf_coeff"}},
       {{{R"(["count","score"])", R"(["count",7])"}}, {"wrong_type /feature_names/1"}},
       {{{R"(["count","score"])", R"(["count"])"}},
        {"wrong_length /feature_names", "out_of_range " + root + "/split_feature"}},
       {{{R"("num_tree_per_iteration":1)", R"("num_tree_per_iteration":2)"}}, {"wrong_length /num_tree_per_iteration"}},
       {{{R"("regression")", R"("nothing")"}}, {"unknown_objective /objective"}},
       {{{R"("average_output":false,)", ""}}, {"unsupported_schema /average_output"}},
       {{{R"("objective":"regression","average_output":false,)", ""}}, {"unsupported_schema /average_output"}},
       {{{R"("objective":"regression",)", ""}}, {}},
       {{{R"("objective":"regression","average_output":false)", R"("objective":"poisson","average_output":true)"}}, {}},
       {{{R"("objective":"regression","average_output":false)", R"("objective":"poisson","average_output":true)"},
         {R"("version":"v4")", R"("version":"v2")"}},
        {"unsupported_schema /version"}},
       {{{"[[0,1,2]]", "[[0,2,1]]"}}, {"recoded_categories /pandas_categorical"}}});
}

TEST_CASE("documents of XGBoost that are wrong are refused with a place for each diagnostic") {
  const std::string booster = "/learner/gradient_booster";
  const std::string tree = booster + "/model/trees/0";
  const std::string params = "/learner/learner_model_param";
  check_wrong(
      small_xgboost,
      {{{{"[3,2,0]", "[4,0,0]"}}, {"unsupported_schema /version"}},
       {{{"reg:squarederror", "reg:cubederror"}}, {"unknown_objective /learner/objective/name"}},
       {{{"reg:squarederror", "multi:softmax"}}, {"unknown_objective /learner/objective/name"}},
       {{{R"("name":"gbtree")", R"("name":"gblinear")"}}, {"unsupported_booster " + booster + "/name"}},
       {{{R"("name":"gbtree")", R"("name":"dart")"}}, {"missing_field " + booster, "missing_field " + booster}},
       {{{R"("num_feature":"2")", R"("num_feature":"3")"}}, {"wrong_length /learner/feature_names"}},
       {{{R"("num_feature":"2")", R"("num_feature":2)"}}, {"wrong_type " + params + "/num_feature"}},
       {{{R"("num_feature":"2")", R"("num_feature":"99999999999")"}}, {"out_of_range " + params + "/num_feature"}},
       {{{R"(["count","score"])", "[]"}}, {"unnamed_features /learner/feature_names"}},
       {{{R"(["count","score"])", R"(["count","old"])"}}, {"blocked_key /learner/feature_names/1"}},
       {{{"[5E-1]", "[5E-1"}}, {"bad_value " + params + "/base_score"}},
       {{{"[5E-1]", "[]"}}, {"bad_value " + params + "/base_score"}},
       {{{"[5E-1]", "[1E99]"}}, {"bad_value " + params + "/base_score"}},
       {{{"[5E-1]", "[1,2]"}}, {"wrong_length " + params + "/base_score"}},
       {{{"[5E-1]", "[1]"}, {"reg:squarederror", "binary:logistic"}, {"[3,2,0]", "[3,1,0]"}},
        {"bad_value " + params + "/base_score"}},
       {{{"[5E-1]", "[1]"}, {"reg:squarederror", "binary:logistic"}}, {}},
       {{{"[5E-1]", "[1.5]"}, {"reg:squarederror", "binary:logistic"}}, {"bad_value " + params + "/base_score"}},
       {{{"[5E-1]", "[-1E-9]"}, {"reg:squarederror", "binary:logistic"}}, {"bad_value " + params + "/base_score"}},
       {{{"[5E-1]", "[0]"}, {"reg:squarederror", "count:poisson"}}, {"bad_value " + params + "/base_score"}},
       {{{R"("tree_info":[0],)", R"("tree_info":[0],"weight_drop":[0.5],"iteration_indptr":[0,1],)"}}, {}},
       {{{R"("tree_info":[0],)", R"("tree_info":[0],"weight_drop":[0.5,1],)"}}, {"wrong_length " + booster + "/model"}},
       {{{R"("tree_info":[0],)", R"("tree_info":[0],"leaf_scale":[1],)"}},
        {"unknown_field " + booster + "/model/leaf_scale"}},
       {{{R"("name":"gbtree",)", R"("name":"gbtree","scale":[1],)"}}, {"unknown_field " + booster + "/scale"}},
       {{{R"("split_type":[0,1,0,0,0],)", R"("split_type":[0,1,0,0,0],"id":0,"parents":[],"leaf_weights":[],)"}},
        {"unknown_field " + tree + "/leaf_weights"}},
       {{{R"("num_trees":"1")", R"("num_trees":"2")"}},
        {"wrong_length " + booster + "/model/gbtree_model_param/num_trees"}},
       {{{R"("tree_info":[0])", R"("tree_info":[0,0])"}}, {"wrong_length " + booster + "/model/tree_info"}},
       {{{R"("tree_info":[0])", R"("tree_info":[1])"}}, {"out_of_range " + booster + "/model/tree_info/0"}},
       {{{R"("size_leaf_vector":"1")", R"("size_leaf_vector":"3")"}},
        {"vector_leaves " + tree + "/tree_param/size_leaf_vector"}},
       {{{"[1,3,-1,-1,-1]", "[0,3,-1,-1,-1]"}}, {"cycle " + tree + "/left_children/0"}},
       {{{"[1,3,-1,-1,-1]", "[1,2,-1,-1,-1]"}}, {"shared_node " + tree + "/left_children/1"}},
       {{{"[1,3,-1,-1,-1]", "[1,7,-1,-1,-1]"}}, {"out_of_range " + tree + "/left_children/1"}},
       {{{"[1,3,-1,-1,-1]", "[1,-1,-1,-1,-1]"}}, {"unreached_node " + tree + "/split_indices/3"}},
       {{{"[1,3,-1,-1,-1]", "[1,-1,-1,-1,-1]"}, {R"("num_deleted":"0")", R"("num_deleted":"2")"}}, {}},
       {{{R"("num_deleted":"0")", R"("num_deleted":"2")"}}, {"unreached_node " + tree + "/split_indices/0"}},
       {{{"[1,3,-1,-1,-1]", "[1,3,-1,-1]"}},
        {"wrong_length " + tree + "/right_children", "wrong_length " + tree + "/split_indices",
         "wrong_length " + tree + "/split_conditions", "wrong_length " + tree + "/default_left",
         "wrong_length " + tree + "/split_type"}},
       {{{"[1,0,0,0,0]", "[2,0,0,0,0]"}}, {"out_of_range " + tree + "/split_indices/0"}},
       {{{"[1,0,0,0,0]", "[-1,0,0,0,0]"}}, {"out_of_range " + tree + "/split_indices/0"}},
       {{{"[0.5,1E-45,1,2,3]", "[0.5,1E-45,1,2,1E39]"}}, {"number_out_of_range " + tree + "/split_conditions/4"}},
       {{{R"("default_left":[1,)", R"("default_left":[2,)"}}, {"wrong_type " + tree + "/default_left/0"}},
       {{{R"("default_left":[1,0,0,0,0])", R"("default_left":[true,false,false,false,false])"}}, {}},
       {{{R"("categories_nodes":[1])", R"("categories_nodes":[2])"}}, {"missing_field " + tree + "/split_type/1"}},
       {{{R"("categories_sizes":[2])", R"("categories_sizes":[3])"}},
        {"out_of_range " + tree + "/categories_segments/0"}},
       {{{R"("categories_sizes":[2])", R"("categories_sizes":[])"}}, {"wrong_length " + tree + "/categories_nodes"}},
       {{{R"("categories":[1,35])", R"("categories":[1,-35])"}}, {"out_of_range " + tree + "/categories_segments/0"}},
       {{{"[0.5,1E-45,1,2,3]", "[0.5,NaN,1,2,3]"}}, {}},
       {{{"[0.5,1E-45,1,2,3]", "[-Infinity,Infinity,1,2,3]"}}, {}},
       {{{"[0.5,1E-45,1,2,3]", "[0.5,1E-45,1,2,NaN]"}}, {"number_out_of_range " + tree + "/split_conditions/4"}},
       {{{"[0.5,1E-45,1,2,3]", "[0.5,1E-45,1,2,Infinity]"}}, {"number_out_of_range " + tree + "/split_conditions/4"}},
       {{{"[0.5,1E-45,1,2,3]", "[1E39,1E-45,1,2,3]"}}, {"number_out_of_range " + tree + "/split_conditions/0"}},
       {{{"[0.5,1E-45,1,2,3]", "[0.5,nan,1,2,3]"}}, {"json_syntax "}},
       {{{"[0.5,1E-45,1,2,3]", "[0.5,+Infinity,1,2,3]"}}, {"json_syntax "}},
       {{{R"("enc":[])", R"("enc":[{"type":15,"values":[0,1,2]}])"}}, {}},
       {{{R"("enc":[])", R"("enc":[{"type":15,"values":[0,1,2]},{"offsets":[0,1],"values":[97]}])"}}, {}},
       {{{R"("enc":[])", R"("enc":[{}])"}}, {"recoded_categories " + booster + "/model/cats/enc/0"}},
       {{{R"("enc":[])", R"("enc":[{"type":15,"values":[0,2,4]}])"}},
        {"recoded_categories " + booster + "/model/cats/enc/0"}},
       {{{R"("enc":[])", R"("enc":[{"offsets":[0,1],"values":[0]}])"}},
        {"recoded_categories " + booster + "/model/cats/enc/0"}}});
}

TEST_CASE("a folder has models of both endings, one for each name, and the operator writes all outputs of a model") {
  const scratch_folder folder;
  folder.write("clicks.txt", small_text);
  folder.write("kinds.txt", with_changes(small_text, {{"num_tree_per_iteration=1", "num_tree_per_iteration=2"},
                                                      {"binary sigmoid:1", "multiclass num_class:2"}}));
  model_folder models(folder.path(), op_world());
  REQUIRE(models.find("clicks"));
  CHECK(models.find("kind").error().front().hint == "did you mean `kinds`?");
  CHECK(models.stands_still());
  folder.write("binary.cbm", "");
  CHECK(models.find("binary").error().front().hint ==
        "binary.cbm is not read; save the model of XGBoost as binary.json, of LightGBM as binary.txt, and of "
        "scikit-learn "
        "or CatBoost as binary.onnx");
  folder.write("notes.md", "");
  CHECK((model_files(folder.path()) == std::vector{folder.path() / "clicks.txt", folder.path() / "kinds.txt"}));
  CHECK(model_files({}).empty());

  op_bench bench;
  const row_set rows = bench.with<std::int64_t>(bench.rows_of({1, 2}), 1501, {0, 1});
  const auto bound_to = [&](const std::vector<std::string>& names, const std::vector<std::uint32_t>& keys) {
    plan_node node;
    node.op = "core::call_models";
    node.params = {{"models", param_kind::names, {}, {}, "/m", names},
                   {"out_keys", param_kind::key_ids, {}, keys, "/o"}};
    return find_op(node.op)->bind(node, {op_world(), {}, {}, &models});
  };
  CHECK((rankd::testing::list(bound_to({"kinds"}, {1001}).error()) == lines{"wrong_length /o"}));
  CHECK((rankd::testing::list(bound_to({"kinds"}, {1001, 2001, 1003}).error()).back() == "wrong_length /o"));
  CHECK((rankd::testing::list(bound_to({"none"}, {1001, 2001}).error()) == lines{"unknown_model /m/0"}));
  const row_set out = bench.run(*bound_to({"kinds"}, {1001, 2001}).value(), {rows}).value();
  for (std::size_t row = 0; row < 2; ++row) {
    const double first = (*out.table().find(1001)->floats())[row];
    const double second = (*out.table().find(2001)->floats())[row];
    const double sum = row == 0 ? 1 : 3;
    CHECK(first == doctest::Approx(std::exp(sum) / (std::exp(sum) + std::exp(0.25))));
    CHECK(first + second == doctest::Approx(1));
  }

  folder.write("counts.txt", with_changes(small_text, {{"binary sigmoid:1", "poisson"},
                                                       {"leaf_value=1 2 3", "leaf_value=800 800 800"}}));
  CHECK(bench.run(*bound_to({"counts"}, {1001}).value(), {rows}).error().code == "non_finite_value");

  folder.write("clicks.json", R"({"schema_version":1,"kind":"linear","weights":[{"key":"count","weight":1}]})");
  CHECK_FALSE(models.stands_still());
  model_folder again(folder.path(), op_world());
  const auto two = again.find("clicks");
  REQUIRE_FALSE(two);
  CHECK(two.error().front().code == "two_models");
}
