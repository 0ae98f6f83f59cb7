// rankd/op/onnx_file.cpp: parses the bytes of an ONNX file into its nodes and tensors. Field numbers are those of
// onnx.proto.
#include <rankd/op/detail/onnx_file.hpp>
#include <rankd/op/detail/wire.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::size_t max_onnx_nodes = 10'000;
constexpr std::size_t max_onnx_values = 20'000;  ///< of one list of a message
constexpr std::int64_t max_opset = 28;           ///< later versions may mean something else
constexpr std::int64_t max_ml_opset = 5;
constexpr std::size_t max_numbers = std::size_t{1} << 22U;  ///< of one tensor or list

/// A Protocol Buffers message, and its name in diagnostics.
struct message {
  std::string_view bytes;
  std::string pointer;
  std::string what;
};

/// Calls `take` for each field of a message. `take` returns false if the field has the wrong type.
template <typename Take>
void for_fields(const message& source, const model_reading& reading, const Take& take) {
  wire_reader in(source.bytes);
  while (const auto field = in.next()) {
    if (take(*field)) continue;
    return reading.report("bad_value", source.pointer,
                          source.what + " has field " + std::to_string(field->number) + " with a wrong type");
  }
  if (std::string wrong = in.damage(); !wrong.empty())
    reading.report("truncated", source.pointer, source.what + " " + wrong, "save the model again");
}

auto take_bytes(const wire_field& field, std::string_view& out) -> bool {
  out = field.bytes;
  return field.kind == wire_kind::bytes;
}

auto take_integer(const wire_field& field, std::int64_t& out) -> bool {
  out = field.integer();
  return field.kind == wire_kind::varint;
}

/// Appends the bytes of a field, which are a nested message or a name.
auto append_bytes(const wire_field& field, std::vector<std::string_view>& out) -> bool {
  out.push_back(field.bytes);
  return field.kind == wire_kind::bytes;
}

auto place(std::string_view parent, std::string_view field, std::size_t index) -> std::string {
  return braid::json_pointer(braid::json_pointer(parent, field), index);
}

// The functions below parse the nodes of the graph.

auto read_attribute_name(std::string_view bytes, const std::string& pointer, const model_reading& reading)
    -> std::string_view {
  std::string_view name;
  for_fields({bytes, pointer, "an attribute"}, reading,
             [&](const wire_field& field) { return field.number != 1 || take_bytes(field, name); });
  return name;
}

auto read_node(std::string_view bytes, const std::string& pointer, const model_reading& reading) -> onnx_node {
  onnx_node out{.pointer = pointer};
  std::vector<std::string_view> attributes;
  for_fields({bytes, pointer, "the node"}, reading, [&](const wire_field& field) {
    switch (field.number) {
      case 1: return append_bytes(field, out.inputs);
      case 2: return append_bytes(field, out.outputs);
      case 3: return take_bytes(field, out.name);
      case 4: return take_bytes(field, out.op);
      case 5: return append_bytes(field, attributes);
      case 7: return take_bytes(field, out.domain);
      default: return true;
    }
  });
  if (out.domain == "ai.onnx") out.domain = {};
  for (std::size_t at = 0; at < attributes.size(); ++at)
    out.attributes.emplace_back(read_attribute_name(attributes[at], place(pointer, "attribute", at), reading),
                                attributes[at]);
  return out;
}

// The functions below parse the inputs and outputs of the graph.

auto read_shape(std::string_view bytes, const std::string& pointer, const model_reading& reading)
    -> std::vector<std::int64_t> {
  std::vector<std::int64_t> out;
  for_fields({bytes, pointer, "the shape"}, reading, [&](const wire_field& field) {
    if (field.number != 1) return true;
    out.push_back(-1);
    for_fields({field.bytes, pointer, "a dimension"}, reading,
               [&](const wire_field& inner) { return inner.number != 1 || take_integer(inner, out.back()); });
    return field.kind == wire_kind::bytes;
  });
  return out;
}

void read_type(std::string_view bytes, onnx_value& out, const model_reading& reading) {
  for_fields({bytes, out.pointer, "the type"}, reading, [&](const wire_field& field) {
    if (field.number == 4) out.is_map = true;
    if (field.number != 1) return true;
    for_fields({field.bytes, out.pointer, "the type"}, reading, [&](const wire_field& inner) {
      if (inner.number == 1) out.type = static_cast<onnx_type>(inner.integer());
      if (inner.number == 2) out.dims = read_shape(inner.bytes, out.pointer, reading);
      return true;
    });
    return field.kind == wire_kind::bytes;
  });
}

