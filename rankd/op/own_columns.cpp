// rankd/op/own_columns.cpp: copies columns to the plain arrays of libraries, indexed by position, and checks the arrays
// that libraries return.
#include <rankd/op/detail/own_columns.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/rows/dictionary.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <string_view>

namespace rankd::detail {
namespace {

/// Returns the validity bits of the active rows, indexed by the rows' positions. Returns null if all bits are set.
auto gathered_bits(const row_set& rows, bitmap from, braid::arena& memory) -> const std::uint64_t* {
  if (from.all_set() || rows.is_prefix()) return from.words();
  const std::span<std::uint64_t> words = memory.filled(words_for(rows.size()), std::uint64_t{0});
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (from[rows.row(at)]) set_bit(words.data(), at);
  return words.data();
}

template <typename T>
auto gathered_values(const row_set& rows, std::span<const T> from, braid::arena& memory) -> const T* {
  if (rows.is_prefix()) return from.data();
  const std::span<T> out = memory.uninitialized<T>(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) out[at] = from[rows.row(at)];
  return out.data();
}

auto gathered_texts(const row_set& rows, const column& column, braid::arena& memory) -> const rankd_text* {
  const std::span<rankd_text> out = memory.uninitialized<rankd_text>(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const std::uint32_t row = rows.row(at);
    const std::string_view text = column.is_null(row) ? std::string_view() : (*column.strings())[row];
    out[at] = {text.data(), text.size()};
  }
  return out.data();
}

/// Returns whether all rows of the table are active and in order.
auto is_whole(const row_set& rows) -> bool { return rows.is_prefix() && rows.size() == rows.table().size(); }

/// Returns a validity bit for each row of the batch. Returns an empty bitmap if all rows of the batch are active and
/// valid.
auto scattered_bits(const row_set& rows, const std::uint64_t* from, braid::arena& memory) -> bitmap {
  const bitmap written(from);
  if (is_whole(rows)) return written.count(rows.size()) == rows.size() ? bitmap() : written;
  const std::span<std::uint64_t> words = memory.filled(words_for(rows.table().size()), std::uint64_t{0});
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (written[at]) set_bit(words.data(), rows.row(at));
  return bitmap(words.data());
}

/// Returns the values for all rows of the batch. If a row is null, its value is zero.
template <typename T, typename Stored>
auto scattered_values(const row_set& rows, const rankd_written& from, braid::arena& memory) -> std::span<const T> {
  const auto* const written = static_cast<const Stored*>(from.values);
  const std::span<T> out = memory.filled(rows.table().size(), T{});
  for (std::size_t at = 0; at < rows.size(); ++at)
    if (test_bit(from.valid, at)) {
      if constexpr (std::is_same_v<T, bool>)
        out[rows.row(at)] = written[at] != 0;
      else
        out[rows.row(at)] = written[at];
    }
  return out;
}

auto scattered_texts(const row_set& rows, const rankd_written& from, braid::arena& memory)
    -> std::expected<string_values, std::string> {
  const auto* const written = static_cast<const rankd_text*>(from.values);
  const std::span<std::uint32_t> codes = memory.filled(rows.table().size(), std::uint32_t{0});
  dictionary_builder words(memory);
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (!test_bit(from.valid, at)) continue;
    const rankd_text& text = written[at];
    if (text.data == nullptr && text.size != 0) return std::unexpected("of a row has a length but no bytes");
    const std::string_view seen = text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
    if (!is_utf8(seen))
      return std::unexpected("of row " + std::to_string(rows.row(at)) + " (id " +
                             to_text(rows.table().id(rows.row(at))) + ") is not UTF-8");
    codes[rows.row(at)] = words.intern(seen);
  }
  return string_values{codes, words.finish()};
}

}  // namespace

auto type_number(value_type type) noexcept -> std::uint32_t {
  switch (type) {
    case value_type::integer: return RANKD_TYPE_INT;
    case value_type::floating: return RANKD_TYPE_FLOAT;
    case value_type::string: return RANKD_TYPE_TEXT;
    case value_type::boolean: return RANKD_TYPE_BOOL;
    default: return 0;
  }
}

