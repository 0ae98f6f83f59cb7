// rankd/store/inference_messages.cpp: writes and reads the messages of the inference protocol. The protobuf format is
// parsed here, so that no memory is needed for parts of an answer that the call cannot use.
#include <rankd/store/detail/inference_messages.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/store/detail/answer_tensors.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/net/http_client.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail {
namespace {

constexpr std::size_t prefix_bytes = 5;

/// Says how the value of a field is encoded. Source: protobuf, "Encoding".
enum class wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Returns the integer that little-endian bytes represent.
template <typename Integer>
auto little_endian(std::string_view bytes) -> Integer {
  Integer out = 0;
  for (std::size_t at = sizeof(Integer); at > 0; --at)
    out = static_cast<Integer>(static_cast<std::uint64_t>(out) << 8U | static_cast<unsigned char>(bytes[at - 1]));
  return out;
}

template <typename Integer>
void append_little_endian(std::string& out, Integer value) {
  for (std::size_t at = 0; at < sizeof(Integer); ++at) out += static_cast<char>(value >> (8 * at));
}

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
  out += static_cast<char>(value);
}

/// Appends a field that consists of bytes: a text, a message or packed numbers.
void append_bytes(std::string& out, unsigned field, std::string_view bytes) {
  append_varint(out, field << 3U | static_cast<unsigned>(wire::bytes));
  append_varint(out, bytes.size());
  out += bytes;
}

/// Reads the integers and fields of a serialized message one after the other.
class wire_reader {
 public:
  explicit wire_reader(std::string_view bytes) noexcept : rest_(bytes) {}

  struct field {
    std::uint64_t number = 0;
    wire type = wire::varint;
    std::uint64_t value = 0;      ///< of a varint
    std::string_view bytes = {};  ///< of other types
  };

  [[nodiscard]] auto at_end() const noexcept -> bool { return rest_.empty() || is_broken_; }
  /// Returns whether the bytes are not a valid message.
  [[nodiscard]] auto is_broken() const noexcept -> bool { return is_broken_; }

  auto varint() noexcept -> std::uint64_t {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return out;
    }
    is_broken_ = true;
    return 0;
  }

  auto take(std::uint64_t size) noexcept -> std::string_view {
    if (size > rest_.size()) return is_broken_ = true, std::string_view();
    const std::string_view out = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(out.size());
    return out;
  }

  auto next() noexcept -> field {
    field out;
    const std::uint64_t tag = varint();
    out.number = tag >> 3U;
    out.type = static_cast<wire>(tag & 7U);
    switch (out.type) {
      case wire::varint: out.value = varint(); break;
      case wire::fixed64: out.bytes = take(8); break;
      case wire::bytes: out.bytes = take(varint()); break;
      case wire::fixed32: out.bytes = take(4); break;
      default: is_broken_ = true;
    }
    is_broken_ = is_broken_ || out.number == 0;
    return out;
  }

 private:
  std::string_view rest_;
  bool is_broken_ = false;
};

/// Calls `fn` with each field of a message. Returns false if the bytes are not a valid message.
template <typename Fn>
auto for_each_field(std::string_view message, Fn fn) -> bool {
  wire_reader reader(message);
  while (!reader.at_end())
    if (const wire_reader::field each = reader.next(); !reader.is_broken()) fn(each);
  return !reader.is_broken();
}

// The code below converts numbers.

auto of_float(std::uint32_t bits) -> double { return std::bit_cast<float>(bits); }

/// Returns the value of a 16-bit float, which has one bit for the sign, 5 bits for the exponent and 10 bits for the
/// fraction.
auto of_half(std::uint16_t bits) -> double {
  const unsigned exponent = bits >> 10U & 0x1FU;
  const unsigned fraction = bits & 0x3FFU;
  double out = 0;
  if (exponent == 0x1F)
    out = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else
    out = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, static_cast<int>(exponent) - 25);
  return (bits & 0x8000U) != 0 ? -out : out;
}

/// A datatype of the protocol, with the number of its field in InferTensorContents, and with the size of a value in raw
/// contents.
struct datatype {
  std::string_view name;
  unsigned field = 0;    ///< 0: raw contents only
  std::size_t size = 0;  ///< 0: a length of 4 bytes, and as many bytes
  double (*read)(std::string_view bytes) = nullptr;
};

template <typename Integer>
auto read_integer(std::string_view bytes) -> double {
  return static_cast<double>(static_cast<Integer>(little_endian<std::make_unsigned_t<Integer>>(bytes)));
}

