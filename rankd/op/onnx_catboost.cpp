// rankd/op/onnx_catboost.cpp: determines from the metadata of an ONNX file what the scores of a CatBoost model mean.
#include <rankd/op/detail/onnx_file.hpp>
#include <rankd/plan/json.hpp>

#include <nlohmann/json.hpp>

namespace rankd::detail {

auto read_catboost_targets(const onnx_file& file) -> catboost_targets {
  const auto params = file.metadata.find("params");
  if (params == file.metadata.end() || !file.metadata.contains("catboost_version_info")) return catboost_targets::none;
  const auto document = parse_json(params->second, "");
  if (!document) return catboost_targets::none;
  const nlohmann::json* place = &*document;
  for (const std::string_view name : {"loss_function", "type"}) {
    const auto found = place->is_object() ? place->find(name) : place->end();
    if (found == place->end()) return catboost_targets::none;
    place = &*found;
  }
  if (*place == "RMSEWithUncertainty") return catboost_targets::mean_and_variance;
  const bool is_plain = *place == "MultiRMSE" || *place == "MultiRMSEWithMissingValues" || *place == "MultiQuantile";
  return is_plain ? catboost_targets::plain : catboost_targets::none;
}

}  // namespace rankd::detail
