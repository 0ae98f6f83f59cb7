// rankd/op/detail/lightgbm.hpp: the splits and objectives of LightGBM models, shared by the readers of both file
// formats.
#pragma once

#include <rankd/op/detail/drawn_tree.hpp>
#include <rankd/op/detail/model_reading.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd::detail {

/// The values that a split treats as missing, from the second and third bits of `decision_type`.
enum class lightgbm_missing : std::uint8_t { none, zero, nan };

/// A numeric split. A row goes left if `value <= threshold`.
struct lightgbm_split {
  double threshold = 0;
  lightgbm_missing missing = lightgbm_missing::none;
  bool default_left = false;
};

/// Sets the threshold of a numeric split, and the child to which nulls go. If the split treats no values as missing, a
/// null counts as zero.
void split_by_number(const lightgbm_split& split, drawn_node& out);

/// Turns a node into a split by categories. As in LightGBM, the listed categories go left, and all other values and
/// nulls go right. Because a `drawn_node` sends listed categories right, the function swaps the children. Requires that
/// the children are already set.
void split_by_category(std::vector<std::uint32_t> categories, drawn_node& out);

/// The properties that are the same for all trees of a LightGBM file.
struct lightgbm_header {
  std::size_t outputs = 1;  ///< the number of trees in each iteration
  std::string objective;    ///< the objective in the file; empty if the trainer used its own objective
  bool averages = false;    ///< random forests: whether the result is the mean of the iterations
  /// States whether the leaves of a random forest already contain scores, as in files of versions before 2.2.3. Empty
  /// if it is unknown whether the file is from such a version.
  std::optional<bool> leaves_are_scores = false;
  std::vector<std::string> features;
  bool recodes = false;  ///< whether the categories of rows differ from the numbers of categories in splits
};

/// Returns whether the lists in `pandas_categorical` renumber categories. LightGBM uses the position of a value in its
/// list as the category.
auto recodes_categories(const nlohmann::json& pandas_categorical) -> bool;

/// Returns the rule that converts sums to scores for the file's objective and number of trees. Reports
/// unknown_objective and wrong_length.
auto lightgbm_rule(const lightgbm_header& header, std::size_t trees, const model_reading& reading) -> score_rule;

/// Returns the model with `count` trees. Returns null after a diagnostic.
auto finished_lightgbm(lightgbm_header header, std::size_t count, tree_model trees, const model_reading& reading)
    -> std::shared_ptr<const model>;

}  // namespace rankd::detail
