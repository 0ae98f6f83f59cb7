// rankd/store/model_messages.cpp: the inference protocol in JSON.
#include <rankd/store/detail/model_messages.hpp>

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <system_error>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

void append_float(std::string& out, double value, float_width width) {
  if (width == float_width::bits_64) return append_json_number(out, value);
  char digits[32];
  // The greatest finite value stands for those beyond it, which the model's own type does not have.
  constexpr double most = std::numeric_limits<float>::max();
  const auto rounded = static_cast<float>(std::fmin(std::fmax(value, -most), most));
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), rounded).ptr);
}

void append_value(std::string& out, const model_input& of, std::size_t row, float_width width) {
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
  std::visit([&](const auto& values) { append(values[row]); }, of.values);
}

auto float_name(float_width width) -> std::string_view { return width == float_width::bits_32 ? "FP32" : "FP64"; }

auto type_name(const model_input& of, float_width width) -> std::string_view {
  if (std::holds_alternative<std::span<const double>>(of.values)) return float_name(width);
  if (std::holds_alternative<std::span<const std::int64_t>>(of.values)) return "INT64";
  return std::holds_alternative<std::span<const bool>>(of.values) ? "BOOL" : "BYTES";
}

void begin_tensor(std::string& out, std::string_view name, std::size_t rows, std::size_t columns,
                  std::string_view type) {
  out += R"({"name":)";
  append_json_string(out, name);
  out += R"(,"shape":[)" + std::to_string(rows) + "," + std::to_string(columns) + R"(],"datatype":")";
  out.append(type) += R"(","data":[)";
}

/// The number of scores that a tensor has for each row, from its shape; nothing where that is no shape of these rows.
auto width_of(const json& shape, std::size_t rows) -> std::optional<std::size_t> {
  if (!shape.is_array() || shape.empty() || shape.size() > 8) return std::nullopt;
  for (const json& each : shape)
    if (!each.is_number_unsigned() || each.get<std::uint64_t>() > (std::uint64_t{1} << 31U)) return std::nullopt;
  if (shape[0].get<std::uint64_t>() != rows) return std::nullopt;
  std::uint64_t width = 1;
  for (std::size_t at = 1; at < shape.size(); ++at) {
    width *= shape[at].get<std::uint64_t>();
    if (width > (std::uint64_t{1} << 31U)) return std::nullopt;
  }
  return static_cast<std::size_t>(width);
}

/// Nested rows, as some servers write them, one after the other.
void flatten(const json& data, std::vector<const json*>& into, int depth) {
  for (const json& each : data)
    if (each.is_array() && depth < 8)
      flatten(each, into, depth + 1);
    else
      into.push_back(&each);
}

/// Reads one tensor as the scores from `first` on.
auto read_tensor(const json& tensor, const model_call& what, row_range rows, std::size_t first, std::size_t wanted,
                 std::span<double> into) -> std::string {
  const auto name = tensor.find("name");
  const std::string called =
      "the tensor " +
      (name != tensor.end() && name->is_string() ? quote_name(name->get<std::string>()) : "of the answer");
  const auto shape = tensor.find("shape");
  const auto width = shape == tensor.end() ? std::nullopt : width_of(*shape, rows.size());
  if (!width) return called + " has no shape of " + std::to_string(rows.size()) + " rows";
  if (*width != wanted)
    return called + " has " + std::to_string(*width) + " values for each row, and the plan wants " +
           std::to_string(wanted);
  const auto data = tensor.find("data");
  if (data == tensor.end() || !data->is_array()) return called + " has no `data`, which must be an array of numbers";
  std::vector<const json*> values;
  values.reserve(rows.size() * wanted);
  flatten(*data, values, 0);
  if (values.size() != rows.size() * wanted)
    return called + " has " + std::to_string(values.size()) + " values in place of " +
           std::to_string(rows.size() * wanted);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t score = 0; score < wanted; ++score) {
      const json& value = *values[row * wanted + score];
      if (!value.is_number() && !value.is_null() && !value.is_boolean())
        return called + " has a value that is no number, for row " + std::to_string(rows.begin + row);
      double read = std::numeric_limits<double>::quiet_NaN();
      if (value.is_boolean())
        read = value.get<bool>() ? 1 : 0;
      else if (value.is_number())
        read = value.get<double>();
      into[(first + score) * what.rows + rows.begin + row] = read;
    }
  return {};
}

}  // namespace

auto inference_path(std::string_view model, std::string_view version) -> std::string {
  std::string path = "/v2/models/" + std::string(model);
  if (!version.empty()) path.append("/versions/").append(version);
  return path + "/infer";
}

auto inference_body(const model_call& what, row_range rows) -> std::string {
  std::string out = R"({"inputs":[)";
  if (!what.tensor.empty()) {
    begin_tensor(out, what.tensor, rows.size(), what.inputs.size(), float_name(what.floats));
    for (std::size_t row = rows.begin; row < rows.end; ++row)
      for (std::size_t at = 0; at < what.inputs.size(); ++at) {
        if (row != rows.begin || at != 0) out += ',';
        append_value(out, what.inputs[at], row, what.floats);
      }
    out += "]}";
  } else {
    for (std::size_t at = 0; at < what.inputs.size(); ++at) {
      if (at != 0) out += ',';
      begin_tensor(out, what.inputs[at].name, rows.size(), 1, type_name(what.inputs[at], what.floats));
      for (std::size_t row = rows.begin; row < rows.end; ++row) {
        if (row != rows.begin) out += ',';
        append_value(out, what.inputs[at], row, what.floats);
      }
      out += "]}";
    }
  }
  out += ']';
  for (std::size_t at = 0; at < what.outputs.size(); ++at) {
    out += at == 0 ? R"(,"outputs":[{"name":)" : R"(,{"name":)";
    append_json_string(out, what.outputs[at]);
    out += at + 1 == what.outputs.size() ? "}]" : "}";
  }
  return out + "}";
}

auto read_scores(std::string_view body, const model_call& what, row_range rows, std::span<double> into) -> std::string {
  const json answer = json::parse(body, nullptr, false);
  if (answer.is_discarded()) return "the answer is no JSON";
  const auto found = answer.is_object() ? answer.find("outputs") : answer.end();
  if (!answer.is_object() || found == answer.end() || !found->is_array()) return "the answer has no array `outputs`";
  for (const json& each : *found)
    if (!each.is_object()) return "an item of `outputs` is no object";
  if (what.outputs.empty()) {
    if (found->size() != 1)
      return "the answer has " + std::to_string(found->size()) +
             " tensors, and the node does not say which it wants: "
             "name them in `outputs`";
    return read_tensor((*found)[0], what, rows, 0, what.scores, into);
  }
  for (std::size_t at = 0; at < what.outputs.size(); ++at) {
    const auto is_meant = [&](const json& each) {
      const auto name = each.find("name");
      return name != each.end() && name->is_string() && name->get_ref<const std::string&>() == what.outputs[at];
    };
    const auto tensor = std::ranges::find_if(*found, is_meant);
    if (tensor == found->end()) return "the answer has no tensor " + quote_name(what.outputs[at]);
    if (std::string wrong = read_tensor(*tensor, what, rows, at, 1, into); !wrong.empty()) return wrong;
  }
  return {};
}

auto refusal_text(std::string_view body) -> std::string {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object()) return {};
  const auto error = answer.find("error");
  return error != answer.end() && error->is_string() ? error->get<std::string>() : std::string();
}

}  // namespace rankd::detail
