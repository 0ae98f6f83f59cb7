// rankd/op/scoring.cpp: models over blocks of rows, key by key and tree by tree. All sums are in the order of the file.
// Products and sums are rounded separately: the file is compiled with -ffp-contract=off.
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
using detail::tree_model;
using detail::tree_node;

constexpr std::size_t block_rows = model::block_rows;
constexpr double no_value = std::numeric_limits<double>::quiet_NaN();  // columns hold finite numbers

/// Some active rows that follow each other.
struct block {
  const row_set& rows;
  std::size_t first;
  std::size_t count;
};

template <typename T>
void gather(std::span<const T> from, const block& at, double* out) {
  if (at.rows.is_prefix()) {
    for (std::size_t i = 0; i < at.count; ++i) out[i] = static_cast<double>(from[at.first + i]);
  } else {
    const std::uint32_t* order = at.rows.order().data() + at.first;
    for (std::size_t i = 0; i < at.count; ++i) out[i] = static_cast<double>(from[order[i]]);
  }
}

/// The values of a column in a block as numbers, `no_value` for nulls.
void gather(const std::optional<column>& from, const block& at, double* out) {
  if (!from) return static_cast<void>(std::fill_n(out, at.count, no_value));
  if (const auto* floats = from->floats()) gather(*floats, at, out);
  if (const auto* whole = from->integers()) gather(*whole, at, out);
  if (const auto* flags = from->booleans()) gather(*flags, at, out);
  if (from->validity.all_set()) return;
  for (std::size_t i = 0; i < at.count; ++i)
    if (from->is_null(at.rows.row(at.first + i))) out[i] = no_value;
}

/// The data that all parts share: the columns, and the sums by position.
struct scoring {
  const row_set& rows;
  std::span<const std::optional<column>> columns;
  std::span<double> sums;  ///< of the first output, then of the second
  std::uint64_t* known;    ///< a bit for each position that has a sum; null if all have one
};

void score_block(const linear_model& what, const scoring& all, const block& at, double* values) {
  double* sums = all.sums.data() + at.first;
  for (std::size_t k = 0; k < what.weights.size(); ++k) {
    const detail::model_weight& each = what.weights[k];
    gather(all.columns[k], at, values);
    if (each.when_null) {
      for (std::size_t i = 0; i < at.count; ++i)
        sums[i] += each.weight * (std::isnan(values[i]) ? *each.when_null : values[i]);
      continue;
    }
    for (std::size_t i = 0; i < at.count; ++i) {
      if (std::isnan(values[i])) clear_bit(all.known, at.first + i);
      sums[i] += each.weight * values[i];
    }
  }
  if (all.known == nullptr) return;
  for (std::size_t i = 0; i < at.count; ++i)
    if (!test_bit(all.known, at.first + i)) sums[i] = 0;
}

/// The children of a split that compares otherwise: 1 for the right one.
auto goes_right(const tree_model& what, const tree_node& node, double value) -> std::uint32_t {
  constexpr double max_zero = 1e-35F;  // as LightGBM has it
  if (std::isnan(value)) return node.null_right;
  if (node.rule == 0) return value >= node.threshold ? 1 : 0;
  const detail::split_rule& rule = what.rules[node.rule - 1];
  if (rule.words == 0) {
    if (std::abs(value) <= max_zero) return node.null_right;
    return value >= node.threshold ? 1 : 0;
  }
  if (!(value >= node.threshold && value < 32.0 * rule.words)) return 0;
  const auto category = static_cast<std::uint32_t>(value);
  return what.bits[rule.first_word + category / 32] >> (category % 32) & 1U;
}

/// Does the same as `leaves_of` for a tree in which some splits have rules.
auto leaves_by_rules(const detail::tree_shape& tree, const tree_model& what, const double* values)
    -> std::array<std::uint32_t, rows_abreast> {
  std::array<std::uint32_t, rows_abreast> places;
  places.fill(tree.root);
  for (std::size_t i = 0; i < rows_abreast; ++i) {
    for (std::uint32_t level = 0; level < tree.levels; ++level) {
      const tree_node& node = what.nodes[places[i]];
      if (node.left == places[i]) break;
      places[i] = node.left + goes_right(what, node, values[node.feature * block_rows + i]);
    }
  }
  return places;
}

/// Adds a leaf to the sum of each row, and rounds to a float if floats are added: that is the sum of two floats.
void add_leaves(const tree_model& what, std::span<const std::uint32_t> leaves, double* sums) {
  if (what.width == number_width::doubles) {
    for (std::size_t i = 0; i < leaves.size(); ++i) sums[i] += what.values[leaves[i]];
  } else {
    for (std::size_t i = 0; i < leaves.size(); ++i) sums[i] = static_cast<float>(sums[i] + what.values[leaves[i]]);
  }
}

/// The values of a block, as floats if they are compared as floats, padded with zeros.
void gather_padded(const std::optional<column>& from, const block& at, number_width width, double* own) {
  gather(from, at, own);
  std::fill_n(own + at.count, block_rows - at.count, 0.0);
  if (width == number_width::floats)
    for (std::size_t i = 0; i < at.count; ++i) own[i] = static_cast<float>(own[i]);
}

