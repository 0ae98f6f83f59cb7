// rankd/op/onnx_arithmetic.cpp: implements the ONNX operators that compute with the numbers of one row.
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

/// Reports an error and returns true if integers or booleans are passed to an operator that accepts neither.
auto refuses_type(const onnx_call& call, onnx_type type) -> bool {
  if (is_real(type)) return false;
  call.refuse("wrong_type", "input",
              onnx_type_text(type) + " is not supported here, only tensor(float) and tensor(double)");
  return true;
}

/// The slots of a softmax over some slots x: their maximum, exp(x - maximum) for each of them, and the sum of these
/// exponentials.
struct shifted_exponentials {
  std::uint32_t max = 0;
  std::uint32_t sum = 0;
  slot_list each;
};

auto exponentials(const onnx_call& call, const slot_list& slots, onnx_type type) -> shifted_exponentials {
  program_builder& out = call.out();
  const number_width width = width_of(type);
  shifted_exponentials made;
  made.max = slots.front();
  for (std::size_t at = 1; at < slots.size(); ++at)
    made.max = out.step(model_op::maximum, width, std::array{made.max, slots[at]});
  const std::vector<slot_list> pairs{slots, slot_list(slots.size(), made.max)};
  made.each = call.each(model_op::exponential, type, call.each(model_op::subtract, type, pairs));
  made.sum = out.step(model_op::sum, width, made.each);
  return made;
}

template <model_op kind>
auto real_pair(const onnx_call& call) -> made_rows {
  const auto of = call.broadcast({0, 1});
  if (!of || refuses_type(call, of->type)) return std::nullopt;
  return onnx_rows{of->type, of->rank, call.each(kind, of->type, of->slots)};
}

enum class operand_order : std::uint8_t { as_given, swapped };

template <model_op kind, operand_order order = operand_order::as_given>
auto flag_pair(const onnx_call& call) -> made_rows {
  auto of = call.broadcast({0, 1});
  if (!of) return std::nullopt;
  if (order == operand_order::swapped) std::swap(of->slots[0], of->slots[1]);
  return onnx_rows{onnx_type::flags, of->rank, call.each(kind, onnx_type::flags, of->slots)};
}

template <model_op kind>
auto real_single(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr || refuses_type(call, of->type)) return std::nullopt;
  return onnx_rows{of->type, of->rank, call.each(kind, of->type, of->slots)};
}

template <model_op kind>
auto flag_single(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr) return std::nullopt;
  return onnx_rows{onnx_type::flags, of->rank, call.each(kind, onnx_type::flags, of->slots)};
}

auto make_reciprocal(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr || refuses_type(call, of->type)) return std::nullopt;
  const slot_list ones(of->slots.size(), call.out().constant(1, width_of(of->type)));
  const std::vector<slot_list> operands{ones, of->slots};
  return onnx_rows{of->type, of->rank, call.each(model_op::divide, of->type, operands)};
}

auto make_where(const onnx_call& call) -> made_rows {
  const auto of = call.broadcast({0, 1, 2});
  if (!of) return std::nullopt;
  return onnx_rows{of->type, of->rank, call.each(model_op::select, of->type, of->slots)};
}

/// Applies a binary operation to any number of operands, from left to right.
template <model_op kind>
auto folded(const onnx_call& call) -> made_rows {
  const onnx_rows* first = call.rows(0);
  if (first == nullptr || refuses_type(call, first->type)) return std::nullopt;
  onnx_rows out = *first;
  for (std::size_t at = 1; at < call.inputs(); ++at) {
    const onnx_rows* next = call.rows(at);
    if (next == nullptr) return std::nullopt;
    if (next->slots.size() != out.slots.size() || next->rank != out.rank || next->type != out.type) {
      call.refuse("wrong_length", "input", "the inputs must have one type and one shape");
      return std::nullopt;
    }
    const std::vector<slot_list> operands{out.slots, next->slots};
    out.slots = call.each(kind, out.type, operands);
    if (!call.may_go_on()) return std::nullopt;
  }
  return out;
}

