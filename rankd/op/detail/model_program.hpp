// rankd/op/detail/model_program.hpp: a model that is a list of steps, each applied to a block of rows. ONNX graphs run
// this way.
#pragma once

#include <rankd/op/detail/model_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankd::detail {

/// The operation of a step on the slots that it reads. A slot holds one number for each row of a block; NaN means null.
enum class model_op : std::uint8_t {
  constant,  ///< `value`
  add,       ///< from here on, of two slots
  subtract,
  multiply,
  divide,
  power,
  minimum,
  maximum,
  less,  ///< 1 or 0, as the next ones
  at_most,
  equal,
  both,
  either,
  negate,  ///< from here on, of one slot
  absolute,
  exponential,
  logarithm,
  root,
  tangent,  ///< the hyperbolic one
  logistic,
  positive,  ///< zero in place of a negative number
  whole,     ///< without its fraction
  same,      ///< unchanged, but rounded
  is_nan,
  no,        ///< 1 for zero, 0 for the rest
  replace,   ///< two operands: the second if the first is `value`; NaN equals NaN here
  select,    ///< three operands: the second if the first is not zero, the third if it is
  sum,       ///< of any number of slots, starting from zero, in their order
  weighted,  ///< the sum of products with the numbers from `extra` on, after which one is added
  forest,    ///< trees of `extra`, which write a slot for each of their outputs
};

struct program_step {
  model_op kind = model_op::constant;
  number_width width = number_width::doubles;  ///< each result is rounded to it
  std::uint32_t out = 0;
  std::uint32_t first = 0;  ///< its operands: positions in program_model::operands
  std::uint32_t count = 0;
  std::uint32_t extra = 0;
  double value = 0;
};

/// The way in which a forest combines the leaves of its trees into one number.
enum class leaf_fold : std::uint8_t { sum, mean, least, greatest };

struct leaf_weight {
  std::uint32_t output = 0;
  double value = 0;
};

/// Trees whose features are slots. Each leaf has a list of weights, at most one per output. If every leaf has exactly
/// one weight and all these weights are for the first output, the tree's nodes store the weights as values. Otherwise,
/// nodes have no values.
struct program_forest {
  tree_model trees;
  std::vector<std::uint32_t> first_weight;  ///< by node, and one after the last
  std::vector<leaf_weight> weights;
  std::vector<std::uint32_t> outs;  ///< the slots that it writes
  leaf_fold fold = leaf_fold::sum;
};

/// A key and the slot that holds its values before the first step runs.
struct program_key {
  std::uint32_t key_id = 0;
  std::uint32_t slot = 0;
  number_width width = number_width::doubles;
};

struct program_model {
  std::vector<program_key> keys;
  std::vector<program_step> steps;
  std::vector<std::uint32_t> operands;  ///< slots
  std::vector<double> numbers;          ///< weights
  std::vector<program_forest> forests;
  std::vector<std::uint32_t> outputs;  ///< the slots of the scores
  std::size_t slots = 0;
};

/// Runs all steps for the first `rows` rows of a block. A step may also compute a few rows beyond these rows, so the
/// slots must be initialized there, too. `slots` stores the slots contiguously.
void run_block(const program_model& model, std::size_t rows, double* slots) noexcept;

}  // namespace rankd::detail