void score_block(const tree_model& what, const scoring& all, const block& at, double* values) {
  for (std::size_t k = 0; k < what.key_ids.size(); ++k)
    gather_padded(all.columns[k], at, what.width, values + k * block_rows);
  for (const detail::tree_shape& tree : what.trees) {
    double* sums = all.sums.data() + tree.output * all.rows.size() + at.first;
    for (std::size_t first = 0; first < at.count; first += rows_abreast) {
      const auto leaves = tree.has_rules ? leaves_by_rules(tree, what, values + first)
                                         : leaves_of(tree, what.nodes.data(), values + first);
      add_leaves(what, std::span(leaves).first(std::min(rows_abreast, at.count - first)), sums + first);
    }
  }
}

/// Runs the steps. A score that is no number becomes a null.
void score_block(const program_model& what, const scoring& all, const block& at, double* slots) {
  for (std::size_t k = 0; k < what.keys.size(); ++k)
    gather_padded(all.columns[k], at, what.keys[k].width, slots + what.keys[k].slot * block_rows);
  detail::run_block(what, at.count, slots);
  for (std::size_t output = 0; output < what.outputs.size(); ++output) {
    const double* scores = slots + what.outputs[output] * block_rows;
    double* sums = all.sums.data() + output * all.rows.size() + at.first;
    for (std::size_t i = 0; i < at.count; ++i) {
      sums[i] = std::isnan(scores[i]) ? 0 : scores[i];
      if (std::isnan(scores[i])) clear_bit(all.known, at.first + i);
    }
  }
}

auto columns_of(const linear_model& what, const row_set& rows, braid::arena& memory)
    -> std::span<const std::optional<column>> {
  const auto out = memory.filled(what.weights.size(), std::optional<column>());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows.table().find(what.weights[k].key_id);
  return out;
}

auto columns_of(const tree_model& what, const row_set& rows, braid::arena& memory)
    -> std::span<const std::optional<column>> {
  const auto out = memory.filled(what.key_ids.size(), std::optional<column>());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows.table().find(what.key_ids[k]);
  return out;
}

auto columns_of(const program_model& what, const row_set& rows, braid::arena& memory)
    -> std::span<const std::optional<column>> {
  const auto out = memory.filled(what.keys.size(), std::optional<column>());
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = rows.table().find(what.keys[k].key_id);
  return out;
}

/// How many blocks of values a part needs at once.
auto blocks_of(const linear_model& /*what*/) noexcept -> std::size_t { return 1; }
auto blocks_of(const tree_model& what) noexcept -> std::size_t { return std::max<std::size_t>(what.key_ids.size(), 1); }
auto blocks_of(const program_model& what) noexcept -> std::size_t { return what.slots; }

/// Whether some rows may have no sum.
auto may_be_null(const linear_model& what) noexcept -> bool {
  return !std::ranges::all_of(what.weights, [](const auto& each) { return each.when_null.has_value(); });
}
auto may_be_null(const tree_model& /*what*/) noexcept -> bool { return false; }
auto may_be_null(const program_model& /*what*/) noexcept -> bool { return true; }

/// Runs all blocks, in consecutive parts. Each part has its own values, which are allocated here because an arena
/// serves one thread. False if the call was stopped.
template <typename Model>
auto score(const Model& what, const scoring& all, braid::arena& memory, const detail::scoring_options& how) -> bool {
  const std::size_t rows = all.rows.size();
  const std::size_t wanted = std::clamp(how.rows_of_part, block_rows, std::max(rows, block_rows));
  const std::size_t of_each = (wanted + block_rows - 1) / block_rows * block_rows;
  const std::size_t parts = (rows + of_each - 1) / of_each;
  const std::size_t values = blocks_of(what) * block_rows;
  const std::span<double> work = memory.uninitialized<double>(parts * values);
  braid::atomic<bool> stopped{false};  // set by the parts, read when all have ended
  const auto run_part = [&](std::size_t part) {
    const std::size_t end = std::min(rows, (part + 1) * of_each);
    for (std::size_t first = part * of_each; first < end; first += block_rows) {
      if (how.stop != nullptr && how.stop->requested()) return stopped.store(true, braid::relaxed);
      score_block(what, all, {all.rows, first, std::min(block_rows, end - first)}, work.data() + part * values);
    }
  };
  if (parts <= 1) {
    if (parts == 1) run_part(0);
  } else {
    braid::parallel_for(std::size_t{0}, parts, run_part, {.grain = 1});
  }
  return !stopped.load(braid::relaxed);
}

/// Converts the sums of one output, indexed by position, to a column indexed by row.
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

/// Returns for each output the intercept for each row.
auto first_sums(std::span<const double> intercepts, std::size_t rows, braid::arena& memory) -> std::span<double> {
  const std::span<double> sums = memory.uninitialized<double>(intercepts.size() * rows);
  for (std::size_t output = 0; output < intercepts.size(); ++output)
    std::ranges::fill(sums.subspan(output * rows, rows), intercepts[output]);
  return sums;
}

}  // namespace

auto model::sums(const row_set& rows, braid::arena& memory, const detail::scoring_options& how) const
    -> std::optional<std::span<model_sums>> {
  return std::visit(
      [&](const auto& what) -> std::optional<std::span<model_sums>> {
        scoring all{.rows = rows,
                    .columns = columns_of(what, rows, memory),
                    .sums = first_sums(intercepts_, rows.size(), memory),
                    .known = nullptr};
        if (may_be_null(what) && !rows.empty())
          all.known = memory.filled(words_for(rows.size()), ~std::uint64_t{0}).data();
        if (!score(what, all, memory, how)) return std::nullopt;
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
      if (each.kind != detail::step_kind::forest) continue;
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
  return std::visit([](const auto& what) { return blocks_of(what) * block_rows * sizeof(double); }, parts_);
}

}  // namespace rankd
