// rankd/store/model_messages.cpp: writes and reads the JSON of the inference protocol.
#include <rankd/store/detail/model_messages.hpp>

#include <rankd/registry/json_number.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/store/detail/answer_tensors.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

void append_float(std::string& out, double value, float_width width) {
  if (width == float_width::bits_64) return append_json_number(out, value);
  char digits[32];
  // The greatest finite float32. A double beyond this limit is replaced by the limit, because the model's type cannot
  // represent it.
  constexpr double most = std::numeric_limits<float>::max();
  const auto rounded = static_cast<float>(std::fmin(std::fmax(value, -most), most));
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), rounded).ptr);
}

void append_value(std::string& out, const model_input& input, std::size_t row, float_width width) {
  const auto append = [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), double>)
      append_float(out, value, width);
    else if constexpr (std::is_same_v<decltype(value), std::int64_t>)
      append_json_number(out, value);
    else if constexpr (std::is_same_v<decltype(value), bool>)
      out += value ? "true" : "false";
    else
      append_json_string(out, value);
  };
  std::visit([&](const auto& values) { append(values[row]); }, input.values);
}

auto float_name(float_width width) -> std::string_view { return width == float_width::bits_32 ? "FP32" : "FP64"; }

auto type_name(const model_input& input, float_width width) -> std::string_view {
  if (std::holds_alternative<std::span<const double>>(input.values)) return float_name(width);
  if (std::holds_alternative<std::span<const std::int64_t>>(input.values)) return "INT64";
  return std::holds_alternative<std::span<const bool>>(input.values) ? "BOOL" : "BYTES";
}

void begin_tensor(std::string& out, std::string_view name, std::size_t rows, std::size_t columns,
                  std::string_view type) {
  out += R"({"name":)";
  append_json_string(out, name);
  out += R"(,"shape":[)" + std::to_string(rows) + "," + std::to_string(columns) + R"(],"datatype":")";
  out.append(type) += R"(","data":[)";
}

/// Reads an answer event by event, without building a tree of its values. So the memory is limited by the size of the
/// call, whatever the server sends. Members that are not in the protocol are skipped.
class answer_reader final : public nlohmann::json_sax<json> {
 public:
  static constexpr std::size_t max_depth = 32;

  /// Keeps at most `max_tensors` tensors, with at most `max_values` values each.
  answer_reader(std::size_t max_values, std::size_t max_tensors) : max_values_(max_values), max_tensors_(max_tensors) {}

  /// Replaces the numbers at the positions of `specials` by special values that JSON cannot express, such as NaN.
  void replace(std::span<const special_number> specials) { specials_ = specials; }

  /// Returns a description of an error in the answer as a whole, or an empty text if the answer is valid.
  [[nodiscard]] auto problem() const -> std::string {
    if (is_too_deep_) return "the answer nests deeper than " + std::to_string(max_depth) + " levels";
    if (is_broken_) return "the answer is not valid JSON";
    if (!has_outputs_) return "the answer has no array `outputs`";
    return has_other_item_ ? "an item of `outputs` is not an object" : "";
  }
  /// Returns the tensors that were kept.
  [[nodiscard]] auto tensors() const noexcept -> const std::vector<tensor_in_answer>& { return tensors_; }
  /// Returns the number of all tensors, even those that were not kept.
  [[nodiscard]] auto count() const noexcept -> std::size_t { return count_; }

