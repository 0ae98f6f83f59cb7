// rankd/op/detail/model_reading.hpp: shared code of the readers of models: keys by name, and diagnostics.
#pragma once

#include <rankd/op/detail/scoring.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd::detail {

inline auto model_problem(std::string_view code, std::string pointer, std::string message, std::string hint = {})
    -> braid::diagnostic {
  return {.code = std::string(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = std::move(hint),
          .node = {},
          .source = {}};
}

/// Faults are appended, with their place in the file.
struct model_reading {
  const registries& declared;
  braid::diagnostics& problems;

  /// Returns the number of the key of that name, which a model may read. Zero after a diagnostic: unknown_key,
  /// blocked_key, unreadable_key, wrong_key_type.
  [[nodiscard]] auto key(const std::string& name, const std::string& pointer) const -> std::uint32_t;

  void report(std::string_view code, std::string pointer, std::string message, std::string hint = {}) const {
    problems.add(model_problem(code, std::move(pointer), std::move(message), std::move(hint)));
  }

  /// Reports too_few_items and too_many_items if a list has fewer or more items than allowed.
  void bound(std::size_t items, const std::string& pointer, std::size_t max_count) const;
};

/// Returns whether a key comes for the first time.
auto is_new(std::uint32_t key, std::vector<std::uint32_t>& seen) -> bool;

/// The model that a trainer wrote: trees whose features are still positions in the list of names in its file.
/// The features are checked to be positions there.
struct trained_model {
  tree_model trees;
  std::vector<double> intercepts;
  score_rule rule;
  std::vector<std::string> features;
  std::string features_pointer;
  std::string naming_hint;  ///< how to name features in training
};

/// Makes keys of the features that splits use; the others need no keys. Reports what `model_reading::key` reports, and
/// unnamed_features and duplicate_value. Null after any diagnostic.
auto with_keys(trained_model made, const model_reading& reading) -> std::shared_ptr<const model>;

/// Models as LightGBM saves them, as text and as the JSON of `dump_model`, and XGBoost, as JSON; null after a
/// diagnostic.
auto is_lightgbm_text(std::string_view text) noexcept -> bool;
auto read_lightgbm_text(std::string_view text, const model_reading& reading) -> std::shared_ptr<const model>;
auto read_lightgbm_dump(const nlohmann::json& document, const model_reading& reading) -> std::shared_ptr<const model>;
auto read_xgboost(const nlohmann::json& document, const model_reading& reading) -> std::shared_ptr<const model>;

/// Returns a model of ONNX, as skl2onnx writes it; null after a diagnostic.
auto read_onnx(std::string_view bytes, const model_reading& reading) -> std::shared_ptr<const model>;

}  // namespace rankd::detail
