// rankd/rows/equal_rows.cpp: finds equal values by mapping values of every type to unsigned integers.
#include <rankd/rows/equal_rows.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <optional>

namespace rankd {
namespace {

auto word_of(std::int64_t value) -> std::uint64_t { return std::bit_cast<std::uint64_t>(value); }
auto word_of(double value) -> std::uint64_t { return std::bit_cast<std::uint64_t>(value + 0.0); }  // -0 becomes 0
auto word_of(bool value) -> std::uint64_t { return value ? 1 : 0; }

/// Calls `use(word)` with a function `word(row)`. The results of `word` are equal for two rows if and only if the rows
/// have equal values. `codes` translates the codes of strings, and is empty if no translation is needed.
template <typename Use>
void with_words(const column& values, std::span<const std::uint32_t> codes, Use&& use) {
  if (const auto* floats = values.floats()) {
    use([all = *floats](std::uint32_t row) { return word_of(all[row]); });
  } else if (const auto* integers = values.integers()) {
    use([all = *integers](std::uint32_t row) { return word_of(all[row]); });
  } else if (const auto* booleans = values.booleans()) {
    use([all = *booleans](std::uint32_t row) { return word_of(all[row]); });
  } else if (codes.empty()) {
    use([all = values.strings()->codes](std::uint32_t row) { return std::uint64_t{all[row]}; });
  } else {
    use([all = values.strings()->codes, codes](std::uint32_t row) { return std::uint64_t{codes[all[row]]}; });
  }
}

/// A hash table that stores a number for each word.
class word_table {
 public:
  static constexpr std::uint32_t nothing = no_partner;

  word_table(std::size_t max_words, braid::arena& memory)
      : slots_(memory.filled(std::bit_ceil(2 * max_words + 1), slot{})) {}

  /// Returns a reference to the number that is stored for a word. If the word is new, the number is `nothing`, and the
  /// caller may set it.
  auto operator[](std::uint64_t word) -> std::uint32_t& {
    slot& place = find(word);
    place.word = word;
    return place.number;
  }

  [[nodiscard]] auto look_up(std::uint64_t word) -> std::uint32_t { return find(word).number; }

 private:
  struct slot {
    std::uint64_t word = 0;
    std::uint32_t number = nothing;  // of a slot that is free
  };

  auto find(std::uint64_t word) -> slot& {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = mixed(word) & mask;; at = (at + 1) & mask)
      if (slots_[at].number == nothing || slots_[at].word == word) return slots_[at];
  }

  /// Returns the hash of a word. Every bit of the word affects the whole hash, because ids are often consecutive and
  /// floats often end in zero bits.
  /// Source: Stafford's variant 13.
  static auto mixed(std::uint64_t word) -> std::uint64_t {
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return word ^ (word >> 31U);
  }

  std::span<slot> slots_;
};

/// Calls `use(is_higher)` with a function `is_higher(a, b)` that returns whether row `a` has a higher score than row
/// `b`.
template <typename Use>
void with_scores(const std::optional<column>& scores, Use&& use) {
  const auto above = [&scores](auto values) {
    return [&scores, values](std::uint32_t a, std::uint32_t b) {
      if (scores->is_null(a) || scores->is_null(b)) return !scores->is_null(a) && scores->is_null(b);
      return values[a] > values[b];
    };
  };
  if (!scores) return use([](std::uint32_t, std::uint32_t) { return false; });
  if (const auto* integers = scores->integers()) return use(above(*integers));
  BRAID_EXPECTS(scores->floats() != nullptr, "`highest` needs a key of numbers");
  use(above(*scores->floats()));
}

/// Sets a bit for the position of each row that is kept. `replaces(a, b)` returns whether the later row `a` is kept
/// instead of row `b`.
template <typename Word, typename Replaces>
void mark_survivors(const row_set& rows, bitmap validity, Word&& word, Replaces&& replaces,
                    std::span<std::uint64_t> stays, braid::arena& memory) {
  word_table known(rows.size(), memory);
  for (std::uint32_t position = 0; position < rows.size(); ++position) {
    const std::uint32_t row = rows.row(position);
    if (validity[row]) {
      std::uint32_t& before = known[word(row)];
      if (before != word_table::nothing) {
        if (!replaces(row, rows.row(before))) continue;
        clear_bit(stays.data(), before);
      }
      before = position;
    }
    set_bit(stays.data(), position);
  }
}

/// Returns a code for each entry of the dictionary of `right`: the entry's code in the dictionary of `left`, or a new
/// code.
auto codes_among(const string_values& left, const string_values& right, braid::arena& memory)
    -> std::span<const std::uint32_t> {
  if (left.words == right.words) return {};
  dictionary_builder all(memory);
  for (const std::string_view entry : left.words->entries()) static_cast<void>(all.intern_shared(entry));
  const std::span<const std::string_view> entries = right.words->entries();
  const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(entries.size());
  std::ranges::transform(entries, codes.begin(), [&all](std::string_view entry) { return all.intern_shared(entry); });
  return codes;
}

}  // namespace