auto own_bytes(const row_set& rows, std::span<const seen_key> reads, std::span<const written_key> writes)
    -> std::uint64_t {
  std::uint64_t row_bytes = 0;
  for (const seen_key& key : reads) {
    const bool is_text = key.type == value_type::string;
    if (is_text || !rows.is_prefix() || !rows.table().find(key.key_id))
      row_bytes += is_text ? sizeof(rankd_text) : sizeof(double);
  }
  for (const written_key& key : writes)
    row_bytes += 2 * (key.type == value_type::string ? sizeof(rankd_text) : sizeof(double));
  return row_bytes * rows.table().size();
}

auto gathered(const row_set& rows, const seen_key& key, braid::arena& memory) -> rankd_column {
  const auto from = rows.table().find(key.key_id);
  if (!from) {
    const rankd_written none = blank(key.type, rows.size(), memory);
    return {.values = none.values, .valid = none.valid, .type = none.type};
  }
  rankd_column out{.values = nullptr, .valid = gathered_bits(rows, from->validity, memory), .type = RANKD_TYPE_FLOAT};
  if (const auto* floats = from->floats()) {
    out.values = gathered_values(rows, *floats, memory);
  } else if (const auto* whole = from->integers()) {
    out.type = RANKD_TYPE_INT;
    out.values = gathered_values(rows, *whole, memory);
  } else if (const auto* truths = from->booleans()) {
    out.type = RANKD_TYPE_BOOL;
    out.values = gathered_values(rows, *truths, memory);
  } else {
    out.type = RANKD_TYPE_TEXT;
    out.values = gathered_texts(rows, *from, memory);
  }
  return out;
}

auto blank(value_type type, std::size_t rows, braid::arena& memory) -> rankd_written {
  rankd_written out{
      .values = nullptr, .valid = memory.filled(words_for(rows), std::uint64_t{0}).data(), .type = type_number(type)};
  switch (type) {
    case value_type::integer: out.values = memory.filled(rows, std::int64_t{0}).data(); break;
    case value_type::boolean: out.values = memory.filled(rows, std::uint8_t{0}).data(); break;
    case value_type::string: out.values = memory.filled(rows, rankd_text{}).data(); break;
    default: out.values = memory.filled(rows, double{0}).data(); break;
  }
  return out;
}

auto scattered(const row_set& rows, const rankd_written& from, braid::arena& memory)
    -> std::expected<column, std::string> {
  const bitmap validity = scattered_bits(rows, from.valid, memory);
  switch (from.type) {
    case RANKD_TYPE_INT: return column{scattered_values<std::int64_t, std::int64_t>(rows, from, memory), validity};
    case RANKD_TYPE_BOOL: return column{scattered_values<bool, std::uint8_t>(rows, from, memory), validity};
    case RANKD_TYPE_FLOAT: return column{scattered_values<double, double>(rows, from, memory), validity};
    default: break;
  }
  const auto texts = scattered_texts(rows, from, memory);
  if (!texts) return std::unexpected(texts.error());
  return column{*texts, validity};
}

auto chosen_rows(const row_set& rows, std::span<const std::uint32_t> order, std::uint64_t kept, row_change effect,
                 braid::arena& memory) -> std::expected<row_set, std::string> {
  if (kept == unset_order) return std::unexpected("the operator did not set the number of rows that it keeps");
  if (kept > rows.size())
    return std::unexpected("the operator keeps " + counted(kept, "row") + ", but its input has " +
                           std::to_string(rows.size()));
  if (effect == row_change::permutation && kept != rows.size())
    return std::unexpected("the operator must return all rows, but returned " + std::to_string(kept) + " of " +
                           std::to_string(rows.size()));
  const std::span<std::uint64_t> seen = memory.filled(words_for(rows.size()), std::uint64_t{0});
  const std::span<std::uint32_t> out = memory.uninitialized<std::uint32_t>(kept);
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::uint32_t row = order[at];
    if (row >= rows.size())
      return std::unexpected("the operator chose row " + std::to_string(row) + ", but its input has " +
                             counted(rows.size(), "row"));
    if (test_bit(seen.data(), row)) return std::unexpected("the operator chose row " + std::to_string(row) + " twice");
    if (effect == row_change::stable_filter && at != 0 && row < order[at - 1])
      return std::unexpected("the operator must keep the order of rows, but returned row " + std::to_string(row) +
                             " after row " + std::to_string(order[at - 1]));
    set_bit(seen.data(), row);
    out[at] = rows.row(row);
  }
  return row_set(rows.table(), out);
}

}  // namespace rankd::detail
