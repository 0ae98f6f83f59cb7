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
  [[nodiscard]] auto operand(std::size_t at) const noexcept -> const double* {
    return slot(what.operands[step.first + at]);
  }
};

/// Stores the result of `make` for each row, rounded to the step's number type.
template <typename Make>
void for_rows(const running& at, const Make& make) noexcept {
  double* out = at.out();
  if (at.step.width == number_width::floats) {
    for (std::size_t i = 0; i < at.rows; ++i) out[i] = static_cast<float>(make(i));
  } else {
    for (std::size_t i = 0; i < at.rows; ++i) out[i] = make(i);
  }
}

template <typename Fn>
void unary(const running& at, const Fn& fn) noexcept {
  const double* a = at.operand(0);
  for_rows(at, [&](std::size_t i) { return fn(a[i]); });
}

template <typename Fn>
void binary(const running& at, const Fn& fn) noexcept {
  const double* a = at.operand(0);
  const double* b = at.operand(1);
  for_rows(at, [&](std::size_t i) { return fn(a[i], b[i]); });
}

/// Applies a function in float or double arithmetic, because the result of the function depends on the type.
template <typename Fn>
void by_width(const running& at, const Fn& fn) noexcept {
  const double* a = at.operand(0);
  double* out = at.out();
  if (at.step.width == number_width::floats) {
    for (std::size_t i = 0; i < at.rows; ++i) out[i] = fn(static_cast<float>(a[i]));
  } else {
    for (std::size_t i = 0; i < at.rows; ++i) out[i] = fn(a[i]);
  }
}

/// Computes 1 / (1 + exp(-x)) without an exponential that could overflow, as ONNX Runtime does for the scores of trees.
template <typename T>
auto logistic(T x) noexcept -> T {
  const T upper = 1 / (1 + std::exp(-std::abs(x)));
  return x < 0 ? 1 - upper : upper;
}

void power(const running& at) noexcept {
  if (at.step.width == number_width::doubles) return binary(at, [](double a, double b) { return std::pow(a, b); });
  binary(at, [](double a, double b) { return std::pow(static_cast<float>(a), static_cast<float>(b)); });
}

void replace(const running& at) noexcept {
  const double value = at.step.value;
  if (std::isnan(value)) return binary(at, [](double a, double b) { return std::isnan(a) ? b : a; });
  binary(at, [value](double a, double b) { return a == value ? b : a; });
}

void select(const running& at) noexcept {
  const double* which = at.operand(0);
  const double* a = at.operand(1);
  const double* b = at.operand(2);
  for_rows(at, [&](std::size_t i) { return which[i] != 0 ? a[i] : b[i]; });
}

void sum(const running& at) noexcept {
  double* out = at.out();
  std::fill_n(out, at.rows, 0.0);
  for (std::size_t k = 0; k < at.step.count; ++k) {
    const double* addend = at.operand(k);
    for_rows(at, [&](std::size_t i) { return out[i] + addend[i]; });
  }
}

