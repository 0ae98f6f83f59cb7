// tests/rankd/op/onnx_writer.hpp: small files of ONNX, byte by byte, so that each of them can be wrong in one place.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::testing::onnx {

using bytes = std::string;

inline auto varint(std::uint64_t value) -> bytes {
  bytes out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
  return out += static_cast<char>(value);
}

inline auto whole(std::uint32_t field, std::int64_t value) -> bytes {
  return varint(std::uint64_t{field} << 3U) + varint(static_cast<std::uint64_t>(value));
}

inline auto message(std::uint32_t field, std::string_view content) -> bytes {
  return varint(std::uint64_t{field} << 3U | 2U) + varint(content.size()) + bytes(content);
}

template <typename T, typename Whole>
auto fixed(T value) -> bytes {
  auto whole = std::bit_cast<Whole>(value);
  bytes out;
  for (std::size_t at = 0; at < sizeof(T); ++at, whole = static_cast<Whole>(whole >> 8U))
    out += static_cast<char>(whole & 0xFFU);
  return out;
}

inline auto floats(const std::vector<float>& values) -> bytes {
  bytes out;
  for (const float each : values) out += fixed<float, std::uint32_t>(each);
  return out;
}

inline auto whole_numbers(const std::vector<std::int64_t>& values) -> bytes {
  bytes out;
  for (const std::int64_t each : values) out += fixed<std::int64_t, std::uint64_t>(each);
  return out;
}

// Attributes of a node

inline auto with_floats(std::string_view name, const std::vector<float>& values) -> bytes {
  return message(5, message(1, name) + message(7, floats(values)) + whole(20, 6));
}

inline auto with_float(std::string_view name, float value) -> bytes {
  return message(5, message(1, name) + varint(2U << 3U | 5U) + floats({value}) + whole(20, 1));
}

inline auto with_ints(std::string_view name, const std::vector<std::int64_t>& values) -> bytes {
  bytes list;
  for (const std::int64_t each : values) list += whole(8, each);  // as files have them: not packed
  return message(5, message(1, name) + list + whole(20, 7));
}

inline auto with_int(std::string_view name, std::int64_t value) -> bytes {
  return message(5, message(1, name) + whole(3, value) + whole(20, 2));
}

inline auto with_strings(std::string_view name, const std::vector<std::string>& values) -> bytes {
  bytes list;
  for (const std::string& each : values) list += message(9, each);
  return message(5, message(1, name) + list + whole(20, 8));
}

inline auto with_string(std::string_view name, std::string_view value) -> bytes {
  return message(5, message(1, name) + message(4, value) + whole(20, 3));
}

// Parts of a graph

inline auto node(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 std::string_view attributes = {}, std::string_view domain = "") -> bytes {
  bytes out;
  for (const std::string& each : inputs) out += message(1, each);
  for (const std::string& each : outputs) out += message(2, each);
  return out + message(3, "it") + message(4, op) + bytes(attributes) + message(7, domain);
}

inline auto learner(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, std::string_view attributes = {}) -> bytes {
  return node(op, inputs, outputs, attributes, "ai.onnx.ml");
}

/// Types of elements: 1 float, 7 int64, 8 string, 9 bool, 11 double.
inline auto tensor(std::string_view name, int type, const std::vector<std::int64_t>& dims, std::string_view raw)
    -> bytes {
  bytes out;
  for (const std::int64_t each : dims) out += whole(1, each);
  return out + whole(2, type) + message(8, name) + message(9, raw);
}

inline auto float_tensor(std::string_view name, const std::vector<std::int64_t>& dims, const std::vector<float>& values)
    -> bytes {
  return tensor(name, 1, dims, floats(values));
}

inline auto int_tensor(std::string_view name, const std::vector<std::int64_t>& values) -> bytes {
  return tensor(name, 7, {static_cast<std::int64_t>(values.size())}, whole_numbers(values));
}

/// A value whose first dimension is that of the rows.
inline auto value(std::string_view name, int type, const std::vector<std::int64_t>& columns) -> bytes {
  bytes dims = message(1, message(2, "N"));
  for (const std::int64_t each : columns) dims += message(1, whole(1, each));
  return message(1, name) + message(2, message(1, whole(1, type) + message(2, dims)));
}

struct file {
  std::vector<bytes> nodes = {};
  std::vector<bytes> constants = {};
  std::vector<bytes> inputs = {value("x", 1, {2})};
  std::vector<bytes> outputs = {value("y", 1, {1})};
  std::string names = R"(["count","score"])";  ///< none where it is empty
  std::vector<std::pair<std::string, std::int64_t>> versions = {{"", 21}, {"ai.onnx.ml", 3}};
  bytes more_graph = {};
};

inline auto to_bytes(const file& from) -> bytes {
  bytes graph;
  for (const bytes& each : from.nodes) graph += message(1, each);
  for (const bytes& each : from.constants) graph += message(5, each);
  for (const bytes& each : from.inputs) graph += message(11, each);
  for (const bytes& each : from.outputs) graph += message(12, each);
  bytes out = whole(1, 10) + message(7, graph + from.more_graph);
  for (const auto& [domain, version] : from.versions) out += message(8, message(1, domain) + whole(2, version));
  if (!from.names.empty()) out += message(14, message(1, "feature_names") + message(2, from.names));
  return out;
}

/// The lists of a regressor: at most 0.5 in column 1 gives 1, and more 2.
struct trees {
  std::vector<std::int64_t> tree = {0, 0, 0}, number = {0, 1, 2}, feature = {1, 0, 0}, when_true = {1, 0, 0},
                            when_false = {2, 0, 0}, missing_true = {0, 0, 0};
  std::vector<float> value = {0.5F, 0, 0};
  std::vector<std::string> mode = {"BRANCH_LEQ", "LEAF", "LEAF"};
  std::vector<std::int64_t> leaf_tree = {0, 0}, leaf = {1, 2}, output = {0, 0};
  std::vector<float> weight = {1, 2};
  std::int64_t targets = 1;
  bytes more = {};  ///< other attributes
};

inline auto nodes_of(const trees& from) -> bytes {
  return with_ints("nodes_treeids", from.tree) + with_ints("nodes_nodeids", from.number) +
         with_ints("nodes_featureids", from.feature) + with_ints("nodes_truenodeids", from.when_true) +
         with_ints("nodes_falsenodeids", from.when_false) +
         with_ints("nodes_missing_value_tracks_true", from.missing_true) + with_floats("nodes_values", from.value) +
         with_strings("nodes_modes", from.mode) + from.more;
}

inline auto regressor(const trees& from) -> bytes {
  return learner("TreeEnsembleRegressor", {"x"}, {"y"},
                 nodes_of(from) + with_ints("target_treeids", from.leaf_tree) + with_ints("target_nodeids", from.leaf) +
                     with_ints("target_ids", from.output) + with_floats("target_weights", from.weight) +
                     with_int("n_targets", from.targets));
}

inline auto classifier(const trees& from, const std::vector<std::int64_t>& labels) -> bytes {
  return learner("TreeEnsembleClassifier", {"x"}, {"label", "y"},
                 nodes_of(from) + with_ints("class_treeids", from.leaf_tree) + with_ints("class_nodeids", from.leaf) +
                     with_ints("class_ids", from.output) + with_floats("class_weights", from.weight) +
                     with_ints("classlabels_int64s", labels));
}

}  // namespace rankd::testing::onnx
