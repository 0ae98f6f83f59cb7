// rankd/store/id_batch.hpp: types for questions about many keys at once, and for their answers.
#pragma once

#include <rankd/registry/row_id.hpp>
#include <rankd/store/read_hedge.hpp>
#include <rankd/store/record.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rankd {

/// The keys of a batch, one for each id, in order. Each key is `prefix` followed by the decimal id: `{"user:", {7, 9}}`
/// means `user:7` and `user:9`.
struct key_batch {
  static constexpr std::size_t max_prefix = 256;

  std::string_view prefix;  ///< at most max_prefix bytes
  std::span<const std::int64_t> ids;
  read_hedge hedge = {};
};

/// The value of one field for each hash, in the order of the keys. A value is not set if the hash or the field is
/// absent.
using field_batch = std::span<const std::optional<std::string_view>>;

/// All fields of each hash, in the order of the keys. The fields of a hash are sorted by name. An absent hash has no
/// fields.
using hash_batch = std::span<const std::span<const hash_field>>;

/// The ids of each list, in the order of the keys. An absent list has no ids.
struct id_batch {
  std::span<const std::span<const std::int64_t>> lists;
  std::uint64_t malformed = 0;  ///< elements that are not decimal 64-bit integers and were left out
  /// The number of malformed elements in each list. Empty if the store does not count them by list.
  std::span<const std::uint32_t> malformed_of = {};
};

/// Parses an element or member of a store as an id: decimal digits with an optional minus sign, within the range of
/// int64. Each id has exactly one spelling, because stores compare members as text: `07` and `-0` are not ids.
auto parse_element(std::string_view text) noexcept -> std::optional<std::int64_t>;

/// Parses an id in a text of a request. The text may begin with zeros.
auto parse_id(std::string_view text) noexcept -> std::optional<std::int64_t>;

/// Parses an id of the given type. Returns nothing if the text is not such an id.
auto parse_id(std::string_view text, value_type type) -> std::optional<row_id>;

}  // namespace rankd