/// Limits numbers to a range. The bounds are attributes up to operator version 10, and inputs from version 11 on.
auto make_clip(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.rows(0);
  if (of == nullptr || refuses_type(call, of->type)) return std::nullopt;
  constexpr double infinite = std::numeric_limits<double>::infinity();
  auto least = std::optional(call.real("min", -infinite));
  auto greatest = std::optional(call.real("max", infinite));
  if (!call.is_absent(1)) least = call.single(1);
  if (!call.is_absent(2)) greatest = call.single(2);
  if (!least || !greatest) return std::nullopt;
  const std::vector<double> lower(of->slots.size(), *least);
  const std::vector<double> upper(of->slots.size(), *greatest);
  slot_list out = call.with_constants(model_op::maximum, of->type, of->slots, lower);
  return onnx_rows{of->type, of->rank, call.with_constants(model_op::minimum, of->type, out, upper)};
}

// The functions below multiply rows by matrices.

auto multiplied(const onnx_call& call, const onnx_rows& rows, std::span<const double> matrix,
                std::span<const double> last, std::size_t rank) -> made_rows {
  return onnx_rows{rows.type, static_cast<std::uint32_t>(rank),
                   call.out().weighted(rows.slots, matrix, last, width_of(rows.type))};
}

auto refuse_matrix(const onnx_call& call, const onnx_rows& rows) -> made_rows {
  call.refuse("wrong_length", "input",
              "the matrix must have " + counted(rows.slots.size(), "row") + ", one for each column");
  return std::nullopt;
}

auto make_product(const onnx_call& call) -> made_rows {
  const onnx_rows* rows = call.table(0);
  const onnx_numbers* by = rows == nullptr ? nullptr : call.constant(1);
  if (by == nullptr) return std::nullopt;
  const std::size_t rank = by->dims.size();
  if (rank < 1 || rank > 2 || by->values.empty() || static_cast<std::size_t>(by->dims[0]) != rows->slots.size())
    return refuse_matrix(call, *rows);
  const std::vector<double> last(by->values.size() / rows->slots.size(), 0.0);
  return multiplied(call, *rows, by->values, last, rank);
}