constexpr unsigned bytes_field = 8;

constexpr std::array datatypes{
    datatype{"BOOL", 1, 1, [](std::string_view bytes) { return bytes.front() != 0 ? 1.0 : 0.0; }},
    datatype{"INT8", 2, 1, &read_integer<std::int8_t>},
    datatype{"INT16", 2, 2, &read_integer<std::int16_t>},
    datatype{"INT32", 2, 4, &read_integer<std::int32_t>},
    datatype{"INT64", 3, 8, &read_integer<std::int64_t>},
    datatype{"UINT8", 4, 1, &read_integer<std::uint8_t>},
    datatype{"UINT16", 4, 2, &read_integer<std::uint16_t>},
    datatype{"UINT32", 4, 4, &read_integer<std::uint32_t>},
    datatype{"UINT64", 5, 8, &read_integer<std::uint64_t>},
    datatype{"FP16", 0, 2, [](std::string_view bytes) { return of_half(little_endian<std::uint16_t>(bytes)); }},
    datatype{
        "BF16", 0, 2,
        [](std::string_view bytes) { return of_float(std::uint32_t{little_endian<std::uint16_t>(bytes)} << 16U); }},
    datatype{"FP32", 6, 4, [](std::string_view bytes) { return of_float(little_endian<std::uint32_t>(bytes)); }},
    datatype{"FP64", 7, 8,
             [](std::string_view bytes) { return std::bit_cast<double>(little_endian<std::uint64_t>(bytes)); }},
    datatype{"BYTES", bytes_field, 0, nullptr},
};

/// Converts a value to the form that `tensor_in_answer::add` accepts.
auto finite(double value) -> std::optional<double> {
  return std::isinf(value) ? std::nullopt : std::optional<double>(value);
}

/// Adds the values of one field of InferTensorContents. Returns false if the bytes of the field are invalid. Numbers
/// are usually packed, but a sender may also write them one by one.
auto add_contents(tensor_in_answer& to, const wire_reader::field& from, std::size_t max_values) -> bool {
  const auto add_varint = [&](std::uint64_t value) {
    const bool is_signed = from.number == 2 || from.number == 3;
    to.add(is_signed ? static_cast<double>(static_cast<std::int64_t>(value)) : static_cast<double>(value), max_values);
  };
  const auto add_fixed = [&](std::string_view bytes) {
    to.add(finite(bytes.size() == 4 ? of_float(little_endian<std::uint32_t>(bytes))
                                    : std::bit_cast<double>(little_endian<std::uint64_t>(bytes))),
           max_values);
  };
  if (from.number == bytes_field) {
    to.add(std::nullopt, max_values);
    return from.type == wire::bytes;
  }
  const std::uint64_t size = from.number == 6 ? 4 : from.number == 7 ? 8 : 0;
  if (from.type == wire::varint) return size == 0 && (add_varint(from.value), true);
  if (from.type != wire::bytes) return from.bytes.size() == size && (add_fixed(from.bytes), true);
  wire_reader packed(from.bytes);
  while (!packed.at_end()) {
    if (size == 0) {
      const std::uint64_t value = packed.varint();
      if (!packed.is_broken()) add_varint(value);
    } else if (const std::string_view bytes = packed.take(size); !packed.is_broken()) {
      add_fixed(bytes);
    }
  }
  return !packed.is_broken();
}

// The code below reads answers.

/// A tensor of an answer whose values are not read yet.
struct coded_tensor {
  tensor_in_answer tensor;
  std::string_view contents;  // a serialized InferTensorContents
};

/// Reads a serialized InferOutputTensor. Returns false if the message is invalid.
auto read_tensor(std::string_view message, coded_tensor& out) -> bool {
  out.tensor.has_shape = true;
  const auto add_dimension = [&](std::uint64_t value) {
    // Keeps one dimension more than allowed, so that a shape with too many dimensions is detected.
    if (out.tensor.shape.size() <= max_dimensions) out.tensor.shape.push_back(value);
  };
  bool is_valid = true;
  is_valid = for_each_field(message,
                            [&](const wire_reader::field& each) {
                              const bool is_bytes = each.type == wire::bytes;
                              if (each.number == 1 && is_bytes) out.tensor.name = each.bytes;
                              if (each.number == 2 && is_bytes)
                                out.tensor.datatype = each.bytes.substr(0, max_datatype);
                              if (each.number == 3 && each.type == wire::varint) add_dimension(each.value);
                              if (each.number == 3 && is_bytes) {
                                wire_reader packed(each.bytes);
                                while (!packed.at_end()) add_dimension(packed.varint());
                                is_valid = is_valid && !packed.is_broken();
                              }
                              if (each.number == 5 && is_bytes) out.contents = each.bytes;
                            }) &&
             is_valid;
  return is_valid;
}

