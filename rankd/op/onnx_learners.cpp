// rankd/op/onnx_learners.cpp: implements the operators of ai.onnx.ml that scale, impute, encode and weight columns.
#include <rankd/op/detail/onnx_call.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace rankd::detail {
namespace {

using made_rows = std::optional<onnx_rows>;

/// Returns a list with one number for each column. A list with a single number applies to all columns.
auto for_columns(const onnx_call& call, std::string_view attribute, std::vector<double> values, std::size_t columns)
    -> std::optional<std::vector<double>> {
  if (values.size() == 1) values.resize(columns, values.front());
  if (values.size() == columns && !values.empty()) return values;
  call.refuse("wrong_length", attribute,
              "the list has " + counted(values.size(), "item") + ", but the input has " + counted(columns, "column"));
  return std::nullopt;
}

auto as_floats(const onnx_call& call, const slot_list& slots, onnx_type from) -> slot_list {
  return from == onnx_type::floats ? slots : call.each(model_op::same, onnx_type::floats, slots);
}

/// Computes (x - offset) * scale, and rounds the result to a float.
auto make_scaler(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const auto offset = for_columns(call, "offset", call.floats("offset"), of->slots.size());
  const auto scale = for_columns(call, "scale", call.floats("scale"), of->slots.size());
  if (!offset || !scale) return std::nullopt;
  const onnx_type type = of->type == onnx_type::doubles ? onnx_type::doubles : onnx_type::floats;
  slot_list out = call.with_constants(model_op::subtract, type, of->slots, *offset);
  out = call.with_constants(model_op::multiply, type, out, *scale);
  return onnx_rows{onnx_type::floats, of->rank, as_floats(call, out, type)};
}

auto make_imputer(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const bool is_whole = !is_real(of->type);
  const std::string_view list = is_whole ? "imputed_value_int64s" : "imputed_value_floats";
  std::vector<double> given = call.floats(list);
  for (const std::int64_t each : call.ints(list)) given.push_back(static_cast<double>(each));
  const auto values = for_columns(call, list, std::move(given), of->slots.size());
  if (!values) return std::nullopt;
  const double replaced =
      is_whole ? static_cast<double>(call.integer("replaced_value_int64", 0)) : call.real("replaced_value_float", 0);
  const std::vector<slot_list> operands{of->slots, call.constants(*values, of->type)};
  return onnx_rows{of->type, of->rank, call.each(model_op::replace, of->type, operands, replaced)};
}

auto make_binarizer(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const std::uint32_t bound = call.out().constant(call.real("threshold", 0), width_of(of->type));
  const std::vector<slot_list> operands{slot_list(of->slots.size(), bound), of->slots};
  return onnx_rows{of->type, of->rank, call.each(model_op::less, of->type, operands)};
}

/// Makes a column for each category. For an unknown category, all columns are zero, or NaN if the attribute `zeros` is
/// 0.
auto make_one_hot(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const auto categories = call.ints("cats_int64s");
  if (of->slots.size() != 1 || categories.empty() || categories.size() > max_model_keys) {
    call.refuse(
        "bad_value", "cats_int64s",
        "only one column of integers can be encoded, with 1 to " + std::to_string(max_model_keys) + " categories",
        "encode text categories as numbers before training");
    return std::nullopt;
  }
  const slot_list value = is_real(of->type) ? call.each(model_op::whole, onnx_type::int64, of->slots) : of->slots;
  std::vector<double> numbers;
  for (const std::int64_t each : categories) numbers.push_back(static_cast<double>(each));
  slot_list out =
      call.with_constants(model_op::equal, onnx_type::floats, slot_list(numbers.size(), value.front()), numbers);
  if (call.integer("zeros", 1) == 0) {
    const std::uint32_t is_known = call.out().step(model_op::sum, number_width::floats, out);
    const std::uint32_t unknown = call.out().constant(std::numeric_limits<double>::quiet_NaN(), number_width::floats);
    const std::vector<slot_list> operands{slot_list(out.size(), is_known), out, slot_list(out.size(), unknown)};
    out = call.each(model_op::select, onnx_type::floats, operands);
  }
  return onnx_rows{onnx_type::floats, 3, std::move(out)};
}

/// Returns the keys or the values of a label encoder, depending on `side`.
auto read_labels(const onnx_call& call, std::string_view side) -> std::vector<double> {
  std::vector<double> out = call.floats(std::string(side) + "_floats");
  for (const std::int64_t each : call.ints(std::string(side) + "_int64s")) out.push_back(static_cast<double>(each));
  return out;
}

/// Maps each key to its value, like an ordinal encoder. All other numbers are mapped to the encoder's default value.
auto make_labels(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const std::vector<double> keys = read_labels(call, "keys");
  const std::vector<double> values = read_labels(call, "values");
  const bool is_known = std::ranges::none_of(keys, [](double each) { return std::isnan(each); });
  if (keys.empty() || keys.size() > max_model_keys || keys.size() != values.size() || !is_known) {
    call.refuse("bad_value", "keys_floats",
                "an encoder must map 1 to " + std::to_string(max_model_keys) +
                    " numbers to as many numbers, and no key may be NaN",
                "before training, encode text categories as numbers, and replace nulls");
    return std::nullopt;
  }
  const bool is_whole = !call.ints("values_int64s").empty();
  const onnx_type type = is_whole ? onnx_type::int64 : onnx_type::floats;
  const double unknown =
      is_whole ? static_cast<double>(call.integer("default_int64", -1)) : call.real("default_float", -0.0);
  onnx_rows out{type, of->rank, {}};
  for (const std::uint32_t slot : of->slots) {
    std::uint32_t found = call.out().constant(unknown, width_of(type));
    for (std::size_t at = 0; at < keys.size() && call.may_go_on(); ++at) {
      const std::uint32_t key = call.out().constant(keys[at], width_of(of->type));
      const std::uint32_t is_key = call.out().step(model_op::equal, number_width::floats, std::array{slot, key});
      const std::uint32_t value = call.out().constant(values[at], width_of(type));
      found = call.out().step(model_op::select, width_of(type), std::array{is_key, value, found});
    }
    out.slots.push_back(found);
  }
  return out;
}

// The functions below normalize rows.

/// Divides each slot by `norm`. If `norm` is zero, the slots do not change.
auto over(const onnx_call& call, const slot_list& slots, std::uint32_t norm, onnx_type type = onnx_type::floats)
    -> slot_list {
  const std::uint32_t one = call.out().constant(1, width_of(type));
  const std::uint32_t by = call.out().step(model_op::select, width_of(type), std::array{norm, norm, one});
  const std::vector<slot_list> operands{slots, slot_list(slots.size(), by)};
  return call.each(model_op::divide, type, operands);
}

/// Normalizes a row by its L2 norm. Each result has the sign of x and is the square root of the quotient of x² and the
/// sum of all squares.
auto by_euclid(const onnx_call& call, const slot_list& slots) -> slot_list {
  const std::vector<slot_list> squares_of{slots, slots};
  const slot_list squares = call.each(model_op::multiply, onnx_type::floats, squares_of);
  const std::uint32_t sum = call.out().step(model_op::sum, number_width::floats, squares);
  const slot_list roots = call.each(model_op::root, onnx_type::floats, over(call, squares, sum));
  const std::uint32_t zero = call.out().constant(0, number_width::floats);
  const std::vector<slot_list> signs_of{slots, slot_list(slots.size(), zero)};
  const std::vector<slot_list> choice{call.each(model_op::less, onnx_type::floats, signs_of),
                                      call.each(model_op::negate, onnx_type::floats, roots), roots};
  const std::vector<slot_list> either{slot_list(slots.size(), sum),
                                      call.each(model_op::select, onnx_type::floats, choice), slots};
  return call.each(model_op::select, onnx_type::floats, either);
}

auto make_normalizer(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const slot_list slots = as_floats(call, of->slots, of->type);
  onnx_rows out{onnx_type::floats, of->rank, {}};
  const std::string_view norm = call.text("norm", "MAX");
  if (norm == "L1") {
    const slot_list sizes = call.each(model_op::absolute, onnx_type::floats, slots);
    out.slots = over(call, slots, call.out().step(model_op::sum, number_width::floats, sizes));
  } else if (norm == "L2") {
    out.slots = by_euclid(call, slots);
  } else if (norm == "MAX") {
    std::uint32_t max = slots.front();
    for (std::size_t at = 1; at < slots.size(); ++at)
      max = call.out().step(model_op::maximum, number_width::floats, std::array{max, slots[at]});
    out.slots = over(call, slots, max);
  } else {
    call.refuse("bad_value", "norm", "the norm " + shown(norm) + " is not known", "use L1, L2 or MAX");
    return std::nullopt;
  }
  return out;
}

/// Normalizes a row by its L1 or L2 norm. Older versions of skl2onnx write this operator for one-vs-rest classifiers.
auto make_lp_normalizer(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.table(0);
  if (of == nullptr) return std::nullopt;
  const std::int64_t axis = call.integer("axis", -1);
  const std::int64_t power = call.integer("p", 2);
  if ((axis != -1 && axis != 1) || (power != 1 && power != 2)) {
    call.refuse("bad_value", axis == -1 || axis == 1 ? "p" : "axis",
                "only the norms 1 and 2 of the columns, axis 1, are supported, not the norm " + std::to_string(power) +
                    " of axis " + std::to_string(axis));
    return std::nullopt;
  }
  const std::vector<slot_list> squares{of->slots, of->slots};
  const slot_list parts = power == 1 ? call.each(model_op::absolute, of->type, of->slots)
                                     : call.each(model_op::multiply, of->type, squares);
  std::uint32_t norm = call.out().step(model_op::sum, width_of(of->type), parts);
  if (power == 2) norm = call.out().step(model_op::root, width_of(of->type), std::array{norm});
  return onnx_rows{of->type, of->rank, over(call, of->slots, norm, of->type)};
}

// The functions below convert linear models.

/// Computes one sum of products for each output. The coefficients are listed output by output.
auto weighted(const onnx_call& call, std::size_t outputs, const std::vector<double>& intercepts)
    -> std::optional<slot_list> {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  const auto coefficients = call.floats("coefficients");
  const std::size_t columns = of->slots.size();
  if (outputs == 0 || outputs > max_outputs || coefficients.size() != outputs * columns) {
    call.refuse("wrong_length", "coefficients",
                "the list has " + counted(coefficients.size(), "item") + "; it must have " +
                    std::to_string(columns * outputs) + ", for " + counted(columns, "column") + " and " +
                    counted(outputs, "output"));
    return std::nullopt;
  }
  std::vector<double> matrix(coefficients.size());
  for (std::size_t output = 0; output < outputs; ++output)
    for (std::size_t column = 0; column < columns; ++column)
      matrix[column * outputs + output] = coefficients[output * columns + column];
  return call.out().weighted(as_floats(call, of->slots, of->type), matrix, intercepts, number_width::floats);
}

auto make_linear_regressor(const onnx_call& call) -> made_rows {
  const auto outputs = static_cast<std::size_t>(std::clamp<std::int64_t>(call.integer("targets", 1), 0, max_outputs));
  std::vector<double> intercepts = call.floats("intercepts");
  if (intercepts.empty()) intercepts.resize(outputs, 0.0);
  if (intercepts.size() != outputs) {
    call.refuse(
        "wrong_length", "intercepts",
        "the list has " + counted(intercepts.size(), "item") + ", but the model has " + counted(outputs, "target"));
    return std::nullopt;
  }
  if (!call.is_plain_regressor()) return std::nullopt;
  auto slots = weighted(call, outputs, intercepts);
  if (!slots) return std::nullopt;
  return onnx_rows{onnx_type::floats, 2, std::move(*slots)};
}

auto make_linear_classifier(const onnx_call& call) -> made_rows {
  const std::vector<double> intercepts = call.floats("intercepts");
  const std::size_t labels = call.ints("classlabels_ints").size() + call.strings("classlabels_strings").size();
  if (intercepts.size() != labels || labels < 2) {
    call.refuse("wrong_length", "intercepts",
                "the list has " + counted(intercepts.size(), "item") + ", but the model has " +
                    counted(labels, "class", "classes") + "; two or more are needed");
    return std::nullopt;
  }
  auto slots = weighted(call, labels, intercepts);
  if (!slots) return std::nullopt;
  return transformed(call, std::move(*slots), call.text("post_transform", "NONE"));
}

constexpr std::array learners_operators{
    onnx_operator{onnx_ml, "Binarizer", &make_binarizer},
    onnx_operator{onnx_ml, "Imputer", &make_imputer},
    onnx_operator{onnx_ml, "LinearClassifier", &make_linear_classifier, 1},
    onnx_operator{onnx_ml, "LinearRegressor", &make_linear_regressor},
    onnx_operator{onnx_ml, "Normalizer", &make_normalizer},
    onnx_operator{"", "LpNormalization", &make_lp_normalizer},
    onnx_operator{onnx_ml, "LabelEncoder", &make_labels},
    onnx_operator{onnx_ml, "OneHotEncoder", &make_one_hot},
    onnx_operator{onnx_ml, "Scaler", &make_scaler},
    onnx_operator{onnx_ml, "TreeEnsembleClassifier", &make_tree_classifier, 1},
    onnx_operator{onnx_ml, "TreeEnsembleRegressor", &make_tree_regressor},
};

}  // namespace

auto transformed(const onnx_call& call, slot_list scores, std::string_view transform) -> std::optional<onnx_rows> {
  if (transform == "LOGISTIC") scores = call.each(model_op::logistic, onnx_type::floats, scores);
  if (transform == "SOFTMAX") scores = softened(call, scores, onnx_type::floats);
  if (transform != "NONE" && transform != "LOGISTIC" && transform != "SOFTMAX") {
    call.refuse("bad_value", "post_transform", shown(transform) + " is not supported",
                "convert the model with the post_transform NONE, LOGISTIC or SOFTMAX");
    return std::nullopt;
  }
  return onnx_rows{onnx_type::floats, 2, std::move(scores)};
}

auto onnx_learners() -> std::span<const onnx_operator> { return learners_operators; }

}  // namespace rankd::detail
