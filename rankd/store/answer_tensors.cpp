// rankd/store/answer_tensors.cpp: copies the scores of a call from the tensors of an answer.
#include <rankd/store/detail/answer_tensors.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <ranges>

namespace rankd::detail {
namespace {

/// Returns the number of scores that a tensor has for each row according to its shape, or nothing if the shape does not
/// fit the number of rows.
auto width_of(const tensor_in_answer& tensor, std::size_t rows) -> std::optional<std::size_t> {
  constexpr std::uint64_t most = std::uint64_t{1} << 31U;
  if (!tensor.has_shape || tensor.shape.empty() || tensor.shape.size() > max_dimensions) return std::nullopt;
  if (std::ranges::any_of(tensor.shape, [](std::uint64_t each) { return each > most; })) return std::nullopt;
  if (tensor.shape[0] != rows) return std::nullopt;
  std::uint64_t width = 1;
  for (std::size_t at = 1; at < tensor.shape.size(); ++at) {
    width *= tensor.shape[at];
    if (width > most) return std::nullopt;
  }
  return static_cast<std::size_t>(width);
}

/// The requested columns of a tensor.
struct tensor_columns {
  std::size_t first = 0;                   ///< the score in its first chosen column
  std::size_t count = 1;                   ///< of scores
  std::optional<std::size_t> column = {};  ///< the only chosen column; otherwise all columns of the tensor are chosen
};

/// Returns true for a tensor of integers or texts, because it contains class labels. To use integers as scores, a call
/// must name their column.
auto has_labels(const tensor_in_answer& tensor) -> bool {
  const std::string_view type = tensor.datatype;
  return type.starts_with("INT") || type.starts_with("UINT") || type == "BYTES";
}

/// Copies the chosen columns of a tensor into the scores, which are stored one column after the other. Returns a
/// description of an error in the tensor, or nothing.
auto take_tensor(const tensor_in_answer& tensor, const model_call& call, row_range rows, const tensor_columns& chosen,
                 std::span<double> into) -> std::string {
  const std::string called = "the tensor " + (tensor.name ? quote_name(*tensor.name) : "of the answer");
  const std::string hint = tensor.name ? ", such as `" + *tensor.name + "[1]`" : std::string();
  const auto width = width_of(tensor, rows.size());
  if (!width) return called + " has no shape of " + counted(rows.size(), "row");
  if (!chosen.column && has_labels(tensor))
    return called + " has the datatype " + tensor.datatype +
           ", which contains labels instead of scores; name the tensor of the probabilities in `outputs`; if it has "
           "several columns, add the column, such as `predict_proba[1]`";
  if (!chosen.column && *width != chosen.count)
    return called + " has " + counted(*width, "value") + " for each row, but the plan needs " +
           std::to_string(chosen.count) + "; name one column in `outputs`" + hint;
  if (chosen.column && *chosen.column >= *width)
    return called + " has " + counted(*width, "value") + " for each row, numbered from 0, but no column " +
           std::to_string(*chosen.column);
  if (!tensor.has_data) return called + " has no `data`, which must be an array of numbers";
  if (tensor.count != rows.size() * *width)
    return called + " has " + counted(tensor.count, "value") + " in place of " + std::to_string(rows.size() * *width);
  if (tensor.values.size() != tensor.count)
    return called + " has " + counted(*width, "value") + " for each row; at most " + std::to_string(max_score_columns) +
           " are read";
  if (tensor.first_wrong)
    return called + " has a value that is not a finite number, for row " +
           std::to_string(rows.begin + *tensor.first_wrong / *width);
  for (std::size_t row = 0; row < rows.size(); ++row)
    for (std::size_t score = 0; score < chosen.count; ++score)
      into[(chosen.first + score) * call.rows + rows.begin + row] =
          tensor.values[row * *width + chosen.column.value_or(score)];
  return {};
}

/// The name of a tensor, followed by a column in brackets, such as `probabilities[1]`.
struct named_column {
  std::string_view name;
  std::optional<std::size_t> column = {};
};

/// Returns the text between the brackets at the end of a name, or nothing if the name does not end in brackets.
auto bracketed(std::string_view text) -> std::optional<std::string_view> {
  const std::size_t open = text.rfind('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return std::nullopt;
  return text.substr(open + 1, text.size() - open - 2);
}

auto column_in(std::string_view text) -> named_column {
  const auto digits = bracketed(text);
  if (!digits) return {text};
  const auto column = braid::detail::number_in<std::size_t>(*digits);
  if (!column) return {text};
  return {text.substr(0, text.size() - digits->size() - 2), column};
}

/// Returns whether a call requests a column of a tensor by the index of the column.
auto has_columns(const model_call& call) -> bool {
  return std::ranges::any_of(call.outputs, [](const auto& each) { return column_in(each).column.has_value(); });
}

/// Returns the names of the first tensors of an answer as a list for messages.
auto list_names(const answer_tensors& answer) -> std::string {
  constexpr std::size_t max_names = 8;
  std::string out;
  for (const tensor_in_answer& each : answer.tensors | std::views::take(max_names))
    out += (out.empty() ? "" : ", ") + quote_name(each.name.value_or(std::string()));
  return answer.count > max_names ? out + ", …" : out;
}

}  // namespace

void tensor_in_answer::add(std::optional<double> number, std::size_t max_values) {
  if (!number && !first_wrong) first_wrong = count;
  if (++count <= max_values) values.push_back(number.value_or(0));
}

auto is_output_name(std::string_view text) noexcept -> bool {
  const auto column = bracketed(text);
  if (!column) return !text.empty();
  if (column->find_first_not_of("+-.0123456789 ") != std::string_view::npos) return true;  // the end of a name
  const named_column named = column_in(text);
  return named.column && *named.column < max_score_columns && !named.name.empty();
}

auto limits_of(const model_call& call, row_range rows) -> tensor_limits {
  constexpr std::size_t other_tensors = 64;  // a server may answer with more than was requested
  const std::size_t columns = call.outputs.empty() ? call.scores : has_columns(call) ? max_score_columns : 1;
  return {.columns = columns, .values = rows.size() * columns, .tensors = call.outputs.size() + other_tensors};
}

auto asked_tensors(const model_call& call) -> std::vector<std::string_view> {
  std::vector<std::string_view> asked;
  for (const std::string_view each : call.outputs)
    if (const std::string_view name = column_in(each).name; std::ranges::find(asked, name) == asked.end())
      asked.push_back(name);
  return asked;
}

auto take_scores(const answer_tensors& answer, const model_call& call, row_range rows, std::span<double> into)
    -> std::string {
  if (call.outputs.empty()) {
    if (answer.count != 1)
      return "the answer has " + counted(answer.count, "tensor") +
             ", but the node does not say which to use; name one of these in `outputs`: " + list_names(answer);
    return take_tensor(answer.tensors.front(), call, rows, {.count = call.scores}, into);
  }
  for (std::size_t at = 0; at < call.outputs.size(); ++at) {
    const auto find = [&](std::string_view name) {
      return std::ranges::find_if(answer.tensors, [name](const tensor_in_answer& each) { return each.name == name; });
    };
    named_column asked{call.outputs[at]};  // whose name may end in brackets
    if (find(asked.name) == answer.tensors.end()) asked = column_in(call.outputs[at]);
    const auto tensor = find(asked.name);
    if (tensor == answer.tensors.end())
      return "the answer has no tensor " + quote_name(asked.name) + "; it has " + list_names(answer);
    if (std::string wrong = take_tensor(*tensor, call, rows, {.first = at, .column = asked.column}, into);
        !wrong.empty())
      return wrong;
  }
  return {};
}

}  // namespace rankd::detail