auto read_value(std::string_view bytes, std::string pointer, const model_reading& reading) -> onnx_value {
  onnx_value out{.pointer = std::move(pointer)};
  for_fields({bytes, out.pointer, "the value"}, reading, [&](const wire_field& field) {
    if (field.number == 1) return take_bytes(field, out.name);
    if (field.number == 2) read_type(field.bytes, out, reading);
    return field.number != 2 || field.kind == wire_kind::bytes;
  });
  return out;
}

// The functions below parse tensors.

auto read_tensor_name(const onnx_tensor& tensor, const model_reading& reading) -> std::string_view {
  std::string_view name;
  for_fields({tensor.bytes, tensor.pointer, "the tensor"}, reading,
             [&](const wire_field& field) { return field.number != 8 || take_bytes(field, name); });
  return name;
}

/// The decoded fields of a tensor message.
struct tensor_fields {
  onnx_numbers out;
  std::vector<std::int64_t> ints;
  std::string_view raw;
  bool has_raw = false;
  bool is_external = false;
};

auto take_tensor_field(const wire_field& field, tensor_fields& out) -> bool {
  std::int64_t number = 0;
  switch (field.number) {
    case 1: return append_integers(field, out.out.dims);
    case 2:
      if (!take_integer(field, number)) return false;
      out.out.type = static_cast<onnx_type>(number);
      return true;
    case 4: return append_floats(field, out.out.values);
    case 5:
    case 7: return append_integers(field, out.ints);
    case 9: out.has_raw = true; return take_bytes(field, out.raw);
    case 10: return append_doubles(field, out.out.values);
    case 13: out.is_external = true; return true;
    case 14:
      if (!take_integer(field, number)) return false;
      out.is_external = out.is_external || number != 0;
      return true;
    default: return true;
  }
}

template <typename T>
void append_raw(std::string_view raw, std::vector<double>& out) {
  out.reserve(raw.size() / sizeof(T));
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T))
    out.push_back(static_cast<double>(little_endian<T>(raw.substr(at))));
}

/// Returns the size of a number in `raw_data` in bytes. Returns 0 for unsupported types.
auto size_of(onnx_type type) -> std::size_t {
  switch (type) {
    case onnx_type::floats:
    case onnx_type::int32: return 4;
    case onnx_type::doubles:
    case onnx_type::int64: return 8;
    case onnx_type::flags: return 1;
    case onnx_type::none:
    case onnx_type::text: break;
  }
  return 0;
}

void decode_raw(tensor_fields& from) {
  switch (from.out.type) {
    case onnx_type::floats: return append_raw<float>(from.raw, from.out.values);
    case onnx_type::doubles: return append_raw<double>(from.raw, from.out.values);
    case onnx_type::int32: return append_raw<std::int32_t>(from.raw, from.out.values);
    case onnx_type::int64: return append_raw<std::int64_t>(from.raw, from.out.values);
    case onnx_type::flags: return append_raw<std::int8_t>(from.raw, from.out.values);
    case onnx_type::none:
    case onnx_type::text: return;
  }
}

/// Returns the number of items that a tensor must have according to its dimensions. Returns nothing if a dimension is
/// negative or the number is far too large.
auto promised(const std::vector<std::int64_t>& dims) -> std::optional<std::size_t> {
  std::size_t out = 1;
  for (const std::int64_t each : dims) {
    if (each < 0 || static_cast<std::uint64_t>(each) > max_numbers) return std::nullopt;
    out *= static_cast<std::size_t>(each);
    if (out > max_numbers) return std::nullopt;
  }
  return out;
}

// The functions below parse the graph.

/// The nested messages of a graph, before they are parsed.
struct graph_parts {
  std::vector<std::string_view> nodes, constants, inputs, outputs;
  bool has_sparse = false;
};

