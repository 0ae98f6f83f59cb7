// rankd/store/named_read.hpp: a read of the values under many named keys at once, and its answer.
#pragma once

#include <rankd/store/read_hedge.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace rankd {

/// The part of a key's value that is read.
enum class read_kind : std::uint8_t {
  list,        ///< elements of a list, from the first one on
  sorted_set,  ///< members of a sorted set with their scores, ordered by score
  set,         ///< members of a set, in ascending order of their ids
  fields,      ///< named fields of a hash
  members,     ///< whether the given texts are members of a set
  scores,      ///< the scores of the given texts in a sorted set
  strings,     ///< the text of a string; a value of another kind counts as absent, as for MGET of Redis
};

/// The form in which elements and members are read. It determines which elements count as malformed, and the order of a
/// set.
enum class id_form : std::uint8_t {
  integers,  ///< 64-bit integers
  texts,     ///< texts for which `is_text_id` is true, in the order of their bytes
};

enum class score_order : std::uint8_t { ascending, descending };

/// A range of scores that includes both ends.
struct score_range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// An element, a member, or the result for one requested field or key.
struct stored_item {
  bool is_there = false;
  std::int64_t id = 0;    ///< the id, if an element or member is read as an integer
  double score = 0;       ///< the score of a member of a sorted set; may be infinite
  std::string_view text;  ///< the text of a field or string, or of an element or member that is read as a text
};

/// The values of each key, in order. For lists and sets, these are the elements or members that are valid ids. An
/// absent key has no items. A read of fields or members returns one item for each requested field or member. A read of
/// strings returns one item for each key.
struct item_batch {
  std::span<const std::span<const stored_item>> of_key;
  std::uint64_t malformed = 0;  ///< elements and members that are not ids and were left out
  /// The number of malformed elements and members for each key. Empty if the store does not count them by key.
  std::span<const std::uint32_t> malformed_of = {};
};

/// Reads values under named keys. Keys have 1 to `max_key` bytes.
struct named_read {
  using answer = item_batch;
  static constexpr std::size_t max_key = 511;

  read_kind kind = read_kind::list;
  std::span<const std::string_view> keys;
  std::uint32_t offset = 0;  ///< for a list or sorted set: the number of elements to skip
  std::uint32_t count = 0;   ///< for a list, set or sorted set: the maximum number of elements
  score_order order = score_order::ascending;
  id_form ids = id_form::integers;                ///< for a list, set or sorted set
  std::optional<score_range> range = {};          ///< for a sorted set: only members whose score is in the range
  std::span<const std::string_view> fields = {};  ///< for `fields`: the fields to read for each key, at least one
  /// The texts of the members to read for each key. Used by the kinds `members` and `scores`.
  std::span<const std::span<const std::string_view>> members = {};
  read_hedge hedge = {};
};

}  // namespace rankd