/// Reads the values of a tensor from its typed contents. Returns a description of an error, or nothing.
auto read_contents(coded_tensor& from, std::size_t max_values) -> std::string {
  const std::string& name = from.tensor.datatype;
  const auto* const type = std::ranges::find(datatypes, name, &datatype::name);
  if (type == datatypes.end()) return "the datatype " + quote_name(name) + " is not one of the inference protocol";
  bool is_valid = true;
  bool has_others = false;
  is_valid = for_each_field(from.contents,
                            [&](const wire_reader::field& each) {
                              from.tensor.has_data = true;
                              if (each.number == type->field)
                                is_valid = is_valid && add_contents(from.tensor, each, max_values);
                              else
                                has_others = true;
                            }) &&
             is_valid;
  if (!is_valid) return "the contents of a tensor are not a valid protobuf message";
  return has_others ? "a tensor has contents that are not of its datatype " + name : std::string();
}

/// Reads the values of a tensor from raw bytes. Returns a description of an error, or nothing.
auto read_raw(tensor_in_answer& to, std::string_view bytes, std::size_t max_values) -> std::string {
  const auto* const type = std::ranges::find(datatypes, to.datatype, &datatype::name);
  if (type == datatypes.end())
    return "the datatype " + quote_name(to.datatype) + " is not one of the inference protocol";
  to.has_data = true;
  wire_reader rest(bytes);
  while (!rest.at_end()) {
    if (type->size == 0) {
      const std::string_view length = rest.take(4);
      if (!rest.is_broken()) static_cast<void>(rest.take(little_endian<std::uint32_t>(length)));
      if (!rest.is_broken()) to.add(std::nullopt, max_values);
    } else if (const std::string_view value = rest.take(type->size); !rest.is_broken()) {
      to.add(finite(type->read(value)), max_values);
    }
  }
  return rest.is_broken() ? "the raw contents of a tensor end in the middle of a value of the datatype " + to.datatype
                          : std::string();
}

// The code below writes requests.

auto float_name(float_width width) -> std::string_view { return width == float_width::bits_32 ? "FP32" : "FP64"; }

/// A tensor of a request: its datatype and its contents.
struct tensor_out {
  std::string_view datatype;
  std::string contents;  // a serialized InferTensorContents
};

void append_float(std::string& out, double value, float_width width) {
  if (width == float_width::bits_64) return append_little_endian(out, std::bit_cast<std::uint64_t>(value));
  // A double that is greater than the greatest finite float32 is replaced by that float32, as in the JSON form.
  constexpr double most = std::numeric_limits<float>::max();
  append_little_endian(out, std::bit_cast<std::uint32_t>(static_cast<float>(std::clamp(value, -most, most))));
}

auto to_float(const model_input& from, std::size_t row) -> double {
  const auto* const numbers = std::get_if<std::span<const double>>(&from.values);
  return numbers == nullptr ? 0 : (*numbers)[row];
}

auto column_tensor(const model_input& from, row_range rows, float_width width) -> tensor_out {
  std::string packed;
  if (std::holds_alternative<std::span<const double>>(from.values)) {
    tensor_out out{.datatype = float_name(width), .contents = {}};
    for (std::size_t row = rows.begin; row < rows.end; ++row) append_float(packed, to_float(from, row), width);
    append_bytes(out.contents, width == float_width::bits_32 ? 6 : 7, packed);
    return out;
  }
  if (const auto* const whole = std::get_if<std::span<const std::int64_t>>(&from.values)) {
    tensor_out out{.datatype = "INT64", .contents = {}};
    for (const std::int64_t each : whole->subspan(rows.begin, rows.size()))
      append_varint(packed, static_cast<std::uint64_t>(each));
    append_bytes(out.contents, 3, packed);
    return out;
  }
  if (const auto* const flags = std::get_if<std::span<const bool>>(&from.values)) {
    tensor_out out{.datatype = "BOOL", .contents = {}};
    for (const bool each : flags->subspan(rows.begin, rows.size())) packed += each ? '\1' : '\0';
    append_bytes(out.contents, 1, packed);
    return out;
  }
  tensor_out out{.datatype = "BYTES", .contents = {}};
  for (const std::string_view each : std::get<model_input::texts>(from.values).subspan(rows.begin, rows.size()))
    append_bytes(out.contents, bytes_field, each);
  return out;
}

