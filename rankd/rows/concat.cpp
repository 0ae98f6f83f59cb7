// rankd/rows/concat.cpp: joins columns end to end.
#include <rankd/rows/concat.hpp>

#include <braid/base/assert.hpp>

#include <algorithm>
#include <memory_resource>
#include <optional>
#include <vector>

namespace rankd {
namespace {

/// One of the two operands, and where its rows begin in the result.
struct side {
  const row_set& rows;
  std::size_t first;
};

/// Writes the values of the active rows of `from` to where they belong; zeros where it has no such column.
template <typename T>
void copy_values(const side& from, const std::optional<std::span<const T>>& values, std::span<T> to) {
  T* next = to.data() + from.first;
  if (!values) {
    std::fill_n(next, from.rows.size(), T{});
  } else if (from.rows.is_prefix()) {
    std::copy_n(values->data(), from.rows.size(), next);
  } else {
    for (const std::uint32_t row : from.rows.order()) *next++ = (*values)[row];
  }
}

/// Sets the bits of the active rows of `from` that are not null.
void mark_valid(const side& from, const std::optional<column>& source, std::uint64_t* words) {
  if (!source) return;
  std::size_t at = from.first;
  from.rows.for_each_row([&](std::uint32_t row) {
    if (!source->is_null(row)) set_bit(words, at);
    ++at;
  });
}

/// The two operands as they are joined.
class joiner {
 public:
  joiner(const row_set& left, const row_set& right, braid::arena& memory)
      : left_{left, 0}, right_{right, left.size()}, size_(left.size() + right.size()), memory_(memory) {
    BRAID_EXPECTS(size_ <= batch::max_rows, "a batch has at most 2^32 - 1 rows");
  }

  auto run() -> batch {
    const std::pmr::vector<std::uint32_t> keys = all_keys();
    const std::span<keyed_column> columns = memory_.filled(keys.size(), keyed_column{});
    std::ranges::transform(keys, columns.begin(), [this](std::uint32_t key) { return keyed_column{key, joined(key)}; });
    return batch(plain<std::int64_t>(left_.rows.table().ids(), right_.rows.table().ids()), columns);
  }

 private:
  /// The keys of both, ascending.
  auto all_keys() -> std::pmr::vector<std::uint32_t> {
    std::pmr::vector<std::uint32_t> keys(&memory_);
    for (const side* each : {&left_, &right_})
      for (const keyed_column& owned : each->rows.table().columns()) keys.push_back(owned.key_id);
    std::ranges::sort(keys);
    keys.erase(std::ranges::unique(keys).begin(), keys.end());
    return keys;
  }

  auto joined(std::uint32_t key) -> column {
    const std::optional<column> left = left_.rows.table().find(key);
    const std::optional<column> right = right_.rows.table().find(key);
    BRAID_EXPECTS(!left || !right || left->values.index() == right->values.index(),
                  "a key must have the same type on both sides of a concat");
    const column& known = left ? *left : *right;
    column result{.values = {}, .validity = validity(left, right)};
    if (known.strings() != nullptr)
      result.values = strings(left, right);
    else if (known.booleans() != nullptr)
      result.values = plain_of<bool>(left, right);
    else if (known.integers() != nullptr)
      result.values = plain_of<std::int64_t>(left, right);
    else
      result.values = plain_of<double>(left, right);
    return result;
  }

  template <typename T>
  auto plain(std::optional<std::span<const T>> left, std::optional<std::span<const T>> right) -> std::span<const T> {
    const std::span<T> values = memory_.uninitialized<T>(size_);
    copy_values(left_, left, values);
    copy_values(right_, right, values);
    return values;
  }

  template <typename T>
  auto plain_of(const std::optional<column>& left, const std::optional<column>& right) -> std::span<const T> {
    const auto values = [](const std::optional<column>& source) {
      return source ? std::optional(std::get<std::span<const T>>(source->values)) : std::nullopt;
    };
    return plain<T>(values(left), values(right));
  }

  auto validity(const std::optional<column>& left, const std::optional<column>& right) -> bitmap {
    if (left && right && left->validity.all_set() && right->validity.all_set()) return {};
    const std::span<std::uint64_t> words = memory_.filled(words_for(size_), std::uint64_t{0});
    mark_valid(left_, left, words.data());
    mark_valid(right_, right, words.data());
    return bitmap(words.data());
  }

  auto strings(const std::optional<column>& left, const std::optional<column>& right) -> string_values {
    const string_values* from_left = left ? left->strings() : nullptr;
    const string_values* from_right = right ? right->strings() : nullptr;
    const auto codes = [](const string_values* from) {
      return from != nullptr ? std::optional(from->codes) : std::nullopt;
    };
    const std::span<std::uint32_t> all = memory_.uninitialized<std::uint32_t>(size_);
    copy_values<std::uint32_t>(left_, codes(from_left), all);
    copy_values<std::uint32_t>(right_, codes(from_right), all);
    if (from_left == nullptr) return {all, from_right->words};
    if (from_right == nullptr || from_right->words == from_left->words) return {all, from_left->words};
    return {all, unify(*from_left->words, *from_right->words, all.subspan(right_.first))};
  }

  /// One dictionary of both; `codes` are of `right` and become codes of the result.
  auto unify(const dictionary& left, const dictionary& right, std::span<std::uint32_t> codes) -> const dictionary* {
    dictionary_builder words(memory_);
    for (const std::string_view entry : left.entries()) words.intern_shared(entry);
    const std::span<std::uint32_t> moved = memory_.uninitialized<std::uint32_t>(right.size());
    std::ranges::transform(right.entries(), moved.begin(),
                           [&words](std::string_view entry) { return words.intern_shared(entry); });
    if (!moved.empty())
      std::ranges::transform(codes, codes.begin(), [moved](std::uint32_t code) { return moved[code]; });
    return words.finish();
  }

  side left_;
  side right_;
  std::size_t size_;
  braid::arena& memory_;
};

}  // namespace

auto concat(const row_set& left, const row_set& right, braid::arena& memory) -> row_set {
  return row_set(joiner(left, right, memory).run());
}

}  // namespace rankd
