// rankd/store/detail/by_id.hpp: the order in which all stores give the members of a set, which has none itself.
#pragma once

#include <rankd/store/named_read.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace rankd::detail {

/// Members in ascending order of their ids, at most `count` of them.
inline auto first_by_id(std::span<stored_item> members, std::size_t count) -> std::span<const stored_item> {
  const std::size_t kept = std::min(count, members.size());
  std::ranges::partial_sort(members, members.begin() + static_cast<std::ptrdiff_t>(kept), {}, &stored_item::id);
  return members.first(kept);
}

}  // namespace rankd::detail
