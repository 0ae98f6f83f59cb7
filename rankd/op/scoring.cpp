// rankd/op/scoring.cpp: computes the sums of models over blocks of rows, key by key and tree by tree, in the order of
// the file. The file is compiled with -ffp-contract=off, so products and sums are rounded separately.
#include <rankd/op/detail/scoring.hpp>
#include <rankd/op/detail/tree_descent.hpp>

#include <braid/sync/atomic.hpp>
#include <braid/task/parallel.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace rankd {
namespace {

using detail::linear_model;
using detail::program_model;
using detail::rows_abreast;
using detail::split_node;
using detail::tree_model;

constexpr std::size_t block_rows = model::block_rows;
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();  // columns hold finite numbers

/// A range of consecutive active rows.
struct block {
  const row_set& rows;
  std::size_t first;
  std::size_t count;
};

template <typename T>
void gather(std::span<const T> from, const block& block, double* out) {
  if (block.rows.is_prefix()) {
    for (std::size_t i = 0; i < block.count; ++i) out[i] = static_cast<double>(from[block.first + i]);
  } else {
    const std::uint32_t* order = block.rows.order().data() + block.first;
    for (std::size_t i = 0; i < block.count; ++i) out[i] = static_cast<double>(from[order[i]]);
  }
}

/// Copies the values that a column has in a block as numbers. A null becomes `no_value`.
void gather(const std::optional<column>& column, const block& block, double* out) {
  if (!column) return static_cast<void>(std::fill_n(out, block.count, no_value));
  if (const auto* floats = column->floats()) gather(*floats, block, out);
  if (const auto* whole = column->integers()) gather(*whole, block, out);
  if (const auto* flags = column->booleans()) gather(*flags, block, out);
  if (column->validity.all_set()) return;
  for (std::size_t i = 0; i < block.count; ++i)
    if (column->is_null(block.rows.row(block.first + i))) out[i] = no_value;
}

/// The data that all parallel parts share: the columns, and the sums, which are indexed by the positions of rows.
struct scoring {
  const row_set& rows;
  std::span<const std::optional<column>> columns;
  std::span<double> sums;  ///< of the first output, then of the second
  std::uint64_t* known;    ///< a bit for each position that has a sum; null if all have one
};

void score_block(const linear_model& model, const scoring& all, const block& block, double* values) {
  double* sums = all.sums.data() + block.first;
  for (std::size_t k = 0; k < model.weights.size(); ++k) {
    const detail::model_weight& each = model.weights[k];
    gather(all.columns[k], block, values);
    if (each.when_null) {
      for (std::size_t i = 0; i < block.count; ++i)
        sums[i] += each.weight * (std::isnan(values[i]) ? *each.when_null : values[i]);
      continue;
    }
    for (std::size_t i = 0; i < block.count; ++i) {
      if (std::isnan(values[i])) clear_bit(all.known, block.first + i);
      sums[i] += each.weight * values[i];
    }
  }
  if (all.known == nullptr) return;
  for (std::size_t i = 0; i < block.count; ++i)
    if (!test_bit(all.known, block.first + i)) sums[i] = 0;
}

/// Returns 1 if the row goes to the right child of the node, and 0 otherwise. Evaluates the rule of the split if it has
/// one.
auto goes_right(const tree_model& model, const split_node& node, double value) -> std::uint32_t {
  constexpr double max_zero = 1e-35F;  // as LightGBM has it
  if (std::isnan(value)) return node.null_right;
  if (node.rule == 0) return value >= node.threshold ? 1 : 0;
  const detail::split_rule& rule = model.rules[node.rule - 1];
  if (rule.words == 0) {
    if (std::abs(value) <= max_zero) return node.null_right;
    return value >= node.threshold ? 1 : 0;
  }
  if (!(value >= node.threshold && value < 32.0 * rule.words)) return 0;
  const auto category = static_cast<std::uint32_t>(value);
  return model.bits[rule.first_word + category / 32] >> (category % 32) & 1U;
}

/// Finds the leaves of rows, like `find_leaves`, but for a tree in which some splits have rules.
auto leaves_by_rules(const detail::tree_shape& tree, const tree_model& model, const double* values)
    -> std::array<std::uint32_t, rows_abreast> {
  std::array<std::uint32_t, rows_abreast> places;
  places.fill(tree.root);
  for (std::size_t i = 0; i < rows_abreast; ++i) {
    for (std::uint32_t level = 0; level < tree.levels; ++level) {
      const split_node& node = model.nodes[places[i]];
      if (node.left == places[i]) break;
      places[i] = node.left + goes_right(model, node, values[node.feature * block_rows + i]);
    }
  }
  return places;
}

/// Adds a leaf to the sum of each row. If the model uses floats, each sum is rounded to a float, which gives the same
/// result as adding two floats.
void add_leaves(const tree_model& model, std::span<const std::uint32_t> leaves, double* sums) {
  if (model.width == number_width::doubles) {
    for (std::size_t i = 0; i < leaves.size(); ++i) sums[i] += model.values[leaves[i]];
  } else {
    for (std::size_t i = 0; i < leaves.size(); ++i) sums[i] = static_cast<float>(sums[i] + model.values[leaves[i]]);
  }
}

/// Copies the values of a block, rounded to floats if the model uses floats. Pads the block with zeros.
void gather_padded(const std::optional<column>& column, const block& block, number_width width, double* own) {
  gather(column, block, own);
  std::fill_n(own + block.count, block_rows - block.count, 0.0);
  if (width == number_width::floats)
    for (std::size_t i = 0; i < block.count; ++i) own[i] = static_cast<float>(own[i]);
}

void score_block(const tree_model& model, const scoring& all, const block& block, double* values) {
  for (std::size_t k = 0; k < model.key_ids.size(); ++k)
    gather_padded(all.columns[k], block, model.width, values + k * block_rows);
  for (const detail::tree_shape& tree : model.trees) {
    double* sums = all.sums.data() + tree.output * all.rows.size() + block.first;
    for (std::size_t first = 0; first < block.count; first += rows_abreast) {
      const auto leaves = tree.has_rules ? leaves_by_rules(tree, model, values + first)
                                         : find_leaves(tree, model.nodes.data(), values + first);
      add_leaves(model, std::span(leaves).first(std::min(rows_abreast, block.count - first)), sums + first);
    }
  }
}

/// Runs the steps of a program on a block. If a score is NaN, it becomes null.
void score_block(const program_model& model, const scoring& all, const block& block, double* slots) {
  for (std::size_t k = 0; k < model.keys.size(); ++k)
    gather_padded(all.columns[k], block, model.keys[k].width, slots + model.keys[k].slot * block_rows);
  detail::run_block(model, block.count, slots);
  for (std::size_t output = 0; output < model.outputs.size(); ++output) {
    const double* scores = slots + model.outputs[output] * block_rows;
    double* sums = all.sums.data() + output * all.rows.size() + block.first;
    for (std::size_t i = 0; i < block.count; ++i) {
      sums[i] = std::isnan(scores[i]) ? 0 : scores[i];
      if (std::isnan(scores[i])) clear_bit(all.known, block.first + i);
    }
  }
}

auto find_columns(const linear_model& model, const row_set& rows, braid::arena& memory)
    -> std::span<const std::optional<column>> {
  const auto out = memory.filled(model.weights.size(), std::optional<column>());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows.table().find(model.weights[k].key_id);
  return out;
}

auto find_columns(const tree_model& model, const row_set& rows, braid::arena& memory)
    -> std::span<const std::optional<column>> {
  const auto out = memory.filled(model.key_ids.size(), std::optional<column>());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows.table().find(model.key_ids[k]);
  return out;
}

auto find_columns(const program_model& model, const row_set& rows, braid::arena& memory)
    -> std::span<const std::optional<column>> {
  const auto out = memory.filled(model.keys.size(), std::optional<column>());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows.table().find(model.keys[k].key_id);
  return out;
}

/// Returns how many blocks of values a parallel part needs in memory at the same time.
auto count_blocks(const linear_model& /*model*/) noexcept -> std::size_t { return 1; }
auto count_blocks(const tree_model& model) noexcept -> std::size_t {
  return std::max<std::size_t>(model.key_ids.size(), 1);
}
auto count_blocks(const program_model& model) noexcept -> std::size_t { return model.slots; }

/// Returns whether the sum may be null for some rows.
auto may_be_null(const linear_model& model) noexcept -> bool {
  return !std::ranges::all_of(model.weights, [](const auto& each) { return each.when_null.has_value(); });
}
auto may_be_null(const tree_model& /*model*/) noexcept -> bool { return false; }
auto may_be_null(const program_model& /*model*/) noexcept -> bool { return true; }

/// Processes all blocks, in parallel parts of consecutive rows. The working memory of all parts is allocated before the
/// parts start, because an arena may be used by only one thread. Returns false if the call was stopped.
template <typename Model>
auto score(const Model& model, const scoring& all, braid::arena& memory, const detail::scoring_options& options)
    -> bool {
  const std::size_t rows = all.rows.size();
  const std::size_t wanted = std::clamp(options.rows_of_part, block_rows, std::max(rows, block_rows));
  const std::size_t of_each = (wanted + block_rows - 1) / block_rows * block_rows;
  const std::size_t parts = (rows + of_each - 1) / of_each;
  const std::size_t values = count_blocks(model) * block_rows;
  const std::span<double> work = memory.uninitialized<double>(parts * values);
  braid::atomic<bool> stopped{false};  // set by the parts, read when all have ended
  const auto run_part = [&](std::size_t part) {
    const std::size_t end = std::min(rows, (part + 1) * of_each);
    for (std::size_t first = part * of_each; first < end; first += block_rows) {
      if (options.stop != nullptr && options.stop->requested()) return stopped.store(true, braid::relaxed);
      score_block(model, all, {all.rows, first, std::min(block_rows, end - first)}, work.data() + part * values);
    }
  };
  if (parts <= 1) {
    if (parts == 1) run_part(0);
  } else {
    braid::parallel_for(std::size_t{0}, parts, run_part, {.grain = 1});
  }
  return !stopped.load(braid::relaxed);
}

/// Converts the sums of one output, which are indexed by position, to a column, which is indexed by row.
auto by_row(const scoring& all, std::span<double> sums, braid::arena& memory) -> model_sums {
  const std::size_t size = all.rows.table().size();
  if (all.rows.is_prefix() && all.rows.size() == size)
    return {{.values = std::span<const double>(sums), .validity = bitmap(all.known)}, sums};
  const std::span<double> values = memory.filled(size, 0.0);
  const std::span<std::uint64_t> valid = memory.filled(words_for(size), std::uint64_t{0});
  for (std::size_t at = 0; at < all.rows.size(); ++at) {
    if (all.known != nullptr && !test_bit(all.known, at)) continue;
    values[all.rows.row(at)] = sums[at];
    set_bit(valid.data(), all.rows.row(at));
  }
  return {{.values = std::span<const double>(values), .validity = bitmap(valid.data())}, values};
}

/// Returns the initial sums of all rows: for each output, its intercept.
auto first_sums(std::span<const double> intercepts, std::size_t rows, braid::arena& memory) -> std::span<double> {
  const std::span<double> sums = memory.uninitialized<double>(intercepts.size() * rows);
  for (std::size_t output = 0; output < intercepts.size(); ++output)
    std::ranges::fill(sums.subspan(output * rows, rows), intercepts[output]);
  return sums;
}

}  // namespace

