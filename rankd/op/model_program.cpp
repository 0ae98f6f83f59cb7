// rankd/op/model_program.cpp: runs the steps of a program over one block of rows. The file is compiled with
// -ffp-contract=off, so a product and a sum are rounded separately. Sums, differences, products, quotients and roots of
// floats are computed in doubles and then rounded. The result is the same as in float arithmetic.
#include <rankd/op/detail/model_program.hpp>
#include <rankd/op/detail/tree_descent.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace rankd::detail {
namespace {

/// A step that is being run, and the block of rows that it runs on.
struct running {
  const program_model& what;
  const program_step& step;
  std::size_t rows;
  double* slots;

  [[nodiscard]] auto slot(std::uint32_t number) const noexcept -> double* { return slots + number * rows_of_block; }
  [[nodiscard]] auto out() const noexcept -> double* { return slot(step.out); }
  [[nodiscard]] auto operand(std::size_t index) const noexcept -> const double* {
    return slot(what.operands[step.first + index]);
  }
};

/// Stores the result of `make` for each row, rounded to the step's number type.
template <typename Make>
void for_rows(const running& state, const Make& make) noexcept {
  double* out = state.out();
  if (state.step.width == number_width::floats) {
    for (std::size_t i = 0; i < state.rows; ++i) out[i] = static_cast<float>(make(i));
  } else {
    for (std::size_t i = 0; i < state.rows; ++i) out[i] = make(i);
  }
}

template <typename Fn>
void unary(const running& state, const Fn& fn) noexcept {
  const double* a = state.operand(0);
  for_rows(state, [&](std::size_t i) { return fn(a[i]); });
}

template <typename Fn>
void binary(const running& state, const Fn& fn) noexcept {
  const double* a = state.operand(0);
  const double* b = state.operand(1);
  for_rows(state, [&](std::size_t i) { return fn(a[i], b[i]); });
}

/// Applies a function in float or double arithmetic, because the result of the function depends on the type.
template <typename Fn>
void by_width(const running& state, const Fn& fn) noexcept {
  const double* a = state.operand(0);
  double* out = state.out();
  if (state.step.width == number_width::floats) {
    for (std::size_t i = 0; i < state.rows; ++i) out[i] = fn(static_cast<float>(a[i]));
  } else {
    for (std::size_t i = 0; i < state.rows; ++i) out[i] = fn(a[i]);
  }
}

/// Computes 1 / (1 + exp(-x)) without an exponential that could overflow, as ONNX Runtime does for the scores of trees.
template <typename T>
auto logistic(T x) noexcept -> T {
  const T upper = 1 / (1 + std::exp(-std::abs(x)));
  return x < 0 ? 1 - upper : upper;
}

void power(const running& state) noexcept {
  if (state.step.width == number_width::doubles)
    return binary(state, [](double a, double b) { return std::pow(a, b); });
  binary(state, [](double a, double b) { return std::pow(static_cast<float>(a), static_cast<float>(b)); });
}

void replace(const running& state) noexcept {
  const double value = state.step.value;
  if (std::isnan(value)) return binary(state, [](double a, double b) { return std::isnan(a) ? b : a; });
  binary(state, [value](double a, double b) { return a == value ? b : a; });
}

void select(const running& state) noexcept {
  const double* which = state.operand(0);
  const double* a = state.operand(1);
  const double* b = state.operand(2);
  for_rows(state, [&](std::size_t i) { return which[i] != 0 ? a[i] : b[i]; });
}

void sum(const running& state) noexcept {
  double* out = state.out();
  std::fill_n(out, state.rows, 0.0);
  for (std::size_t k = 0; k < state.step.count; ++k) {
    const double* addend = state.operand(k);
    for_rows(state, [&](std::size_t i) { return out[i] + addend[i]; });
  }
}

/// Computes weighted sums in doubles and rounds once. ONNX Runtime adds floats in an order that depends on the machine,
/// so its results cannot be reproduced exactly.
void weighted(const running& state) noexcept {
  double* out = state.out();
  const double* weights = state.what.numbers.data() + state.step.extra;
  std::fill_n(out, state.rows, 0.0);
  for (std::size_t k = 0; k < state.step.count; ++k) {
    const double* x = state.operand(k);
    const double weight = weights[k];
    for (std::size_t i = 0; i < state.rows; ++i) out[i] += weight * x[i];
  }
  const double last = weights[state.step.count];
  for_rows(state, [&](std::size_t i) { return out[i] + last; });
}

/// Combines the result so far with the value of one more leaf: adds the two values, or keeps the smaller or the larger
/// of them.
auto folded(const program_forest& forest, double before, double leaf) noexcept -> double {
  switch (forest.fold) {
    case leaf_fold::sum:
    case leaf_fold::mean: {
      const double sum = before + leaf;
      return forest.trees.width == number_width::floats ? static_cast<float>(sum) : sum;
    }
    case leaf_fold::least: return leaf < before ? leaf : before;
    case leaf_fold::greatest: return leaf > before ? leaf : before;
  }
  return before;
}

void add_leaf(const running& state, const program_forest& forest, std::uint32_t leaf, std::size_t row) noexcept {
  for (std::uint32_t each = forest.first_weight[leaf]; each < forest.first_weight[leaf + 1]; ++each) {
    double& out = state.slot(forest.outs[forest.weights[each].output])[row];
    out = folded(forest, out, forest.weights[each].value);
  }
}

/// Adds the values of the leaves that some rows have reached to the first output of these rows.
void add_values(const program_forest& forest, std::span<const std::uint32_t> leaves, double* out) noexcept {
  if (forest.trees.width == number_width::floats) {
    for (std::size_t i = 0; i < leaves.size(); ++i)
      out[i] = static_cast<float>(out[i] + forest.trees.values[leaves[i]]);
  } else {
    for (std::size_t i = 0; i < leaves.size(); ++i) out[i] += forest.trees.values[leaves[i]];
  }
}

auto read_start(leaf_fold fold) noexcept -> double {
  if (fold == leaf_fold::least) return std::numeric_limits<double>::infinity();
  return fold == leaf_fold::greatest ? -std::numeric_limits<double>::infinity() : 0;
}

void forest(const running& state) noexcept {
  const program_forest& by = state.what.forests[state.step.extra];
  const bool is_sum = by.fold == leaf_fold::sum || by.fold == leaf_fold::mean;
  for (const std::uint32_t out : by.outs) std::fill_n(state.slot(out), state.rows, read_start(by.fold));
  for (const tree_shape& tree : by.trees.trees)
    for (std::size_t first = 0; first < state.rows; first += rows_abreast) {
      const auto leaves = find_leaves(tree, by.trees.nodes.data(), state.slots + first);
      if (is_sum && !by.trees.values.empty()) {
        add_values(by, leaves, state.slot(by.outs.front()) + first);
        continue;
      }
      for (std::size_t i = 0; i < rows_abreast; ++i) add_leaf(state, by, leaves[i], first + i);
    }
  if (by.fold != leaf_fold::mean) return;
  const auto trees = static_cast<double>(by.trees.trees.size());
  for (const std::uint32_t number : by.outs) {
    double* out = state.slot(number);
    for (std::size_t i = 0; i < state.rows; ++i) out[i] /= trees;
    if (by.trees.width == number_width::floats)
      for (std::size_t i = 0; i < state.rows; ++i) out[i] = static_cast<float>(out[i]);
  }
}

void run_step(const running& state) noexcept {
  switch (state.step.kind) {
    case model_op::constant: return for_rows(state, [&](std::size_t) { return state.step.value; });
    case model_op::add: return binary(state, [](double a, double b) { return a + b; });
    case model_op::subtract: return binary(state, [](double a, double b) { return a - b; });
    case model_op::multiply: return binary(state, [](double a, double b) { return a * b; });
    case model_op::divide: return binary(state, [](double a, double b) { return a / b; });
    case model_op::power: return power(state);
    case model_op::minimum: return binary(state, [](double a, double b) { return b < a || std::isnan(b) ? b : a; });
    case model_op::maximum: return binary(state, [](double a, double b) { return b > a || std::isnan(b) ? b : a; });
    case model_op::less: return binary(state, [](double a, double b) { return a < b ? 1.0 : 0.0; });
    case model_op::at_most: return binary(state, [](double a, double b) { return a <= b ? 1.0 : 0.0; });
    case model_op::equal: return binary(state, [](double a, double b) { return a == b ? 1.0 : 0.0; });
    case model_op::both: return binary(state, [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
    case model_op::either: return binary(state, [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
    case model_op::negate: return unary(state, [](double a) { return -a; });
    case model_op::absolute: return unary(state, [](double a) { return std::abs(a); });
    case model_op::exponential: return by_width(state, [](auto a) { return std::exp(a); });
    case model_op::logarithm: return by_width(state, [](auto a) { return std::log(a); });
    case model_op::root: return unary(state, [](double a) { return std::sqrt(a); });
    case model_op::tangent: return by_width(state, [](auto a) { return std::tanh(a); });
    case model_op::logistic: return by_width(state, [](auto a) { return logistic(a); });
    case model_op::positive: return unary(state, [](double a) { return a < 0 ? 0.0 : a; });
    case model_op::whole: return unary(state, [](double a) { return std::trunc(a); });
    case model_op::same: return unary(state, [](double a) { return a; });
    case model_op::is_nan: return unary(state, [](double a) { return std::isnan(a) ? 1.0 : 0.0; });
    case model_op::no: return unary(state, [](double a) { return a == 0 ? 1.0 : 0.0; });
    case model_op::replace: return replace(state);
    case model_op::select: return select(state);
    case model_op::sum: return sum(state);
    case model_op::weighted: return weighted(state);
    case model_op::forest: return forest(state);
  }
}

}  // namespace

void run_block(const program_model& model, std::size_t rows, double* slots) noexcept {
  const std::size_t whole = (rows + rows_abreast - 1) / rows_abreast * rows_abreast;
  for (const program_step& step : model.steps) run_step({model, step, whole, slots});
}

}  // namespace rankd::detail
