// tests/rankd/op/onnx_spellings_test.cpp: what some trainers and some of their versions write in another way, and what
// messages say about files that cannot be read.
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/models.hpp>
#include <tests/rankd/op/onnx_writer.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing::onnx;
using rankd::testing::lines;
using rankd::testing::op_bench;
using rankd::testing::op_world;

namespace {

/// Returns "code /place: sentence" of the first diagnostic of a file; empty if there is none.
auto complaint(const std::string& text) -> std::string {
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  if (made) return {};
  return rankd::testing::list(made.error()).front() + ": " + made.error().front().message;
}

/// Returns the scores of one row by output. `count` is the first column of the table `x`, `score` the second.
auto scores_of(const std::string& text, std::int64_t count, double score) -> std::vector<double> {
  op_bench bench;
  row_set rows = bench.with<std::int64_t>(bench.rows_of({1}), 1501, {count});
  rows = bench.with<double>(rows, 1001, {score});
  const auto made = detail::parse_model(text, "m.onnx", op_world());
  if (!made) throw std::runtime_error(made.error().to_text());
  std::vector<double> out;
  const auto sums = (*made)->sums(rows, bench.memory(), {.rows_of_part = 1});
  for (const model_sums& each : *sums) out.push_back(each.writable[0]);
  return out;
}

auto normalized(const bytes& attributes) -> std::string {
  return to_bytes({.nodes = {node("LpNormalization", {"x"}, {"y"}, attributes)}, .outputs = {value("y", 1, {2})}});
}

/// Adds an entry to the metadata of a file.
auto with_entry(const std::string& file, std::string_view name, std::string_view text) -> std::string {
  return file + message(14, message(1, name) + message(2, text));
}

/// The classifier of several targets as CatBoost writes it: without classes, with a softmax. At most 0.5 in column 1
/// gives 1 and 2, and more 3 and 0.5.
auto several_targets() -> std::string {
  const trees lists{.leaf_tree = {0, 0, 0, 0},
                    .leaf = {1, 1, 2, 2},
                    .output = {0, 1, 0, 1},
                    .weight = {1, 2, 3, 0.5F},
                    .more = with_string("post_transform", "SOFTMAX") + with_floats("base_values", {10, 0.25F})};
  return to_bytes({.nodes = {classifier(lists, {}), learner("ZipMap", {"y"}, {"z"})},
                   .outputs = {value("label", 8, {}), value("z", 1, {2})}});
}

auto by_catboost(std::string_view loss) -> std::string {
  const std::string params = R"({"loss_function":{"type":")" + std::string(loss) + R"(","params":{}}})";
  return with_entry(with_entry(several_targets(), "catboost_version_info", "any"), "params", params);
}

}  // namespace

TEST_CASE("rows are divided by their norm, as skl2onnx before 1.15 does for one-vs-rest") {
  CHECK((scores_of(normalized(with_int("p", 1)), 1, -3) == std::vector<double>{0.25, -0.75}));
  CHECK((scores_of(normalized(with_int("p", 1) + with_int("axis", 1)), 1, 3) == std::vector<double>{0.25, 0.75}));
  CHECK((scores_of(normalized({}), 3, 4) == std::vector<double>{0.6F, 0.8F}));
  CHECK((scores_of(normalized(with_int("p", 1)), 0, 0) == std::vector<double>{0, 0}));
  CHECK((scores_of(normalized({}), 0, 0) == std::vector<double>{0, 0}));
  CHECK(
      complaint(normalized(with_int("axis", 0))) ==
      "bad_value /graph/node/0/axis: node `it` (`LpNormalization`): only the norms 1 and 2 of the columns, axis 1, are "
      "supported, not the norm 2 of axis 0");
  CHECK(complaint(normalized(with_int("p", 3))).starts_with("bad_value /graph/node/0/p: "));
}

TEST_CASE("a single base value of zero is for all classes, and any other is not") {
  const auto classes = [](const std::vector<float>& base) {
    const trees lists{.leaf_tree = {0, 0, 0},
                      .leaf = {1, 1, 2},
                      .output = {0, 1, 2},
                      .weight = {1, 2, 4},
                      .more = with_floats("base_values", base)};
    return to_bytes({.nodes = {classifier(lists, {0, 1, 2})}, .outputs = {value("label", 7, {}), value("y", 1, {3})}});
  };
  CHECK((scores_of(classes({0}), 0, 0) == std::vector<double>{1, 2, 0}));
  CHECK((scores_of(classes({8, 16, 32}), 0, 1) == std::vector<double>{8, 16, 36}));
  CHECK(complaint(classes({0.5F})) ==
        "wrong_length /graph/node/0/base_values: node `it` (`TreeEnsembleClassifier`): the list has 1 item; it must "
        "have 3");
}