auto find_parts(std::string_view bytes, const model_reading& reading) -> graph_parts {
  graph_parts out;
  for_fields({bytes, "/graph", "the graph"}, reading, [&](const wire_field& field) {
    switch (field.number) {
      case 1: return append_bytes(field, out.nodes);
      case 5: return append_bytes(field, out.constants);
      case 11: return append_bytes(field, out.inputs);
      case 12: return append_bytes(field, out.outputs);
      case 15: out.has_sparse = true; return true;
      default: return true;
    }
  });
  const auto bound = [&](std::size_t count, std::size_t limit, std::string_view field) {
    if (count > limit)
      reading.report(
          "too_many_items", braid::json_pointer("/graph", field),
          "the graph has " + std::to_string(count) + " items in this list; the limit is " + std::to_string(limit));
  };
  bound(out.nodes.size(), max_onnx_nodes, "node");
  bound(out.constants.size(), max_onnx_values, "initializer");
  bound(out.inputs.size(), max_model_keys, "input");
  bound(out.outputs.size(), max_outputs, "output");
  if (out.has_sparse)
    reading.report("wrong_type", "/graph/sparse_initializer", "sparse tensors are not supported", "save them dense");
  return out;
}

void read_graph(std::string_view bytes, onnx_file& out, const model_reading& reading) {
  const graph_parts parts = find_parts(bytes, reading);
  if (!reading.problems.empty()) return;
  for (std::size_t at = 0; at < parts.nodes.size() && reading.problems.empty(); ++at)
    out.nodes.push_back(read_node(parts.nodes[at], place("/graph", "node", at), reading));
  for (std::size_t at = 0; at < parts.constants.size() && reading.problems.empty(); ++at) {
    onnx_tensor made{parts.constants[at], place("/graph", "initializer", at)};
    const std::string_view name = read_tensor_name(made, reading);
    const std::string pointer = made.pointer;
    if (!out.constants.emplace(name, std::move(made)).second)
      reading.report("duplicate_value", pointer, "there is an initializer " + shown(name) + " already");
  }
  for (std::size_t at = 0; at < parts.inputs.size() && reading.problems.empty(); ++at)
    out.inputs.push_back(read_value(parts.inputs[at], place("/graph", "input", at), reading));
  for (std::size_t at = 0; at < parts.outputs.size() && reading.problems.empty(); ++at)
    out.outputs.push_back(read_value(parts.outputs[at], place("/graph", "output", at), reading));
  // Files of older versions also list initializers as inputs.
  std::erase_if(out.inputs, [&](const onnx_value& each) { return out.constants.contains(each.name); });
}

// The functions below parse the model, which contains the graph.

void check_opset(std::string_view bytes, const std::string& pointer, const model_reading& reading) {
  std::string_view domain;
  std::int64_t version = 0;
  for_fields({bytes, pointer, "the operator set"}, reading, [&](const wire_field& field) {
    if (field.number == 1) return take_bytes(field, domain);
    return field.number != 2 || take_integer(field, version);
  });
  const bool is_ml = domain == "ai.onnx.ml";
  if (!is_ml && !domain.empty() && domain != "ai.onnx") return;  // its nodes are reported if they are used
  const std::int64_t limit = is_ml ? max_ml_opset : max_opset;
  if (version < 1 || version > limit)
    reading.report("unsupported_schema", braid::json_pointer(pointer, "version"),
                   "operators of " + std::string(is_ml ? "ai.onnx.ml" : "ai.onnx") + " are supported up to version " +
                       std::to_string(limit) + ", not of " + std::to_string(version),
                   "convert with target_opset={\"\": 21, \"ai.onnx.ml\": 3}");
}

void read_metadata(std::string_view bytes, std::size_t index, onnx_file& out, const model_reading& reading) {
  std::string_view name;
  std::string_view value;
  for_fields({bytes, place("", "metadata_props", index), "the entry"}, reading, [&](const wire_field& field) {
    if (field.number == 1) return take_bytes(field, name);
    return field.number != 2 || take_bytes(field, value);
  });
  out.metadata.emplace(name, value);
}

}  // namespace

auto onnx_type_text(onnx_type type) -> std::string {
  constexpr std::array<std::string_view, 17> names{
      "undefined", "float",   "uint8",  "int8",   "uint16", "int16",     "int32",      "int64",   "string",
      "bool",      "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16"};
  const auto number = static_cast<std::int64_t>(type);
  if (number < 0 || static_cast<std::size_t>(number) >= names.size()) return "tensor(" + std::to_string(number) + ")";
  return "tensor(" + std::string(names[static_cast<std::size_t>(number)]) + ")";
}

