// rankd/op/detail/model_reading.hpp: shared code of the readers of model files: finds keys by name, and collects
// diagnostics.
#pragma once

#include <rankd/op/detail/scoring.hpp>
#include <rankd/registry/diagnostic.hpp>
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

/// The registries that are used to read a model file, and a list of the problems found so far, with their positions in
/// the file.
struct model_reading {
  const registries& declared;
  braid::diagnostics& problems;

  /// Returns the id of a key by its name, if models may read the key. Returns 0 after reporting unknown_key,
  /// blocked_key, unreadable_key or wrong_key_type.
  [[nodiscard]] auto key(const std::string& name, const std::string& pointer) const -> std::uint32_t;

  void report(std::string_view code, std::string pointer, std::string message, std::string hint = {}) const {
    problems.add(problem_at(code, std::move(pointer), std::move(message), std::move(hint)));
  }

  /// Reports too_few_items for an empty list, and too_many_items for a list of more than `max_count` items.
  void bound(std::size_t items, const std::string& pointer, std::size_t max_count) const;
};

/// Returns whether a key is not in `seen` yet, and adds the key to `seen`.
auto is_new(std::uint32_t key, std::vector<std::uint32_t>& seen) -> bool;

/// A model as its trainer wrote it. The trees refer to features by their positions in the file's list of names. These
/// positions have been checked.
struct trained_model {
  tree_model trees;
  std::vector<double> intercepts;
  score_rule rule;
  std::vector<std::string> features;
  std::string features_pointer;
  std::string naming_hint;  ///< advice on how to name features in training
};

/// Converts the features that splits use to keys. Unused features need no keys. Reports the errors of
/// `model_reading::key`, unnamed_features, and duplicate_value. Returns null after any diagnostic.
auto with_keys(trained_model made, const model_reading& reading) -> std::shared_ptr<const model>;

/// These functions read models in the two formats of LightGBM (its text and the JSON of `dump_model`) and in the JSON
/// format of XGBoost. They return null after a diagnostic.
auto is_lightgbm_text(std::string_view text) noexcept -> bool;
auto read_lightgbm_text(std::string_view text, const model_reading& reading) -> std::shared_ptr<const model>;
auto read_lightgbm_dump(const nlohmann::json& document, const model_reading& reading) -> std::shared_ptr<const model>;
auto read_xgboost(const nlohmann::json& document, const model_reading& reading) -> std::shared_ptr<const model>;

/// Reads an ONNX model as skl2onnx writes it. Returns null after a diagnostic.
auto read_onnx(std::string_view bytes, const model_reading& reading) -> std::shared_ptr<const model>;

}  // namespace rankd::detail
