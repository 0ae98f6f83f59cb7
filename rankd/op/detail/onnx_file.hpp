// rankd/op/detail/onnx_file.hpp: the nodes, tensors, inputs and outputs of an ONNX file, as views of the file's bytes.
#pragma once

#include <rankd/op/detail/model_reading.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {

/// The element types of tensors, with the numbers that ONNX assigns to them.
enum class onnx_type : std::int64_t { none = 0, floats = 1, int32 = 6, int64 = 7, text = 8, flags = 9, doubles = 11 };

/// The domain of ONNX's machine-learning operators, such as trees and encoders.
inline constexpr std::string_view onnx_ml = "ai.onnx.ml";

/// Returns the name of a tensor type in ONNX's notation, such as "tensor(float)".
auto onnx_type_text(onnx_type type) -> std::string;

/// An undecoded tensor in the file. `read_numbers` decodes its numbers.
struct onnx_tensor {
  std::string_view bytes;
  std::string pointer;
};

/// The numbers of a decoded tensor.
struct onnx_numbers {
  onnx_type type = onnx_type::none;
  std::vector<std::int64_t> dims;
  std::vector<double> values;
};

struct onnx_attribute {
  std::vector<double> floats;  ///< a single element if the file has `f`
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
  std::optional<onnx_tensor> tensor;
};

struct onnx_node {
  std::string pointer;
  std::string_view name = {};
  std::string_view op = {};
  std::string_view domain = {};  ///< empty for ai.onnx
  std::vector<std::string_view> inputs = {};
  std::vector<std::string_view> outputs = {};
  std::vector<std::pair<std::string_view, std::string_view>> attributes = {};  ///< names and bytes
};

/// An input or an output of the graph.
struct onnx_value {
  std::string pointer;
  std::string_view name = {};
  onnx_type type = onnx_type::none;     ///< of a tensor
  bool is_map = false;                  ///< whether it is a sequence of maps, which ZipMap produces
  std::vector<std::int64_t> dims = {};  ///< -1 if the file does not state it
};

struct onnx_file {
  std::vector<onnx_node> nodes;
  std::map<std::string_view, onnx_tensor> constants;
  std::vector<onnx_value> inputs;
  std::vector<onnx_value> outputs;
  std::map<std::string_view, std::string_view> metadata;
};

/// Returns a name from the file in backquotes for messages. Replaces bytes that cannot be printed.
auto shown(std::string_view name) -> std::string;

/// Parses an ONNX file. Reports truncated, bad_value, missing_field, too_many_items, duplicate_value,
/// unsupported_schema, unknown_operator. Lifetime: the bytes must outlive the returned file.
auto read_onnx_file(std::string_view bytes, const model_reading& reading) -> onnx_file;

/// The kind of targets of a CatBoost model that predicts several targets. CatBoost writes such a model as a classifier
/// without classes, which applies a softmax to its scores. The predictions of CatBoost itself are the scores before the
/// softmax. If the model predicts a mean and a variance, the second score is half the logarithm of the variance.
enum class catboost_targets : std::uint8_t { none, plain, mean_and_variance };

/// Determines the kind of targets of a CatBoost file from the loss function in its metadata. Returns `none` for all
/// other files.
auto read_catboost_targets(const onnx_file& file) -> catboost_targets;

/// Returns the numbers of a tensor. Reports truncated, wrong_type, wrong_length, external_data or too_many_items and
/// then returns nothing.
auto read_numbers(const onnx_tensor& tensor, const model_reading& reading) -> std::optional<onnx_numbers>;

/// Returns an attribute of a node. Returns nothing if the node has no attribute of this name, or if a diagnostic was
/// reported.
auto find_attribute(const onnx_node& node, std::string_view name, const model_reading& reading)
    -> std::optional<onnx_attribute>;

}  // namespace rankd::detail
