// rankd/op/own_rows.cpp: allocates and checks the rows that library operators create or merge, and builds a batch of
// these rows.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/own_rows.hpp>
#include <rankd/registry/counted.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/rows/concat.hpp>
#include <rankd/rows/dictionary.hpp>

#include <algorithm>
#include <numeric>

namespace rankd::detail {
namespace {

auto row_text(std::size_t row) -> std::string { return "row " + std::to_string(row); }

auto input_text(const own_input& input) -> std::string {
  return input.name.empty() ? "its first input" : "its input `" + std::string(input.name) + "`";
}

}  // namespace

/// Returns the approximate memory of a row in bytes. The id and the columns count twice, because they exist both in the
/// form in which the library writes them and in the form in which the batch stores them.
auto own_rows::row_bytes() const -> std::size_t {
  std::size_t bytes = sizeof(std::uint32_t) + (ids_ == value_type::string ? sizeof(rankd_text) + sizeof(std::uint32_t)
                                                                          : 2 * sizeof(std::int64_t));
  for (const written_key& key : writes_)
    bytes += 2 * (key.type == value_type::string ? sizeof(rankd_text) : sizeof(double));
  if (!merges_) return bytes;
  std::size_t columns = 0;
  for (const own_input& input : inputs_) columns = std::max(columns, input.rows.table().columns().size());
  return bytes + sizeof(rankd_origin) + 2 * sizeof(std::uint32_t) + columns * sizeof(double);
}

auto own_rows::make(std::uint64_t count) -> const rankd_made* {
  if (!makes_ || made_) {
    refuse("operator_failed", makes_ ? "the operator called make twice"
                                     : "the operator called make, but its shape declares that it creates no rows");
    return nullptr;
  }
  if (count > static_cast<std::uint64_t>(max_rows_of_a_source)) {
    refuse("too_many_rows", "the operator creates " + std::to_string(count) + " rows; a node may return at most " +
                                std::to_string(max_rows_of_a_source));
    return nullptr;
  }
  if (!context_->may_make(count, count * row_bytes())) {
    refusal_ = over_budget().error();
    return nullptr;
  }
  braid::arena& memory = context_->memory;
  count_ = static_cast<std::size_t>(count);
  for (const written_key& key : writes_) written_.push_back(blank(key.type, count_, memory));
  if (merges_) origins_ = memory.filled(count_, rankd_origin{.input = RANKD_NO_INPUT, .row = 0});
  made_ = {.id = blank(ids_, count_, memory), .writes = written_.data(), .from = merges_ ? origins_.data() : nullptr};
  return &*made_;
}

/// Checks the origins of merged rows, and describes the first error. Returns an empty string if there is no error.
auto own_rows::wrong_origin() const -> std::string {
  std::vector<std::span<std::uint64_t>> seen;
  for (const own_input& input : inputs_)
    seen.push_back(context_->memory.filled(words_for(input.rows.size()), std::uint64_t{0}));
  for (std::size_t at = 0; at < count_; ++at) {
    if (is_own(at)) continue;
    const auto [from, row] = origins_[at];
    if (from >= inputs_.size())
      return "the operator took " + row_text(at) + " from input " + std::to_string(from) + ", but it has " +
             counted(inputs_.size(), "input");
    const own_input& input = inputs_[from];
    if (row >= input.rows.size())
      return "the operator chose " + row_text(row) + " of " + input_text(input) + ", which has " +
             counted(input.rows.size(), "row");
    if (test_bit(seen[from].data(), row))
      return "the operator chose " + row_text(row) + " of " + input_text(input) + " twice";
    set_bit(seen[from].data(), row);
  }
  return {};
}

/// Returns a batch with the ids that the library set for its own rows.
auto own_rows::list_ids(std::span<const std::uint32_t> own) const -> std::expected<batch, std::string> {
  for (const std::uint32_t at : own)
    if (!test_bit(made_->id.valid, at)) return std::unexpected("the operator gave " + row_text(at) + " no id");
  braid::arena& memory = context_->memory;
  if (ids_ != value_type::string) {
    const std::span<std::int64_t> ids = memory.uninitialized<std::int64_t>(own.size());
    const auto* const given = static_cast<const std::int64_t*>(made_->id.values);
    std::ranges::transform(own, ids.begin(), [given](std::uint32_t index) { return given[index]; });
    return batch(std::span<const std::int64_t>(ids));
  }
  const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(own.size());
  const auto* const given = static_cast<const rankd_text*>(made_->id.values);
  dictionary_builder words(memory);
  for (std::size_t at = 0; at < own.size(); ++at) {
    const rankd_text& text = given[own[at]];
    const std::string_view id = text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
    if (!is_text_id(id))
      return std::unexpected("the id that the operator wrote for " + row_text(own[at]) + " is not " +
                             std::string(id_sentence(ids_)));
    codes[at] = words.intern(id);
  }
  return batch(string_values{codes, words.finish()});
}

/// Returns the merged rows as one batch: the rows taken from each input, then the operator's own rows. The row set has
/// the order that the library has defined.
auto own_rows::merged() -> std::expected<row_set, std::string> {
  braid::arena& memory = context_->memory;
  const auto find_side = [this](std::size_t row) { return is_own(row) ? inputs_.size() : origins_[row].input; };
  std::vector<std::uint32_t> counts(inputs_.size() + 1);
  for (std::size_t at = 0; at < count_; ++at) ++counts[find_side(at)];
  std::vector<std::uint32_t> next(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::uint32_t{0});

  const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(count_);
  const std::span<std::uint32_t> origins = memory.uninitialized<std::uint32_t>(count_);
  for (std::size_t at = 0; at < count_; ++at) {
    order[at] = next[find_side(at)]++;
    origins[order[at]] =
        is_own(at) ? static_cast<std::uint32_t>(at) : inputs_[origins_[at].input].rows.row(origins_[at].row);
  }
  const std::span<std::uint32_t> of_input = memory.filled(context_->inputs.size(), std::uint32_t{0});
  std::vector<row_set> sides;
  std::size_t first = 0;
  for (std::size_t side = 0; side < inputs_.size(); first += counts[side++]) {
    if (counts[side] == 0) continue;
    sides.emplace_back(inputs_[side].rows.table(), origins.subspan(first, counts[side]));
    of_input[*inputs_[side].place] = counts[side];
  }
  const auto own = list_ids(origins.subspan(first));
  if (!own) return std::unexpected(own.error());
  if (own->size() != 0) sides.emplace_back(*own);
  context_->merged = memory.make<merged_rows>(merged_rows{.of_input = of_input, .origins = origins});
  if (sides.empty()) return row_set();
  const row_set all = concat(sides, memory);
  return std::ranges::is_sorted(order) ? all : row_set(all.table(), order);
}

auto own_rows::finish() -> std::expected<row_set, std::string> {
  if (!made_) return std::unexpected("the operator did not set the number of rows that it creates");
  if (!merges_) {
    const std::span<std::uint32_t> all = context_->memory.uninitialized<std::uint32_t>(count_);
    std::iota(all.begin(), all.end(), std::uint32_t{0});
    auto table = list_ids(all);
    if (!table) return std::unexpected(std::move(table.error()));
    return row_set(*table);
  }
  if (std::string wrong = wrong_origin(); !wrong.empty()) return std::unexpected(std::move(wrong));
  return merged();
}

}  // namespace rankd::detail