auto model::sums(const row_set& rows, braid::arena& memory, const detail::scoring_options& options) const
    -> std::optional<std::span<model_sums>> {
  return std::visit(
      [&](const auto& typed) -> std::optional<std::span<model_sums>> {
        scoring all{.rows = rows,
                    .columns = find_columns(typed, rows, memory),
                    .sums = first_sums(intercepts_, rows.size(), memory),
                    .known = nullptr};
        if (may_be_null(typed) && !rows.empty())
          all.known = memory.filled(words_for(rows.size()), ~std::uint64_t{0}).data();
        if (!score(typed, all, memory, options)) return std::nullopt;
        const std::span<model_sums> out = memory.uninitialized<model_sums>(outputs());
        for (std::size_t output = 0; output < out.size(); ++output)
          std::construct_at(&out[output], by_row(all, all.sums.subspan(output * rows.size(), rows.size()), memory));
        return out;
      },
      parts_);
}

auto model::row_ns() const noexcept -> double {
  if (const auto* linear = std::get_if<linear_model>(&parts_))
    return 2 + 1.5 * static_cast<double>(linear->weights.size());
  if (const auto* program = std::get_if<program_model>(&parts_)) {
    double steps = 0;
    for (const detail::program_step& each : program->steps) {
      steps += 0.2 + 0.2 * each.count;
      if (each.kind != detail::model_op::forest) continue;
      for (const detail::tree_shape& tree : program->forests[each.extra].trees.trees) steps += 1.5 + 1.5 * tree.levels;
    }
    return 2 + 2.0 * static_cast<double>(program->keys.size()) + steps;
  }
  const auto& forest = std::get<tree_model>(parts_);
  double steps = 0;
  for (const detail::tree_shape& each : forest.trees) steps += 1 + each.levels;
  return 2 + 2.0 * static_cast<double>(forest.key_ids.size()) + 1.5 * steps;
}

auto model::work_bytes() const noexcept -> std::size_t {
  return std::visit([](const auto& typed) { return count_blocks(typed) * block_rows * sizeof(double); }, parts_);
}

}  // namespace rankd
