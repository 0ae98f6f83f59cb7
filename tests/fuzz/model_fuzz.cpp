// tests/fuzz/model_fuzz.cpp: any text as a model, ours or a trainer's: refused with its reasons, or called for rows.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <rankd/op/detail/scoring.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::array<std::string_view, 54> words{"tree\n",
                                                 "version=v4\n",
                                                 "num_tree_per_iteration=@\n",
                                                 "num_tree_per_iteration=2\n",
                                                 "max_feature_idx=1\n",
                                                 "objective=binary sigmoid:1\n",
                                                 "objective=multiclass num_class:2\n",
                                                 "objective=regression sqrt\n",
                                                 "average_output\n",
                                                 "feature_names=count score\n",
                                                 "Tree=1\n",
                                                 "num_leaves=2\n",
                                                 "num_leaves=1\n",
                                                 "num_cat=1\n",
                                                 "decision_type=10 1\n",
                                                 "decision_type=4\n",
                                                 "left_child=-1\n",
                                                 "right_child=-2\n",
                                                 "leaf_value=1 2\n",
                                                 "threshold=1e300\n",
                                                 "cat_boundaries=0 1\n",
                                                 "cat_threshold=4294967295\n",
                                                 "end of trees\n",
                                                 "pandas_categorical:[[0,1]]\n",
                                                 "\"learner\":{@}",
                                                 "\"tree_info\":[@]",
                                                 "\"leaf_value\":1",
                                                 "\"threshold\":\"0||35\",\"decision_type\":\"==\"",
                                                 "\"missing_type\":\"Zero\"",
                                                 "\"default_left\":true",
                                                 "\"name\":\"dart\",\"weight_drop\":[0.5]",
                                                 "\"gbtree\":{\"name\":\"gbtree\",\"model\":@}",
                                                 "\"num_class\":\"2\"",
                                                 "\"base_score\":\"[5E-1,2]\"",
                                                 "\"name\":\"multi:softprob\"",
                                                 "\"left_children\":[1,-1,-1]",
                                                 "\"num_deleted\":\"1\"",
                                                 "\"categories\":[1,35]",
                                                 "[@,-1]",
                                                 "2147483647",
                                                 "\x08\x0a:",
                                                 "ai.onnx.ml",
                                                 "TreeEnsembleRegressor",
                                                 "nodes_featureids",
                                                 "BRANCH_GTE",
                                                 "LEAF",
                                                 "LOGISTIC",
                                                 "SOFTMAX",
                                                 "AVERAGE",
                                                 "Concat",
                                                 "MatMul",
                                                 "Reshape",
                                                 "ArgMax",
                                                 "OneHotEncoder"};

/// Rows with nulls, zeros, fractions and what no float can be.
auto some_rows(op_bench& bench) -> row_set {
  const std::vector<std::optional<double>> scores{0, std::nullopt, -0.5, 1e-40, 35.5, -1e300, 1e300, 0.5};
  const std::vector<std::optional<std::int64_t>> counts{0, 1, std::nullopt, -1, 35, INT64_MAX, INT64_MIN, 2};
  row_set rows = bench.with<double>(bench.rows_of({1, 2, 3, 4, 5, 6, 7, 8}), 1001, scores);
  return bench.with<std::int64_t>(rows, 1501, counts);
}

/// The same rows have the same scores, however they are cut.
void call(const model& what) {
  op_bench bench;
  const row_set rows = some_rows(bench);
  const auto all = what.sums(rows, bench.memory(), {.rows_of_part = 256});
  const auto half = what.sums(rows.take(4), bench.memory(), {.rows_of_part = 1});
  BRAID_EXPECTS(all && half, "nobody stopped it");
  BRAID_EXPECTS(all->size() == what.outputs() && half->size() == what.outputs(), "there is a column for each output");
  for (std::size_t output = 0; output < all->size(); ++output) {
    BRAID_EXPECTS((*all)[output].values.size() == 8, "there is a value for each row");
    for (std::size_t row = 0; row < 4; ++row)
      BRAID_EXPECTS(std::bit_cast<std::uint64_t>((*all)[output].writable[row]) ==
                        std::bit_cast<std::uint64_t>((*half)[output].writable[row]),
                    "a score is that of its row");
  }
  std::ignore = what.link(*all);
}

void run(std::string_view text) {
  const auto made = detail::parse_model(text, "fuzz", op_world());
  if (made) return call(**made);
  expect_sound(made.error());
  if (const auto document = parse_json(text, "fuzz")) expect_locations(made.error(), *document);
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
