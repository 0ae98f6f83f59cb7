// rankd/store/model_messages.cpp: the inference protocol in JSON.
#include <rankd/store/detail/model_messages.hpp>

#include <rankd/plan/json.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

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

/// Which values of a tensor are scores.
struct tensor_columns {
  std::size_t first = 0;                   ///< the score that its first chosen column is
  std::size_t count = 1;                   ///< of scores
  std::optional<std::size_t> column = {};  ///< the only one that is chosen; otherwise the tensor has no other
};

auto name_of(const json& tensor) -> std::string {
  const auto name = tensor.find("name");
  return name != tensor.end() && name->is_string() ? name->get<std::string>() : std::string();
}

/// True for a tensor of integers or texts, which are labels of classes. Ids and counts that are meant as scores are
/// chosen by their column.
auto has_labels(const json& tensor) -> bool {
  const auto type = tensor.find("datatype");
  if (type == tensor.end() || !type->is_string()) return false;
  const auto& name = type->get_ref<const std::string&>();
  return name.starts_with("INT") || name.starts_with("UINT") || name == "BYTES";
}

/// Returns the number that a value is, NaN if it is null; nothing if it is neither.
auto number_of(const json& value) -> std::optional<double> {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (!value.is_number() || std::isinf(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

/// Reads columns of a tensor as scores. Returns what is wrong, if anything is.
auto read_tensor(const json& tensor, const model_call& what, row_range rows, const tensor_columns& chosen,
                 std::span<double> into) -> std::string {
  const std::string name = name_of(tensor);
  const std::string called = "the tensor " + (name.empty() ? "of the answer" : quote_name(name));
  const std::string hint = name.empty() ? std::string() : ", such as `" + name + "[1]`";
  const auto shape = tensor.find("shape");
  const auto width = shape == tensor.end() ? std::nullopt : width_of(*shape, rows.size());
  if (!width) return called + " has no shape of " + std::to_string(rows.size()) + " rows";
  if (!chosen.column && has_labels(tensor))
    return called + " has the datatype " + tensor.at("datatype").get<std::string>() +
           ", of labels and not of scores; name the tensor of the probabilities in `outputs`, with its column if there "
           "are several, such as `predict_proba[1]`";
  if (!chosen.column && *width != chosen.count)
    return called + " has " + std::to_string(*width) + " values for each row, and the plan wants " +
           std::to_string(chosen.count) + "; `outputs` can name one column" + hint;
  if (chosen.column && *chosen.column >= *width)
    return called + " has " + std::to_string(*width) + " values for each row, numbered from 0, and no column " +
           std::to_string(*chosen.column);
  const auto data = tensor.find("data");
  if (data == tensor.end() || !data->is_array()) return called + " has no `data`, which must be an array of numbers";
  std::vector<const json*> values;
  values.reserve(rows.size() * *width);
  flatten(*data, values, 0);
  if (values.size() != rows.size() * *width)
    return called + " has " + std::to_string(values.size()) + " values in place of " +
           std::to_string(rows.size() * *width);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t score = 0; score < chosen.count; ++score) {
      const auto number = number_of(*values[row * *width + chosen.column.value_or(score)]);
      if (!number) return called + " has a value that is no finite number, for row " + std::to_string(rows.begin + row);
      into[(chosen.first + score) * what.rows + rows.begin + row] = *number;
    }
  return {};
}

/// The name of a tensor, with the column that stands behind it in brackets: `probabilities[1]`.
struct named_column {
  std::string_view name;
  std::optional<std::size_t> column = {};
};

auto column_in(std::string_view text) -> named_column {
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return {text};
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  std::size_t column = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), column);
  if (error != std::errc() || end != digits.data() + digits.size()) return {text};
  return {text.substr(0, open), column};
}

auto names_of(const json& tensors) -> std::string {
  std::string out;
  for (const json& each : tensors) out += (out.empty() ? "" : ", ") + quote_name(name_of(each));
  return out;
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
  std::vector<std::string_view> asked;  // each tensor once
  for (const std::string_view each : what.outputs)
    if (const std::string_view name = column_in(each).name; std::ranges::find(asked, name) == asked.end())
      asked.push_back(name);
  for (std::size_t at = 0; at < asked.size(); ++at) {
    out += at == 0 ? R"(,"outputs":[{"name":)" : R"(,{"name":)";
    append_json_string(out, asked[at]);
    out += at + 1 == asked.size() ? "}]" : "}";
  }
  return out + "}";
}

auto read_scores(std::string_view body, const model_call& what, row_range rows, std::span<double> into) -> std::string {
  const auto document = parse_foreign_json(body, "answer");
  if (!document) return "the answer is no JSON that can be read: " + document.error().front().message;
  const json& answer = *document;
  const auto found = answer.is_object() ? answer.find("outputs") : answer.end();
  if (!answer.is_object() || found == answer.end() || !found->is_array()) return "the answer has no array `outputs`";
  for (const json& each : *found)
    if (!each.is_object()) return "an item of `outputs` is no object";
  if (what.outputs.empty()) {
    if (found->size() != 1)
      return "the answer has " + std::to_string(found->size()) +
             " tensors, and the node does not say which it wants: name one in `outputs`: " + names_of(*found);
    return read_tensor((*found)[0], what, rows, {.count = what.scores}, into);
  }
  for (std::size_t at = 0; at < what.outputs.size(); ++at) {
    const auto find = [&](std::string_view name) {
      return std::ranges::find_if(*found, [name](const json& each) { return name_of(each) == name; });
    };
    named_column wanted{what.outputs[at]};  // whose name may end in brackets
    if (find(wanted.name) == found->end()) wanted = column_in(what.outputs[at]);
    const auto tensor = find(wanted.name);
    if (tensor == found->end())
      return "the answer has no tensor " + quote_name(wanted.name) + "; it has " + names_of(*found);
    if (std::string wrong = read_tensor(*tensor, what, rows, {.first = at, .column = wanted.column}, into);
        !wrong.empty())
      return wrong;
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