auto shown(std::string_view name) -> std::string { return is_utf8(name) ? quote_name(name) : "`?`"; }

auto read_onnx_file(std::string_view bytes, const model_reading& reading) -> onnx_file {
  onnx_file out;
  std::optional<std::string_view> graph;
  std::vector<std::string_view> opsets;
  std::vector<std::string_view> metadata;
  for_fields({bytes, "", "the file"}, reading, [&](const wire_field& field) {
    if (field.number == 7) graph = field.bytes;
    if (field.number == 8) return append_bytes(field, opsets);
    if (field.number == 14) return append_bytes(field, metadata);
    return field.number != 7 || field.kind == wire_kind::bytes;
  });
  if (!reading.problems.empty()) return out;
  if (!graph) reading.report("missing_field", "/graph", "the file has no graph", "save the model in ONNX format");
  if (opsets.empty() || opsets.size() > max_onnx_values)
    reading.report("missing_field", "/opset_import", "the file does not state the version of its operators");
  if (!reading.problems.empty()) return out;
  for (std::size_t at = 0; at < opsets.size() && reading.problems.empty(); ++at)
    check_opset(opsets[at], place("", "opset_import", at), reading);
  for (std::size_t at = 0; at < metadata.size() && reading.problems.empty(); ++at)
    read_metadata(metadata[at], at, out, reading);
  if (reading.problems.empty()) read_graph(*graph, out, reading);
  return out;
}

auto read_numbers(const onnx_tensor& tensor, const model_reading& reading) -> std::optional<onnx_numbers> {
  const auto refuse = [&](std::string_view code, std::string message, std::string hint = {}) {
    reading.report(code, tensor.pointer, std::move(message), std::move(hint));
    return std::nullopt;
  };
  tensor_fields read;
  const std::size_t before = reading.problems.size();
  for_fields({tensor.bytes, tensor.pointer, "the tensor"}, reading,
             [&](const wire_field& field) { return take_tensor_field(field, read); });
  if (reading.problems.size() != before) return std::nullopt;
  if (read.is_external)
    return refuse("external_data", "the numbers of the tensor are in another file", "save the model with its data");
  const std::size_t size = size_of(read.out.type);
  if (size == 0) return refuse("wrong_type", onnx_type_text(read.out.type) + " cannot be used for numbers");
  const auto count = promised(read.out.dims);
  if (!count)
    return refuse("too_many_items",
                  "the dimensions are negative, or have more than " + std::to_string(max_numbers) + " numbers");
  if (read.has_raw && read.raw.size() != *count * size)
    return refuse("wrong_length", "the dimensions have " + counted(*count, "number") + " of " + counted(size, "byte") +
                                      ", but the data has " + counted(read.raw.size(), "byte"));
  if (read.has_raw) decode_raw(read);
  for (const std::int64_t each : read.ints) read.out.values.push_back(static_cast<double>(each));
  if (read.out.values.size() != *count)
    return refuse("wrong_length", "the dimensions have " + counted(*count, "number") + ", but the data has " +
                                      std::to_string(read.out.values.size()));
  return std::move(read.out);
}

auto find_attribute(const onnx_node& node, std::string_view name, const model_reading& reading)
    -> std::optional<onnx_attribute> {
  const auto found = std::ranges::find(node.attributes, name, &std::pair<std::string_view, std::string_view>::first);
  if (found == node.attributes.end()) return std::nullopt;
  onnx_attribute out;
  const std::string pointer = braid::json_pointer(node.pointer, name);
  const std::size_t before = reading.problems.size();
  for_fields({found->second, pointer, "the attribute"}, reading, [&](const wire_field& field) {
    switch (field.number) {
      case 2:
      case 7: return append_floats(field, out.floats);
      case 3:
      case 8: return append_integers(field, out.ints);
      case 4:
      case 9: return append_bytes(field, out.strings);
      case 5: out.tensor = onnx_tensor{field.bytes, pointer}; return field.kind == wire_kind::bytes;
      default: return true;
    }
  });
  if (out.floats.size() > max_numbers || out.ints.size() > max_numbers || out.strings.size() > max_numbers)
    reading.report("too_many_items", pointer, "the list has more than " + std::to_string(max_numbers) + " items");
  if (reading.problems.size() != before) return std::nullopt;
  return out;
}

}  // namespace rankd::detail
