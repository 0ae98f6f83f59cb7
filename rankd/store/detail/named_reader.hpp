// rankd/store/detail/named_reader.hpp: reads values under named keys from records in memory.
#pragma once

#include <rankd/store/detail/ids.hpp>
#include <rankd/store/named_read.hpp>
#include <rankd/store/record.hpp>

#include <braid/base/arena.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Returns whether a record has the kind that a read needs.
inline auto suits(record_kind record, read_kind kind) -> bool {
  switch (kind) {
    case read_kind::list: return record == record_kind::id_list || record == record_kind::text_list;
    case read_kind::sorted_set:
    case read_kind::scores: return record == record_kind::sorted_set;
    case read_kind::set:
    case read_kind::members: return record == record_kind::set;
    case read_kind::strings: return record == record_kind::string;
    case read_kind::fields: break;
  }
  return record == record_kind::hash;
}

/// A range of positions in a record, from `first` up to but not including `end`.
struct stretch {
  std::size_t first = 0;
  std::size_t end = 0;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return end - first; }
};

/// Returns the positions of the members of a sorted set whose scores are in `range`.
template <typename Record>
auto find_stretch(const Record& set, const std::optional<score_range>& range) -> stretch {
  if (!range) return {0, set.count()};
  const auto positions = std::views::iota(std::size_t{0}, set.count());
  const auto score_at = [&](std::size_t index) { return set.score_at(index); };
  const auto first = std::ranges::lower_bound(positions, range->min, {}, score_at);
  const auto end = std::ranges::upper_bound(positions, range->max, {}, score_at);
  const auto begin = static_cast<std::size_t>(first - positions.begin());
  return {begin, std::max(begin, static_cast<std::size_t>(end - positions.begin()))};
}

/// Skips the first `offset` positions in the direction of the read, and keeps at most `count` positions.
inline auto cut(stretch all, const named_read& read) -> stretch {
  const std::size_t passed = std::min<std::size_t>(read.offset, all.size());
  const std::size_t taken = std::min<std::size_t>(read.count, all.size() - passed);
  if (read.order == score_order::descending) return {all.end - passed - taken, all.end - passed};
  return {all.first + passed, all.first + passed + taken};
}

/// Answers one key after another from records of an embedded store, or from values with the same functions for reading.
template <typename Record>
class named_reader {
 public:
  using items = std::span<const stored_item>;

  named_reader(const named_read& read, braid::arena& arena) : read_(&read), arena_(&arena) {}

  auto read(const Record* record, std::size_t key) -> items {
    switch (read_->kind) {
      case read_kind::fields: return list_fields(record);
      case read_kind::strings: return text_of(record);
      case read_kind::members:
      case read_kind::scores: return find_known(record, read_->members[key]);
      default: break;
    }
    if (record == nullptr) return {};
    if (read_->kind == read_kind::sorted_set) return ranked(*record, cut(find_stretch(*record, read_->range), *read_));
    if (read_->kind == read_kind::set) return first_by_id(ranked(*record, {0, record->count()}), *read_);
    return ranked(*record, cut({0, record->count()}, *read_));
  }

  [[nodiscard]] auto malformed() const noexcept -> std::uint64_t { return malformed_; }

 private:
  /// Returns the ids in a range, in the requested order.
  auto ranked(const Record& record, stretch positions) -> std::span<stored_item> {
    const std::span<stored_item> out = arena_->uninitialized<stored_item>(positions.size());
    std::size_t used = 0;
    for (std::size_t at = positions.first; at < positions.end; ++at) {
      const std::size_t from = read_->order == score_order::descending ? positions.first + positions.end - 1 - at : at;
      const auto item = item_at(record, from);
      if (!item) continue;
      out[used] = *item;
      if (record.kind() == record_kind::sorted_set) out[used].score = record.score_at(from);
      ++used;
    }
    malformed_ += out.size() - used;
    return out.first(used);
  }

  [[nodiscard]] auto item_at(const Record& record, std::size_t index) const -> std::optional<stored_item> {
    if constexpr (requires { record.id_at(index); })
      if (record.kind() == record_kind::id_list) return number_item(record.id_at(index));
    auto item = parse_item(record.text_at(index), read_->ids);
    if (item) item->text = arena_->copied(item->text);
    return item;
  }

  [[nodiscard]] auto number_item(std::int64_t id) const -> stored_item {
    if (read_->ids == id_form::integers) return {.is_there = true, .id = id, .text = {}};
    return {.is_there = true, .text = arena_->copied(std::string_view(std::to_string(id)))};
  }

  [[nodiscard]] auto list_fields(const Record* record) const -> items {
    const std::span<stored_item> out = arena_->filled(read_->fields.size(), stored_item());
    for (std::size_t at = 0; record != nullptr && at < out.size(); ++at)
      if (const auto value = record->field(read_->fields[at]))
        out[at] = {.is_there = true, .text = arena_->copied(*value)};
    return out;
  }

  [[nodiscard]] auto text_of(const Record* record) const -> items {
    const std::span<stored_item> out = arena_->filled(1, stored_item());
    if (record != nullptr && record->kind() == record_kind::string)
      out[0] = {.is_there = true, .text = arena_->copied(record->text_at(0))};
    return out;
  }

  [[nodiscard]] auto find_known(const Record* record, std::span<const std::string_view> members) const -> items {
    const std::span<stored_item> out = arena_->filled(members.size(), stored_item());
    for (std::size_t at = 0; record != nullptr && at < out.size(); ++at) {
      const auto place = record->find_member(members[at]);
      if (!place) continue;
      out[at].is_there = true;
      if (read_->kind == read_kind::scores) out[at].score = record->score_at(*place);
    }
    return out;
  }

  const named_read* read_;
  braid::arena* arena_;
  std::uint64_t malformed_ = 0;
};

}  // namespace rankd::detail
