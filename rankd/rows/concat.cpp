// rankd/rows/concat.cpp: concatenates row sets column by column.
#include <rankd/rows/concat.hpp>

#include <braid/base/config.hpp>
#include <rankd/registry/registries.hpp>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <optional>
#include <vector>

namespace rankd {
namespace {

/// One of the row sets to join. `first` is the position of the set's first row in the result. `source` is the set's
/// column for the current key.
struct side {
  const row_set* rows = nullptr;
  std::size_t first = 0;
  std::optional<column> source{};

  [[nodiscard]] auto strings() const -> const string_values* { return source ? source->strings() : nullptr; }
};

/// Copies the values of the active rows of `from` to the result. Writes zeros if `from` lacks the column.
template <typename T>
void copy_values(const side& from, const std::optional<std::span<const T>>& values, std::span<T> to) {
  T* next = to.data() + from.first;
  if (!values) {
    std::fill_n(next, from.rows->size(), T{});
  } else if (from.rows->is_prefix()) {
    std::copy_n(values->data(), from.rows->size(), next);
  } else {
    for (const std::uint32_t row : from.rows->order()) *next++ = (*values)[row];
  }
}

/// Sets a bit for each active row of `from` that has a value.
void mark_valid(const side& from, std::uint64_t* words) {
  if (!from.source) return;
  std::size_t at = from.first;
  from.rows->for_each_row([&](std::uint32_t row) {
    if (!from.source->is_null(row)) set_bit(words, at);
    ++at;
  });
}

/// Joins the columns of all row sets, one key after another.
class joiner {
 public:
  joiner(std::span<const row_set> sets, braid::arena& memory)
      : sides_(memory.filled(sets.size(), side{})), memory_(memory) {
    for (std::size_t at = 0; at < sets.size(); ++at) {
      sides_[at] = {.rows = &sets[at], .first = size_};
      size_ += sets[at].size();
    }
    BRAID_EXPECTS(size_ <= batch::max_rows, "a batch may have at most 2^32 - 1 rows");
  }

  auto run() -> batch {
    const std::pmr::vector<std::uint32_t> keys = all_keys();
    const std::span<keyed_column> columns = memory_.filled(keys.size(), keyed_column{});
    std::ranges::transform(keys, columns.begin(), [this](std::uint32_t key) { return keyed_column{key, joined(key)}; });
    const auto has_texts = [](const side& each) { return each.rows->table().text_ids().has_value(); };
    if (std::ranges::any_of(sides_, has_texts)) return batch(text_ids(), columns);
    const auto ids = plain<std::int64_t>([](const side& each) { return std::optional(each.rows->table().ids()); });
    return batch(ids, columns);
  }

 private:
  /// Returns the keys of all row sets in ascending order, without duplicates.
  auto all_keys() -> std::pmr::vector<std::uint32_t> {
    std::pmr::vector<std::uint32_t> keys(&memory_);
    for (const side& each : sides_)
      for (const keyed_column& owned : each.rows->table().columns()) keys.push_back(owned.key_id);
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
  }

  auto text_ids() -> string_values {
    for (side& each : sides_) {
      each.source = each.rows->table().find(registries::id_key);
      BRAID_EXPECTS(each.strings() != nullptr || each.rows->empty(), "ids must have the same type on all sides");
    }
    return strings();
  }

  auto joined(std::uint32_t key) -> column {
    const column* known = nullptr;
    for (side& each : sides_) {
      each.source = each.rows->table().find(key);
      if (!each.source) continue;
      BRAID_EXPECTS(known == nullptr || known->values.index() == each.source->values.index(),
                    "a key must have the same type on all sides of a concat");
      if (known == nullptr) known = &*each.source;
    }
    column result{.values = {}, .validity = validity()};
    if (known->strings() != nullptr)
      result.values = strings();
    else if (known->booleans() != nullptr)
      result.values = make_plain<bool>();
    else if (known->integers() != nullptr)
      result.values = make_plain<std::int64_t>();
    else
      result.values = make_plain<double>();
    return result;
  }

  /// Returns the joined values of all row sets. `list_values(side)` returns the values of one row set if this set has
  /// the column.
  template <typename T, typename Values>
  auto plain(Values&& list_values) -> std::span<T> {
    const std::span<T> values = memory_.uninitialized<T>(size_);
    for (const side& each : sides_) copy_values<T>(each, list_values(each), values);
    return values;
  }

  template <typename T>
  auto make_plain() -> std::span<const T> {
    return plain<T>([](const side& each) {
      return each.source ? std::optional(std::get<std::span<const T>>(each.source->values)) : std::nullopt;
    });
  }

  auto validity() -> bitmap {
    const auto is_full = [](const side& each) { return each.source && each.source->validity.all_set(); };
    if (std::ranges::all_of(sides_, is_full)) return {};
    const std::span<std::uint64_t> words = memory_.filled(words_for(size_), std::uint64_t{0});
    for (const side& each : sides_) mark_valid(each, words.data());
    return bitmap(words.data());
  }

  auto strings() -> string_values {
    const std::span<std::uint32_t> codes = plain<std::uint32_t>([](const side& each) {
      const string_values* text = each.strings();
      return text != nullptr ? std::optional(text->codes) : std::nullopt;
    });
    const dictionary* words = nullptr;
    std::uint32_t dimensions = 0;
    bool is_shared = true;
    for (const side& each : sides_) {
      if (each.strings() == nullptr) continue;
      is_shared = is_shared && (words == nullptr || words == each.strings()->words);
      words = each.strings()->words;
      dimensions = each.strings()->dimensions;
    }
    return {codes, is_shared ? words : unify(codes), dimensions};
  }

  /// Builds one dictionary for the strings of all row sets, and replaces the codes of the strings by codes of this
  /// dictionary.
  auto unify(std::span<std::uint32_t> codes) -> const dictionary* {
    dictionary_builder words(memory_);
    for (const side& each : sides_) {
      if (each.strings() == nullptr) continue;
      const std::span<const std::string_view> entries = each.strings()->words->entries();
      const std::span<std::uint32_t> moved = memory_.uninitialized<std::uint32_t>(entries.size());
      std::ranges::transform(entries, moved.begin(),
                             [&words](std::string_view entry) { return words.intern_shared(entry); });
      if (moved.empty()) continue;
      const std::span<std::uint32_t> own = codes.subspan(each.first, each.rows->size());
      std::ranges::transform(own, own.begin(), [moved](std::uint32_t code) { return moved[code]; });
    }
    return words.finish();
  }

  std::span<side> sides_;
  std::size_t size_ = 0;
  braid::arena& memory_;
};

}  // namespace

auto concat(std::span<const row_set> sets, braid::arena& memory) -> row_set {
  return row_set(joiner(sets, memory).run());
}

auto concat(const row_set& left, const row_set& right, braid::arena& memory) -> row_set {
  return concat(std::array{left, right}, memory);
}

}  // namespace rankd
