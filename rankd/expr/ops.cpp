// rankd/expr/ops.cpp: defines the table of the operations (ops) that trees can contain.
#include <rankd/expr/detail/ops.hpp>

#include <array>
#include <cstddef>

namespace rankd::detail {
namespace {

using enum field_kind;

constexpr std::array two_values{op_field{"a", value}, op_field{"b", value}};
constexpr std::array two_truths{op_field{"a", truth}, op_field{"b", truth}};
constexpr std::array one_value{op_field{"x", value}};
constexpr std::array clamp_fields{op_field{"x", value}, op_field{"lo", value}, op_field{"hi", value}};
constexpr std::array if_fields{op_field{"pred", truth}, op_field{"a", value}, op_field{"b", value}};
constexpr std::array one_truth{op_field{"x", truth}};
constexpr std::array a_number{op_field{"value", literal}};
constexpr std::array a_string{op_field{"value", string}};
constexpr std::array a_boolean{op_field{"value", boolean}};
constexpr std::array a_key{op_field{"key_id", key}};
constexpr std::array a_param{op_field{"param_id", param}};
constexpr std::array cmp_fields{op_field{"cmp", cmp}, op_field{"a", value}, op_field{"b", value}};
constexpr std::array in_fields{op_field{"lhs", value}, op_field{"list", list}};
constexpr std::array bucket_fields{op_field{"x", value}, op_field{"count", count}, op_field{"seed", seed}};
constexpr std::array cmp_text_fields{op_field{"cmp", cmp}, op_field{"a", text}, op_field{"b", text}};
constexpr std::array two_texts{op_field{"a", text}, op_field{"b", text}};
constexpr std::array regex_fields{op_field{"key_id", key}, op_field{"pattern", pattern}, op_field{"flags", flags}};

/// Returns the table row of an arithmetic op that the arithmetic capability has added.
constexpr auto further(node_op op, std::string_view name, std::span<const op_field> fields, arithmetic operation)
    -> op_row {
  return {op, name, value, fields, operation, arithmetic_capability};
}

/// Returns the table row of an op that the formula capability has added. The evaluator has a special instruction for
/// this op.
constexpr auto formula(node_op op, std::string_view name, field_kind gives, std::span<const op_field> fields)
    -> op_row {
  return {op, name, gives, fields, {}, formulas_capability};
}

/// Returns the table row of an op that the vector capability has added.
constexpr auto of_vectors(node_op op, std::string_view name) -> op_row {
  return {op, name, value, two_values, {}, vectors_capability};
}

constexpr std::array table{
    op_row{node_op::const_number, "const_number", value, a_number},
    op_row{node_op::const_null, "const_null", value, {}},
    op_row{node_op::key_ref, "key_ref", value, a_key},
    op_row{node_op::param_ref, "param_ref", value, a_param},
    op_row{node_op::add, "add", value, two_values, arithmetic::add},
    op_row{node_op::sub, "sub", value, two_values, arithmetic::sub},
    op_row{node_op::mul, "mul", value, two_values, arithmetic::mul},
    op_row{node_op::coalesce, "coalesce", value, two_values},
    op_row{node_op::neg, "neg", value, one_value, arithmetic::neg},
    further(node_op::div, "div", two_values, arithmetic::div),
    further(node_op::min, "min", two_values, arithmetic::min),
    further(node_op::max, "max", two_values, arithmetic::max),
    further(node_op::abs, "abs", one_value, arithmetic::abs),
    further(node_op::floor, "floor", one_value, arithmetic::floor),
    further(node_op::ceil, "ceil", one_value, arithmetic::ceil),
    further(node_op::sqrt, "sqrt", one_value, arithmetic::sqrt),
    further(node_op::exp, "exp", one_value, arithmetic::exp),
    further(node_op::log, "log", one_value, arithmetic::log),
    further(node_op::log1p, "log1p", one_value, arithmetic::log1p),
    further(node_op::pow, "pow", two_values, arithmetic::pow),
    further(node_op::clamp, "clamp", clamp_fields, arithmetic::clamp),
    op_row{node_op::if_, "if", value, if_fields, {}, arithmetic_capability},
    formula(node_op::mod, "mod", value, two_values),
    formula(node_op::bucket, "bucket", value, bucket_fields),
    formula(node_op::const_text, "const_text", value, a_string),
    formula(node_op::concat, "concat", value, two_values),
    formula(node_op::length, "length", value, one_value),
    formula(node_op::bucket_text, "bucket_text", value, bucket_fields),
    of_vectors(node_op::dot, "dot"),
    of_vectors(node_op::cosine, "cosine"),
    op_row{node_op::const_bool, "const_bool", truth, a_boolean},
    op_row{node_op::and_, "and", truth, two_truths},
    op_row{node_op::or_, "or", truth, two_truths},
    op_row{node_op::not_, "not", truth, one_truth},
    op_row{node_op::cmp, "cmp", truth, cmp_fields},
    op_row{node_op::in, "in", truth, in_fields},
    op_row{node_op::is_null, "is_null", truth, one_value},
    op_row{node_op::not_null, "not_null", truth, one_value},
    op_row{node_op::regex, "regex", truth, regex_fields},
    formula(node_op::cmp_text, "cmp_text", truth, cmp_text_fields),
    formula(node_op::starts_with, "starts_with", truth, two_texts),
    formula(node_op::ends_with, "ends_with", truth, two_texts),
    formula(node_op::contains, "contains", truth, two_texts),
};

consteval auto in_order() -> bool {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].op != static_cast<node_op>(i)) return false;
  return table.back().op == node_op::contains;
}
static_assert(in_order(), "the table must have one row for each enumerator of node_op, in their order");

}  // namespace

auto all_op_rows() noexcept -> std::span<const op_row> { return table; }

}  // namespace rankd::detail

namespace rankd {

auto name_of(node_op op) noexcept -> std::string_view { return detail::find_row(op).name; }

auto required_capability(node_op op) noexcept -> std::string_view { return detail::find_row(op).capability; }

}  // namespace rankd
