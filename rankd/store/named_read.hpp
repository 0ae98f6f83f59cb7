// rankd/store/named_read.hpp: a read of values whose keys have names of their own, many at once, and its answer.
#pragma once

#include <rankd/store/read_hedge.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace rankd {

/// What is read of each key.
enum class read_kind : std::uint8_t {
  list,        ///< elements, from the first on
  sorted_set,  ///< members with their scores, by score
  set,         ///< members, in ascending order of their ids
  fields,      ///< named fields of a hash
  members,     ///< whether some texts are members of a set
  scores,      ///< the scores that some texts have in a sorted set
  strings,     ///< the text of a string; a key with another kind of value counts as absent, as for MGET of Redis
};

/// What elements and members are read as, which decides which of them are malformed, and the order of a set.
enum class id_form : std::uint8_t {
  integers,  ///< those of 64 bits
  texts,     ///< those of `is_text_id`, in the order of their bytes
};

enum class score_order : std::uint8_t { ascending, descending };

/// Both ends included.
struct score_range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

/// An element, a member, or what is known of one text that was asked for.
struct stored_item {
  bool is_there = false;
  std::int64_t id = 0;    ///< of an element or member that is read as an integer
  double score = 0;       ///< of a member of a sorted set; may be infinite
  std::string_view text;  ///< of a field or string, or of an element or member that is read as a text
};

/// For each key, in order, what was found: the elements or members that are ids, nothing where the key is absent; or
/// one item for each field or member that was asked for, and of strings one item for each key.
struct item_batch {
  std::span<const std::span<const stored_item>> of_key;
  std::uint64_t malformed = 0;  ///< elements and members that are no ids and were left out
};

/// Reads values under keys that have names of their own. Keys have 1 to `max_key` bytes.
struct named_read {
  using answer = item_batch;
  static constexpr std::size_t max_key = 511;

  read_kind kind = read_kind::list;
  std::span<const std::string_view> keys;
  std::uint32_t offset = 0;  ///< of a list or sorted set: so many are passed over
  std::uint32_t count = 0;   ///< of a list, set or sorted set: at most so many
  score_order order = score_order::ascending;
  id_form ids = id_form::integers;                                  ///< of a list, set or sorted set
  std::optional<score_range> range = {};                            ///< of a sorted set: those whose scores lie in it
  std::span<const std::string_view> fields = {};                    ///< what `fields` reads of each key, at least one
  std::span<const std::span<const std::string_view>> members = {};  ///< of `members` and `scores`: for each key
  read_hedge hedge = {};
};

}  // namespace rankd