  bool null() override { return add(std::numeric_limits<double>::quiet_NaN()); }
  bool boolean(bool value) override { return add(value ? 1 : 0); }
  bool number_integer(std::int64_t value) override { return add_number(static_cast<double>(value)); }
  bool number_float(double value, const std::string& /*literal*/) override { return add_number(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (next() != place::dimension || is_special()) return add_number(static_cast<double>(value));
    // Keeps one dimension more than allowed, so that a shape with too many dimensions is detected.
    if (now().shape.size() <= max_dimensions) now().shape.push_back(value);
    ++numbers_;
    return true;
  }
  bool string(std::string& value) override {
    if (next() == place::datatype) return now().datatype = value.substr(0, max_datatype), true;
    if (next() != place::name) return add(std::nullopt);
    now().name = value;
    return true;
  }
  bool binary(json::binary_t& /*value*/) override { return add(std::nullopt); }

  bool start_object(std::size_t /*unknown*/) override {
    if (next() == place::document) return enter(place::document);
    if (next() != place::tensor) return add(std::nullopt) && enter(place::other);
    if (++count_ <= max_tensors_)
      tensors_.emplace_back();
    else
      beyond_ = {};
    return enter(place::tensor);
  }
  bool start_array(std::size_t /*unknown*/) override {
    const place of = next();
    if (of == place::outputs) {
      has_outputs_ = true;
      has_other_item_ = false;
      tensors_.clear();
      count_ = 0;
    } else if (of == place::shape) {
      now().has_shape = true;
      now().shape.clear();
    } else if (of == place::data) {
      now().has_data = true;
      now().values.clear();
      now().count = 0;
      now().first_wrong.reset();
    } else if (of == place::value && open_[open_.size() - std::min(open_.size(), max_dimensions + 1)] != place::data) {
      return enter(place::data);  // nested rows, as some servers write them, one after the other
    } else {
      return add(std::nullopt) && enter(place::other);
    }
    return enter(of);
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(std::string& name) override {
    member_ = place::other;
    if (open_.back() == place::document && name == "outputs") member_ = place::outputs;
    if (open_.back() != place::tensor) return true;
    if (name == "name") member_ = place::name;
    if (name == "datatype") member_ = place::datatype;
    if (name == "shape") member_ = place::shape;
    if (name == "data") member_ = place::data;
    return true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*why*/) override {
    is_broken_ = true;
    return false;
  }

 private:
  enum class place : std::uint8_t { document, outputs, tensor, name, datatype, shape, dimension, data, value, other };

  /// Returns which value of the protocol the next JSON value is.
  [[nodiscard]] auto next() const -> place {
    if (open_.empty()) return place::document;
    switch (open_.back()) {
      case place::document:
      case place::tensor: return member_;
      case place::outputs: return place::tensor;
      case place::shape: return place::dimension;
      case place::data: return place::value;
      default: return place::other;
    }
  }
  [[nodiscard]] auto now() -> tensor_in_answer& { return count_ <= max_tensors_ ? tensors_.back() : beyond_; }

  /// Adds a number or null. If the protocol requires a text or a list here, treats the text or the list as missing.
  auto add(std::optional<double> number) -> bool {
    switch (next()) {
      case place::outputs: has_outputs_ = false; break;
      case place::tensor: has_other_item_ = true; break;
      case place::name: now().name.reset(); break;
      case place::shape:
      case place::dimension: now().has_shape = false; break;
      case place::data: now().has_data = false; break;
      case place::value: add_value(number); break;
      default: break;
    }
    return true;
  }
  [[nodiscard]] auto is_special() const -> bool { return !specials_.empty() && specials_.front().position == numbers_; }
  auto add_number(double number) -> bool {
    if (is_special()) {
      number = specials_.front().value;
      specials_ = specials_.subspan(1);
    }
    ++numbers_;
    return std::isinf(number) ? add(std::nullopt) : add(number);
  }
  void add_value(std::optional<double> number) { now().add(number, max_values_); }

  auto enter(place container) -> bool {
    is_too_deep_ = open_.size() == max_depth;
    if (!is_too_deep_) open_.push_back(container);
    return !is_too_deep_;
  }
  auto leave() -> bool {
    open_.pop_back();
    return true;
  }

  std::size_t max_values_;
  std::size_t max_tensors_;
  std::vector<place> open_;  // the arrays and objects around the next value
  place member_ = place::other;
  std::vector<tensor_in_answer> tensors_;
  std::size_t count_ = 0;
  tensor_in_answer beyond_;                   // takes what is not kept
  std::span<const special_number> specials_;  // those that come
  std::size_t numbers_ = 0;                   // that came
  bool has_outputs_ = false;
  bool has_other_item_ = false;
  bool is_broken_ = false;
  bool is_too_deep_ = false;
};

}  // namespace

auto inference_path(std::string_view model, std::string_view version) -> std::string {
  std::string path = "/v2/models/" + std::string(model);
  if (!version.empty()) path.append("/versions/").append(version);
  return path + "/infer";
}

auto inference_body(const model_call& call, row_range rows) -> std::string {
  std::string out = R"({"inputs":[)";
  if (!call.tensor.empty()) {
    begin_tensor(out, call.tensor, rows.size(), call.inputs.size(), float_name(call.floats));
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      for (std::size_t at = 0; at < call.inputs.size(); ++at) {
        if (row != rows.begin || at != 0) out += ',';
        append_value(out, call.inputs[at], row, call.floats);
      }
    out += "]}";
  } else {
    for (std::size_t at = 0; at < call.inputs.size(); ++at) {
      if (at != 0) out += ',';
      begin_tensor(out, call.inputs[at].name, rows.size(), 1, type_name(call.inputs[at], call.floats));
      for (std::size_t row = rows.begin; row < rows.end; ++row) {
        if (row != rows.begin) out += ',';
        append_value(out, call.inputs[at], row, call.floats);
      }
      out += "]}";
    }
  }
  out += ']';
  const std::vector<std::string_view> asked = asked_tensors(call);
  for (std::size_t at = 0; at < asked.size(); ++at) {
    out += at == 0 ? R"(,"outputs":[{"name":)" : R"(,{"name":)";
    append_json_string(out, asked[at]);
    out += at + 1 == asked.size() ? "}]" : "}";
  }
  return out + "}";
}

/// A number has up to 25 characters, and may be on a line of its own with an indent. The remaining bytes allow for
/// names, and for members that are not in the protocol.
auto max_answer_bytes(const model_call& call, row_range rows) -> std::size_t {
  constexpr std::size_t for_all = std::size_t{1} << 20U;
  constexpr std::size_t for_each = 64;
  return for_all + for_each * rows.size() * std::max(call.scores, limits_of(call, rows).columns);
}

auto read_scores(std::string_view body, const model_call& call, row_range rows, std::span<double> into) -> std::string {
  const tensor_limits limits = limits_of(call, rows);
  answer_reader answer(limits.values, limits.tensors);
  if (body.contains("NaN") || body.contains("Infinity")) {
    const plain_json plain = without_special_numbers(body);
    answer.replace(plain.specials);
    static_cast<void>(json::sax_parse(plain.text, &answer));
  } else {
    static_cast<void>(json::sax_parse(body, &answer));
  }
  if (std::string wrong = answer.problem(); !wrong.empty()) return wrong;
  return take_scores({.tensors = answer.tensors(), .count = answer.count()}, call, rows, into);
}

auto refusal_text(std::string_view body) -> std::string {
  constexpr std::size_t max_bytes = std::size_t{16} << 10U;
  constexpr int max_depth = 8;
  if (body.size() > max_bytes) return {};
  const auto is_kept = [](int depth, json::parse_event_t /*event*/, json& /*value*/) { return depth <= max_depth; };
  const json answer = json::parse(body, is_kept, false);
  if (!answer.is_object()) return {};
  const auto error = answer.find("error");
  return error != answer.end() && error->is_string() ? error->get<std::string>() : std::string();
}

}  // namespace rankd::detail
