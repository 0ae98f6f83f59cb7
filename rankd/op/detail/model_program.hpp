// rankd/op/detail/model_program.hpp: a model that is a list of steps, each applied to a block of rows. ONNX graphs run
// this way.
#pragma once

#include <rankd/op/detail/model_parts.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rankd::detail {

/// The operation that a step applies to the slots that it reads. A slot holds one number for each row of a block; NaN
/// means null.
enum class model_op : std::uint8_t {
  constant,  ///< `value`
  add,       ///< this operation and the next ones have two operands
  subtract,
  multiply,
  divide,
  power,
  minimum,
  maximum,
  less,  ///< this operation and the next ones result in 1 or 0
  at_most,
  equal,
  both,
  either,
  negate,  ///< this operation and the next ones have one operand
  absolute,
  exponential,
  logarithm,
  root,
  tangent,  ///< the hyperbolic tangent
  logistic,
  positive,  ///< zero in place of a negative number
  whole,     ///< the number without its fraction
  same,      ///< the operand, unchanged except for rounding
  is_nan,
  no,        ///< 1 if the operand is zero, otherwise 0
  replace,   ///< two operands: the second if the first is `value`; NaN equals NaN here
  select,    ///< three operands: the second if the first is not zero, the third if it is
  sum,       ///< the sum of any number of slots, added in their order, beginning with zero
  weighted,  ///< the sum of products with the numbers from `extra` on, plus the number after these
  forest,    ///< the trees with the index `extra`, which write one slot for each of their outputs
};

struct program_step {
  model_op kind = model_op::constant;
  number_width width = number_width::doubles;  ///< the width to which each result is rounded
  std::uint32_t out = 0;
  std::uint32_t first = 0;  ///< the first operand: a position in program_model::operands
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
  std::vector<std::uint32_t> first_weight;  ///< indexed by node, with one additional entry at the end
  std::vector<leaf_weight> weights;
  std::vector<std::uint32_t> outs;  ///< the slots that the forest writes
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
  std::vector<std::uint32_t> operands;  ///< the slots of the operands of all steps
  std::vector<double> numbers;          ///< weights
  std::vector<program_forest> forests;
  std::vector<std::uint32_t> outputs;  ///< the slots of the scores
  std::size_t slots = 0;
};

/// Runs all steps for the first `rows` rows of a block. A step may also compute a few rows beyond these rows, so the
/// slots must be initialized there, too. `slots` stores the slots contiguously.
void run_block(const program_model& model, std::size_t rows, double* slots) noexcept;

}  // namespace rankd::detail
