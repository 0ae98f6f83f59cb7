// rankd/store/detail/ids.hpp: converts elements and members to ids, and orders the members of a set in the same way for
// all stores.
#pragma once

#include <rankd/registry/row_id.hpp>
#include <rankd/store/id_batch.hpp>
#include <rankd/store/named_read.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace rankd::detail {

/// Parses an element or member as an id. Returns nothing if it is not an id. Lifetime: a text id refers to `text`.
inline auto parse_item(std::string_view text, id_form form) -> std::optional<stored_item> {
  if (form == id_form::texts)
    return is_text_id(text) ? std::optional(stored_item{.is_there = true, .text = text}) : std::nullopt;
  const auto id = parse_element(text);
  return id ? std::optional(stored_item{.is_there = true, .id = *id, .text = {}}) : std::nullopt;
}

/// Returns members in ascending order of their ids. Returns at most as many members as the read requests.
inline auto first_by_id(std::span<stored_item> members, const named_read& read) -> std::span<const stored_item> {
  const std::size_t kept = std::min<std::size_t>(read.count, members.size());
  const auto end = members.begin() + static_cast<std::ptrdiff_t>(kept);
  if (read.ids == id_form::texts)
    std::ranges::partial_sort(members, end, {}, &stored_item::text);
  else
    std::ranges::partial_sort(members, end, {}, &stored_item::id);
  return members.first(kept);
}

}  // namespace rankd::detail