/// Computes alpha * A * B + beta * C.
auto make_gemm(const onnx_call& call) -> made_rows {
  const onnx_rows* rows = call.table(0);
  const onnx_numbers* by = rows == nullptr ? nullptr : call.constant(1);
  if (by == nullptr) return std::nullopt;
  const bool is_turned = call.integer("transB", 0) != 0;
  const std::size_t inner = rows->slots.size();
  if (call.integer("transA", 0) != 0 || by->dims.size() != 2 || by->values.empty() ||
      static_cast<std::size_t>(by->dims[is_turned ? 1 : 0]) != inner)
    return refuse_matrix(call, *rows);
  const std::size_t columns = by->values.size() / inner;
  std::vector<double> matrix(by->values.size());
  const double alpha = call.real("alpha", 1);
  for (std::size_t row = 0; row < inner; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      matrix[row * columns + column] = alpha * by->values[is_turned ? column * inner + row : row * columns + column];
  std::vector<double> last(columns, 0.0);
  const double beta = call.real("beta", 1);
  if (!call.is_absent(2)) {
    const onnx_numbers* added = call.constant(2);
    if (added == nullptr) return std::nullopt;
    if (added->values.size() != 1 && added->values.size() != columns) {
      call.refuse("wrong_length", "input",
                  "C must have 1 number, or " + std::to_string(columns) + ", one for each column");
      return std::nullopt;
    }
    for (std::size_t at = 0; at < columns; ++at) last[at] = beta * added->values[added->values.size() == 1 ? 0 : at];
  }
  return multiplied(call, *rows, matrix, last, 2);
}

// The functions below combine the columns of a row.

/// Returns the axes over which a node reduces. The axes are an attribute in older operator versions, and an input in
/// newer versions. Returns nothing after a diagnostic.
auto read_axes(const onnx_call& call) -> std::optional<std::vector<std::int64_t>> {
  if (!call.is_absent(1)) return call.whole(1);
  std::vector<std::int64_t> axes = call.ints("axes");
  return axes.empty() ? call.ints("axis") : axes;
}

/// Returns whether a node reduces over the columns of a row.
auto is_by_columns(const onnx_call& call) -> bool {
  const auto axes = read_axes(call);
  if (!axes) return false;
  if (axes->size() == 1 && (axes->front() == 1 || axes->front() == -1)) return true;
  call.refuse("bad_value", "axis", "only the axis of columns, 1, is supported");
  return false;
}

auto rank_of_result(const onnx_call& call) -> std::uint32_t { return call.integer("keepdims", 1) != 0 ? 2 : 1; }

auto make_reduced_sum(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.table(0);
  if (of == nullptr || !is_by_columns(call)) return std::nullopt;
  return onnx_rows{of->type, rank_of_result(call), {call.out().step(model_op::sum, width_of(of->type), of->slots)}};
}

/// Averages stacked tables to one table.
auto averaged_tables(const onnx_call& call, const onnx_rows& tables) -> made_rows {
  const auto axes = read_axes(call);
  if (!axes) return std::nullopt;
  if (axes->size() != 1 || (axes->front() != 0 && axes->front() != -3) || call.integer("keepdims", 1) != 0 ||
      refuses_type(call, tables.type)) {
    call.refuse("bad_value", "axis",
                "a tensor of three dimensions can only be averaged over its tables, axis 0, without keepdims");
    return std::nullopt;
  }
  const std::size_t columns = tables.slots.size() / tables.tables;
  onnx_rows out{tables.type, 2, {}};
  for (std::size_t column = 0; column < columns; ++column) {
    slot_list parts;
    for (std::size_t at = column; at < tables.slots.size(); at += columns) parts.push_back(tables.slots[at]);
    out.slots.push_back(call.out().step(model_op::sum, width_of(tables.type), parts));
  }
  const std::vector<double> counts(columns, static_cast<double>(tables.tables));
  out.slots = call.with_constants(model_op::divide, out.type, out.slots, counts);
  return out;
}

auto make_reduced_mean(const onnx_call& call) -> made_rows {
  if (const onnx_rows* of = call.rows_or_tables(0); of != nullptr && of->tables > 0) return averaged_tables(call, *of);
  auto out = make_reduced_sum(call);
  if (!out) return std::nullopt;
  const std::array count{static_cast<double>(call.table(0)->slots.size())};
  out->slots = call.with_constants(model_op::divide, out->type, out->slots, count);
  return out;
}

/// Computes log(sum(exp(x))) of the columns as max + log(sum(exp(x - max))), which does not overflow.
auto make_reduced_log(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.table(0);
  if (of == nullptr || !is_by_columns(call)) return std::nullopt;
  const shifted_exponentials found = exponentials(call, of->slots, of->type);
  program_builder& out = call.out();
  const number_width width = width_of(of->type);
  const std::uint32_t log = out.step(model_op::logarithm, width, std::array{found.sum});
  return onnx_rows{of->type, rank_of_result(call), {out.step(model_op::add, width, std::array{log, found.max})}};
}

template <model_op kind>
auto reduced(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.table(0);
  if (of == nullptr || !is_by_columns(call)) return std::nullopt;
  std::uint32_t so_far = of->slots.front();
  for (std::size_t at = 1; at < of->slots.size(); ++at)
    so_far = call.out().step(kind, width_of(of->type), std::array{so_far, of->slots[at]});
  return onnx_rows{of->type, rank_of_result(call), {so_far}};
}

/// Computes the index of the first column that contains the maximum.
auto make_argmax(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.table(0);
  if (of == nullptr || !is_by_columns(call)) return std::nullopt;
  program_builder& out = call.out();
  std::uint32_t best = of->slots.front();
  std::uint32_t place = out.constant(0, number_width::doubles);
  for (std::size_t at = 1; at < of->slots.size(); ++at) {
    const std::uint32_t next = of->slots[at];
    const std::uint32_t here = out.constant(static_cast<double>(at), number_width::doubles);
    const std::uint32_t is_more = out.step(model_op::less, number_width::doubles, std::array{best, next});
    place = out.step(model_op::select, number_width::doubles, std::array{is_more, here, place});
    best = out.step(model_op::select, width_of(of->type), std::array{is_more, next, best});
  }
  return onnx_rows{onnx_type::int64, rank_of_result(call), {place}};
}

auto make_softmax(const onnx_call& call) -> made_rows {
  const onnx_rows* of = call.table(0);
  if (of == nullptr) return std::nullopt;
  if (call.has("axis") && !is_by_columns(call)) return std::nullopt;
  return onnx_rows{of->type, 2, softened(call, of->slots, of->type)};
}

constexpr std::array arithmetic_operators{
    onnx_operator{"", "Abs", &real_single<model_op::absolute>},
    onnx_operator{"", "Add", &real_pair<model_op::add>},
    onnx_operator{"", "And", &flag_pair<model_op::both>},
    onnx_operator{"", "ArgMax", &make_argmax},
    onnx_operator{"", "Clip", &make_clip},
    onnx_operator{"", "Div", &real_pair<model_op::divide>},
    onnx_operator{"", "Equal", &flag_pair<model_op::equal>},
    onnx_operator{"", "Exp", &real_single<model_op::exponential>},
    onnx_operator{"", "Gemm", &make_gemm},
    onnx_operator{"", "Greater", &flag_pair<model_op::less, operand_order::swapped>},
    onnx_operator{"", "GreaterOrEqual", &flag_pair<model_op::at_most, operand_order::swapped>},
    onnx_operator{"", "IsNaN", &flag_single<model_op::is_nan>},
    onnx_operator{"", "Less", &flag_pair<model_op::less>},
    onnx_operator{"", "LessOrEqual", &flag_pair<model_op::at_most>},
    onnx_operator{"", "Log", &real_single<model_op::logarithm>},
    onnx_operator{"", "MatMul", &make_product},
    onnx_operator{"", "Max", &folded<model_op::maximum>},
    onnx_operator{"", "Min", &folded<model_op::minimum>},
    onnx_operator{"", "Mul", &real_pair<model_op::multiply>},
    onnx_operator{"", "Neg", &real_single<model_op::negate>},
    onnx_operator{"", "Not", &flag_single<model_op::no>},
    onnx_operator{"", "Or", &flag_pair<model_op::either>},
    onnx_operator{"", "Pow", &real_pair<model_op::power>},
    onnx_operator{"", "Reciprocal", &make_reciprocal},
    onnx_operator{"", "ReduceLogSumExp", &make_reduced_log},
    onnx_operator{"", "ReduceMax", &reduced<model_op::maximum>},
    onnx_operator{"", "ReduceMean", &make_reduced_mean},
    onnx_operator{"", "ReduceMin", &reduced<model_op::minimum>},
    onnx_operator{"", "ReduceProd", &reduced<model_op::multiply>},
    onnx_operator{"", "ReduceSum", &make_reduced_sum},
    onnx_operator{"", "Relu", &real_single<model_op::positive>},
    onnx_operator{"", "Sigmoid", &real_single<model_op::logistic>},
    onnx_operator{"", "Softmax", &make_softmax},
    onnx_operator{"", "Sqrt", &real_single<model_op::root>},
    onnx_operator{"", "Sub", &real_pair<model_op::subtract>},
    onnx_operator{"", "Sum", &folded<model_op::add>},
    onnx_operator{"", "Tanh", &real_single<model_op::tangent>},
    onnx_operator{"", "Where", &make_where},
};

}  // namespace

auto softened(const onnx_call& call, const slot_list& slots, onnx_type type) -> slot_list {
  shifted_exponentials found = exponentials(call, slots, type);
  const std::vector<slot_list> pairs{std::move(found.each), slot_list(slots.size(), found.sum)};
  return call.each(model_op::divide, type, pairs);
}

auto onnx_arithmetic() -> std::span<const onnx_operator> { return arithmetic_operators; }

}  // namespace rankd::detail