TEST_CASE("floats and doubles are joined as doubles") {
  const bytes doubles = node("Cast", {"x"}, {"d"}, with_int("to", 11));
  const auto joined = [&](const std::vector<std::string>& inputs) {
    return to_bytes(
        {.nodes = {doubles, node("Concat", inputs, {"c"}, with_int("axis", 1)), node("Mul", {"c", "c"}, {"y"})},
         .outputs = {value("y", 11, {4})}});
  };
  // The square of 4097 is no float.
  for (const auto& inputs : {std::vector<std::string>{"x", "d"}, {"d", "x"}})
    CHECK((scores_of(joined(inputs), 4097, 0.5) == std::vector<double>{16785409, 0.25, 16785409, 0.25}));
  const std::string mixed = to_bytes(
      {.nodes = {node("Cast", {"x"}, {"i"}, with_int("to", 7)), node("Concat", {"x", "i"}, {"y"}, with_int("axis", 1))},
       .outputs = {value("y", 1, {4})}});
  CHECK(complaint(mixed).starts_with("wrong_type /graph/node/1/input: "));
}

TEST_CASE("the tables of a sequence give their columns one after another") {
  const std::string text = to_bytes({.nodes = {node("Neg", {"x"}, {"n"}), node("SequenceConstruct", {"x", "n"}, {"y"})},
                                     .outputs = {value("y", 1, {4})}});
  CHECK((scores_of(text, 2, 0.5) == std::vector<double>{2, 0.5, -2, -0.5}));
}

TEST_CASE("a model of CatBoost for several targets gives its predictions, by the loss function in the metadata") {
  for (const std::string loss : {"MultiRMSE", "MultiRMSEWithMissingValues", "MultiQuantile"}) {
    CAPTURE(loss);
    CHECK((scores_of(by_catboost(loss), 0, 0) == std::vector<double>{11, 2.25}));
    CHECK((scores_of(by_catboost(loss), 0, 1) == std::vector<double>{13, 0.75}));
  }
  const auto variance = scores_of(by_catboost("RMSEWithUncertainty"), 0, 1);
  REQUIRE(variance.size() == 2);
  CHECK(variance[0] == 13);
  CHECK(variance[1] == doctest::Approx(std::exp(1.5)));
  const std::string refused =
      "out_of_range /graph/node/0/classlabels_int64s: node `it` (`TreeEnsembleClassifier`): "
      "there can be 2 to 1000 classes, not 0";
  CHECK(complaint(several_targets()).starts_with(refused));
  CHECK(complaint(by_catboost("Logloss")).starts_with(refused));
  const std::string params = R"({"loss_function":{"type":"MultiRMSE"}})";
  CHECK(complaint(with_entry(several_targets(), "params", params)).starts_with(refused));
  for (const std::string wrong : {"{", "[]", "{}", R"({"loss_function":[]})", R"({"loss_function":{"type":7}})"}) {
    CAPTURE(wrong);
    CHECK(complaint(with_entry(with_entry(several_targets(), "catboost_version_info", ""), "params", wrong))
              .starts_with(refused));
  }
}

TEST_CASE("an input that an earlier node provides in no usable form is not said to be missing") {
  const trees lists{.leaf_tree = {0, 0, 0, 0}, .leaf = {1, 1, 2, 2}, .output = {0, 1, 0, 1}, .weight = {1, 2, 3, 4}};
  const std::string text =
      to_bytes({.nodes = {classifier(lists, {0, 1}), node("Neg", {"label"}, {"z"})}, .outputs = {value("z", 1, {1})}});
  CHECK(complaint(text) ==
        "unknown_value /graph/node/1/input: node `it` (`Neg`): the output `label` of an earlier node "
        "(`TreeEnsembleClassifier`) cannot be used as a table of numbers");
}

TEST_CASE("messages about lists of one item use the singular") {
  const auto scaler = [](const std::vector<float>& offsets) {
    return to_bytes(
        {.nodes = {node("Gather", {"x", "first"}, {"a"}, with_int("axis", 1)),
                   learner("Scaler", {"a"}, {"y"}, with_floats("offset", offsets) + with_float("scale", 1))},
         .constants = {int_tensor("first", {0})}});
  };
  CHECK(complaint(scaler({1, 2})).ends_with("the list has 2 items, but the input has 1 column"));
  const std::string weights =
      to_bytes({.nodes = {learner("LinearRegressor", {"x"}, {"y"}, with_floats("coefficients", {1}))}});
  CHECK(complaint(weights).ends_with("the list has 1 item; it must have 2, for 2 columns and 1 output"));
}

TEST_CASE("other formats count a single name in the singular, too") {
  const auto says = [](const std::string& text, std::string_view sentence) {
    const auto made = detail::parse_model(text, "m", op_world());
    return !made && std::ranges::any_of(made.error(), [&](const auto& each) { return each.message == sentence; });
  };
  const std::string xgboost = R"({"version":[3,2,0],"learner":{"feature_names":["score"],"learner_model_param":)"
                              R"({"base_score":"[0,0]","num_class":"0","num_feature":"2","num_target":"1"}}})";
  CHECK(says(xgboost, "the list has 1 name, but by `num_feature` the model has 2 features"));
  CHECK(says(xgboost, "the list has 2 base scores for 1 output"));
  CHECK(says("tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx=1\nfeature_names=score\n\nend of trees\n",
             "the list has 1 name, but by `max_feature_idx` the model has 2 features (line 5)"));
  CHECK(says(R"({"name":"tree","version":"v4","num_tree_per_iteration":1,"max_feature_idx":1,"objective":"regression",)"
             R"("average_output":false,"feature_names":["score"],"tree_info":[]})",
             "the list has 1 name, but by `max_feature_idx` the model has 2 features"));
}