void append_tensor(std::string& out, std::string_view name, std::size_t rows, std::size_t columns,
                   const tensor_out& tensor) {
  std::string shape;
  append_varint(shape, rows);
  append_varint(shape, columns);
  std::string message;
  append_bytes(message, 1, name);
  append_bytes(message, 2, tensor.datatype);
  append_bytes(message, 3, shape);
  append_bytes(message, 5, tensor.contents);
  append_bytes(out, 5, message);
}

}  // namespace

auto framed_message(std::string_view message) -> std::string {
  std::string out(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(message.size() >> static_cast<unsigned>(shift));
  return out += message;
}

auto only_message(std::string_view body) -> std::expected<std::string_view, std::string> {
  if (body.size() < prefix_bytes) return std::unexpected("the answer has no gRPC message");
  std::size_t size = 0;
  for (const char each : body.substr(1, 4)) size = size << 8U | static_cast<unsigned char>(each);
  if (body.front() != 0)
    return std::unexpected("the message in the answer is compressed, but the call does not allow compression");
  if (body.size() != prefix_bytes + size)
    return std::unexpected("the message in the answer must have " + counted(size, "byte") + ", got " +
                           std::to_string(body.size() - prefix_bytes));
  return body.substr(prefix_bytes);
}

auto inference_message(const model_call& call, row_range rows) -> std::string {
  std::string out;
  append_bytes(out, 1, call.model);
  if (!call.version.empty()) append_bytes(out, 2, call.version);
  if (!call.tensor.empty()) {
    std::string packed;
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      for (const model_input& each : call.inputs) append_float(packed, to_float(each, row), call.floats);
    tensor_out tensor{.datatype = float_name(call.floats), .contents = {}};
    append_bytes(tensor.contents, call.floats == float_width::bits_32 ? 6 : 7, packed);
    append_tensor(out, call.tensor, rows.size(), call.inputs.size(), tensor);
  } else {
    for (const model_input& each : call.inputs)
      append_tensor(out, each.name, rows.size(), 1, column_tensor(each, rows, call.floats));
  }
  for (const std::string_view name : asked_tensors(call)) {
    std::string asked;
    append_bytes(asked, 1, name);
    append_bytes(out, 6, asked);
  }
  return out;
}

auto read_message_scores(std::string_view message, const model_call& call, row_range rows, std::span<double> into)
    -> std::string {
  const tensor_limits limits = limits_of(call, rows);
  std::vector<coded_tensor> found;
  std::vector<std::string_view> raw;
  std::size_t tensors = 0;
  std::size_t raws = 0;
  bool is_valid = true;
  is_valid = for_each_field(message,
                            [&](const wire_reader::field& each) {
                              if (each.type != wire::bytes) return;
                              if (each.number == 5 && ++tensors <= limits.tensors)
                                is_valid = is_valid && read_tensor(each.bytes, found.emplace_back());
                              if (each.number == 6 && ++raws <= limits.tensors) raw.push_back(each.bytes);
                            }) &&
             is_valid;
  if (!is_valid) return "the answer is not a valid protobuf message";
  if (raws != 0 && raws != tensors)
    return "the answer has " + counted(tensors, "tensor") + " and " + counted(raws, "raw content");
  std::vector<tensor_in_answer> kept;
  for (std::size_t at = 0; at < found.size(); ++at) {
    tensor_in_answer& tensor = found[at].tensor;
    std::string wrong = raws != 0 ? read_raw(tensor, raw[at], limits.values) : read_contents(found[at], limits.values);
    if (!wrong.empty()) return wrong;
    kept.push_back(std::move(tensor));
  }
  return take_scores({.tensors = kept, .count = tensors}, call, rows, into);
}

auto is_ready_message(std::string_view message) -> bool {
  bool out = false;
  const bool is_valid = for_each_field(message, [&](const wire_reader::field& each) {
    if (each.number == 1 && each.type == wire::varint) out = each.value != 0;
  });
  return out && is_valid;
}

auto status_text(std::string_view field) -> std::string {
  return braid::http_url::percent_decoded(field).value_or(std::string(field));
}

}  // namespace rankd::detail