/// Computes weighted sums in doubles and rounds once. ONNX Runtime adds floats in an order that depends on the machine,
/// so its results cannot be reproduced exactly.
void weighted(const running& at) noexcept {
  double* out = at.out();
  const double* weights = at.what.numbers.data() + at.step.extra;
  std::fill_n(out, at.rows, 0.0);
  for (std::size_t k = 0; k < at.step.count; ++k) {
    const double* x = at.operand(k);
    const double weight = weights[k];
    for (std::size_t i = 0; i < at.rows; ++i) out[i] += weight * x[i];
  }
  const double last = weights[at.step.count];
  for_rows(at, [&](std::size_t i) { return out[i] + last; });
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

void add_leaf(const running& at, const program_forest& forest, std::uint32_t leaf, std::size_t row) noexcept {
  for (std::uint32_t each = forest.first_weight[leaf]; each < forest.first_weight[leaf + 1]; ++each) {
    double& out = at.slot(forest.outs[forest.weights[each].output])[row];
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

void forest(const running& at) noexcept {
  const program_forest& by = at.what.forests[at.step.extra];
  const bool is_sum = by.fold == leaf_fold::sum || by.fold == leaf_fold::mean;
  for (const std::uint32_t out : by.outs) std::fill_n(at.slot(out), at.rows, read_start(by.fold));
  for (const tree_shape& tree : by.trees.trees)
    for (std::size_t first = 0; first < at.rows; first += rows_abreast) {
      const auto leaves = find_leaves(tree, by.trees.nodes.data(), at.slots + first);
      if (is_sum && !by.trees.values.empty()) {
        add_values(by, leaves, at.slot(by.outs.front()) + first);
        continue;
      }
      for (std::size_t i = 0; i < rows_abreast; ++i) add_leaf(at, by, leaves[i], first + i);
    }
  if (by.fold != leaf_fold::mean) return;
  const auto trees = static_cast<double>(by.trees.trees.size());
  for (const std::uint32_t number : by.outs) {
    double* out = at.slot(number);
    for (std::size_t i = 0; i < at.rows; ++i) out[i] /= trees;
    if (by.trees.width == number_width::floats)
      for (std::size_t i = 0; i < at.rows; ++i) out[i] = static_cast<float>(out[i]);
  }
}

void run_step(const running& at) noexcept {
  switch (at.step.kind) {
    case model_op::constant: return for_rows(at, [&](std::size_t) { return at.step.value; });
    case model_op::add: return binary(at, [](double a, double b) { return a + b; });
    case model_op::subtract: return binary(at, [](double a, double b) { return a - b; });
    case model_op::multiply: return binary(at, [](double a, double b) { return a * b; });
    case model_op::divide: return binary(at, [](double a, double b) { return a / b; });
    case model_op::power: return power(at);
    case model_op::minimum: return binary(at, [](double a, double b) { return b < a || std::isnan(b) ? b : a; });
    case model_op::maximum: return binary(at, [](double a, double b) { return b > a || std::isnan(b) ? b : a; });
    case model_op::less: return binary(at, [](double a, double b) { return a < b ? 1.0 : 0.0; });
    case model_op::at_most: return binary(at, [](double a, double b) { return a <= b ? 1.0 : 0.0; });
    case model_op::equal: return binary(at, [](double a, double b) { return a == b ? 1.0 : 0.0; });
    case model_op::both: return binary(at, [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
    case model_op::either: return binary(at, [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
    case model_op::negate: return unary(at, [](double a) { return -a; });
    case model_op::absolute: return unary(at, [](double a) { return std::abs(a); });
    case model_op::exponential: return by_width(at, [](auto a) { return std::exp(a); });
    case model_op::logarithm: return by_width(at, [](auto a) { return std::log(a); });
    case model_op::root: return unary(at, [](double a) { return std::sqrt(a); });
    case model_op::tangent: return by_width(at, [](auto a) { return std::tanh(a); });
    case model_op::logistic: return by_width(at, [](auto a) { return logistic(a); });
    case model_op::positive: return unary(at, [](double a) { return a < 0 ? 0.0 : a; });
    case model_op::whole: return unary(at, [](double a) { return std::trunc(a); });
    case model_op::same: return unary(at, [](double a) { return a; });
    case model_op::is_nan: return unary(at, [](double a) { return std::isnan(a) ? 1.0 : 0.0; });
    case model_op::no: return unary(at, [](double a) { return a == 0 ? 1.0 : 0.0; });
    case model_op::replace: return replace(at);
    case model_op::select: return select(at);
    case model_op::sum: return sum(at);
    case model_op::weighted: return weighted(at);
    case model_op::forest: return forest(at);
  }
}

}  // namespace

void run_block(const program_model& model, std::size_t rows, double* slots) noexcept {
  const std::size_t whole = (rows + rows_abreast - 1) / rows_abreast * rows_abreast;
  for (const program_step& step : model.steps) run_step({model, step, whole, slots});
}

}  // namespace rankd::detail