auto distinct(const row_set& rows, const distinct_options& options, braid::arena& memory) -> row_set {
  const std::optional<column> by = rows.table().find(options.key_id);
  if (!by) return rows;
  const std::span<std::uint64_t> stays = memory.filled(words_for(rows.size()), std::uint64_t{0});
  with_words(*by, {}, [&](auto word) {
    const auto mark = [&](auto replaces) { mark_survivors(rows, by->validity, word, replaces, stays, memory); };
    if (options.stays == survivor::first)
      mark([](std::uint32_t, std::uint32_t) { return false; });
    else if (options.stays == survivor::last)
      mark([](std::uint32_t, std::uint32_t) { return true; });
    else
      with_scores(rows.table().find(options.score_key), mark);
  });
  return rows.select(bitmap(stays.data()), memory);
}

auto number_values(const row_set& rows, std::uint32_t key_id, braid::arena& memory) -> numbered_values {
  const std::span<std::uint32_t> numbers = memory.filled(rows.size(), no_value);
  const std::optional<column> by = rows.table().find(key_id);
  if (!by) return {.numbers = numbers, .count = 0};
  std::uint32_t count = 0;
  word_table known(rows.size(), memory);
  with_words(*by, {}, [&](auto word) {
    for (std::size_t position = 0; position < rows.size(); ++position) {
      const std::uint32_t row = rows.row(position);
      if (by->is_null(row)) continue;
      std::uint32_t& number = known[word(row)];
      if (number == word_table::nothing) number = count++;
      numbers[position] = number;
    }
  });
  return {.numbers = numbers, .count = count};
}

auto find_partners(const row_set& left, const row_set& right, std::uint32_t key_id, braid::arena& memory)
    -> std::expected<std::span<const std::uint32_t>, repeated_value> {
  const std::span<std::uint32_t> partners = memory.filled(left.size(), no_partner);
  const std::optional<column> wanted = left.table().find(key_id);
  const std::optional<column> offered = right.table().find(key_id);
  std::span<const std::uint32_t> codes;
  if (wanted && offered) {
    BRAID_EXPECTS(wanted->values.index() == offered->values.index(), "a key must have the same type on both sides");
    if (wanted->strings() != nullptr) codes = codes_among(*wanted->strings(), *offered->strings(), memory);
  }
  std::optional<repeated_value> repeated;
  word_table known(offered ? right.size() : 0, memory);
  if (offered) {
    with_words(*offered, codes, [&](auto word) {
      right.for_each_row([&](std::uint32_t row) {
        if (repeated || offered->is_null(row)) return;
        std::uint32_t& owner = known[word(row)];
        if (owner == word_table::nothing)
          owner = row;
        else
          repeated = repeated_value{row};
      });
    });
  }
  if (repeated) return std::unexpected(*repeated);
  if (!wanted || !offered) return partners;
  with_words(*wanted, {}, [&](auto word) {
    for (std::size_t position = 0; position < left.size(); ++position) {
      const std::uint32_t row = left.row(position);
      if (!wanted->is_null(row)) partners[position] = known.look_up(word(row));
    }
  });
  return partners;
}

}  // namespace rankd
