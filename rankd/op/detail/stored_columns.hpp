// rankd/op/detail/stored_columns.hpp: converts fields of hashes in a store to typed columns of rows.
#pragma once

#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/operator.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/rows/bitmap.hpp>
#include <rankd/rows/column.hpp>
#include <rankd/rows/dictionary.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/detail/number_in.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail {

/// One field of the hashes, and the column that it is converted to.
struct wanted_feature {
  std::uint32_t key_id = 0;
  std::string name;
  value_type type = value_type::floating;
  scalar otherwise;              ///< the value of a row without the feature
  std::uint32_t dimensions = 0;  ///< the dimensions of a vector
};

/// The index of each row's hash among the requested hashes, or `none` for a row without a hash.
struct asked_rows {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  const row_set& rows;
  std::size_t asked = 0;                  ///< the number of requested hashes
  std::span<const std::uint32_t> places;  ///< for each position of `rows`, the position of its hash
};

/// The types and the shape of the option `keys`. This option lists the columns that are read from fields of hashes.
inline constexpr std::array<std::string_view, 5> feature_types{"int", "float", "string", "bool", "vector"};
inline constexpr param_shape feature_keys{
    .name = "keys", .kind = param_kind::key_ids, .use = key_use::write, .min_items = 1, .choices = feature_types};

/// Describes a key's column, whose values are read from the field or string called `name`.
inline auto make_wanted(const key_entry& key, std::string name) -> wanted_feature {
  return {.key_id = key.key_id,
          .name = std::move(name),
          .type = key.type,
          .otherwise = key.nullable ? scalar() : key.default_value,
          .dimensions = key.dimensions};
}

/// Returns the columns for the keys in the option `keys`. Each column is read from the field with the name of its key,
/// or with the name in `fields` if this option is present. Reports the errors of `find_typed_keys`, and wrong_length.
inline auto find_wanted(const plan_node& node, const plan_param* fields, const bind_context& context,
                        braid::diagnostics& problems) -> std::vector<wanted_feature> {
  const plan_param& keys = *node.find_param(feature_keys.name);
  const std::vector<const key_entry*> found = find_typed_keys(keys, feature_keys, context, problems);
  if (fields != nullptr) check_same_length(*fields, fields->names.size(), keys, found.size(), problems);
  std::vector<wanted_feature> out;
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (found[at] == nullptr || (fields != nullptr && at >= fields->names.size())) continue;
    out.push_back(make_wanted(*found[at], fields == nullptr ? found[at]->name : fields->names[at]));
  }
  return out;
}

// The overloads of `spelled` parse the text of a field. They return nothing if the text is not a value of the type.

inline auto spelled(std::string_view text, std::int64_t /*type*/) -> std::optional<std::int64_t> {
  return parse_id(text);
}

inline auto spelled(std::string_view text, double /*type*/) -> std::optional<double> {
  const auto value = braid::detail::number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

inline auto spelled(std::string_view text, bool /*type*/) -> std::optional<bool> {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

/// The decoded values of one field, one for each requested hash, with a bitmap of nulls.
template <typename T>
struct decoded {
  std::span<T> values;
  std::span<std::uint64_t> valid;

  decoded(std::size_t size, braid::arena& memory)
      : values(memory.filled(size, T{})), valid(memory.filled(words_for(size), std::uint64_t{0})) {}

  void set(std::size_t index, T value) {
    values[index] = value;
    set_bit(valid.data(), index);
  }
};

/// Copies the values of the hashes to their rows. Inactive rows are null, and rows without a value get `otherwise`. If
/// no row is null, the column has no bitmap, so that its readers need not check for nulls.
template <typename T>
auto spread(const asked_rows& rows, const decoded<T>& from, const std::optional<T>& otherwise, braid::arena& memory)
    -> std::pair<std::span<const T>, bitmap> {
  decoded<T> out(rows.rows.table().size(), memory);
  std::size_t filled = 0;
  for (std::size_t position = 0; position < rows.rows.size(); ++position) {
    const std::uint32_t place = rows.places[position];
    const bool is_there = place != asked_rows::none && test_bit(from.valid.data(), place);
    if (!is_there && !otherwise) continue;
    out.set(rows.rows.row(position), is_there ? from.values[place] : *otherwise);
    ++filled;
  }
  return {out.values, filled == out.values.size() ? bitmap() : bitmap(out.valid.data())};
}

/// Builds a column of numbers or booleans. `find(hash, feature)` returns the text of a field if the hash has the field.
template <typename T, typename Find>
auto plain_column(const wanted_feature& feature, const asked_rows& rows, const Find& find, node_context& context)
    -> column {
  decoded<T> values(rows.asked, context.memory);
  for (std::size_t at = 0; at < rows.asked; ++at) {
    const auto text = find(at, feature);
    if (!text) continue;
    if (const auto value = spelled(*text, T{}))
      values.set(at, *value);
    else
      ++context.malformed_values;
  }
  std::optional<T> otherwise;
  if (!is_null(feature.otherwise)) otherwise = std::get<T>(feature.otherwise);
  const auto [spans, validity] = spread(rows, values, otherwise, context.memory);
  return {.values = spans, .validity = validity};
}

template <typename Find>
auto text_column(const wanted_feature& feature, const asked_rows& rows, const Find& find, node_context& context)
    -> column {
  decoded<std::uint32_t> codes(rows.asked, context.memory);
  dictionary_builder words(context.memory);
  for (std::size_t at = 0; at < rows.asked; ++at)
    if (const auto text = find(at, feature)) codes.set(at, words.intern_shared(*text));
  std::optional<std::uint32_t> otherwise;
  if (!is_null(feature.otherwise)) otherwise = words.intern(std::get<std::string>(feature.otherwise));
  const auto [spans, validity] = spread(rows, codes, otherwise, context.memory);
  return {.values = string_values{spans, words.finish()}, .validity = validity};
}

/// Builds a column of vectors. A value is malformed if its length is wrong, or if it contains a number that is not
/// finite.
template <typename Find>
auto vector_column(const wanted_feature& feature, const asked_rows& rows, const Find& find, node_context& context)
    -> column {
  decoded<std::uint32_t> codes(rows.asked, context.memory);
  dictionary_builder words(context.memory);
  for (std::size_t at = 0; at < rows.asked; ++at) {
    const auto bytes = find(at, feature);
    if (bytes && is_vector(*bytes, feature.dimensions))
      codes.set(at, words.intern_shared(*bytes));
    else if (bytes)
      ++context.malformed_values;
  }
  const auto [spans, validity] = spread(rows, codes, std::optional<std::uint32_t>(), context.memory);
  return {.values = string_values{spans, words.finish(), feature.dimensions}, .validity = validity};
}

/// Converts a field to a column. A text that is not a value of the column's type counts as missing. For each hash, it
/// also counts as one malformed value.
template <typename Find>
auto find_column(const wanted_feature& feature, const asked_rows& rows, const Find& find, node_context& context)
    -> column {
  switch (feature.type) {
    case value_type::integer: return plain_column<std::int64_t>(feature, rows, find, context);
    case value_type::boolean: return plain_column<bool>(feature, rows, find, context);
    case value_type::string: return text_column(feature, rows, find, context);
    case value_type::vector: return vector_column(feature, rows, find, context);
    case value_type::floating: break;
  }
  return plain_column<double>(feature, rows, find, context);
}

}  // namespace rankd::detail
