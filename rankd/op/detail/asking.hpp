// rankd/op/detail/asking.hpp: shared code of operators that read a store: it requests each id once, and reports errors.
#pragma once

#include <rankd/op/operator.hpp>

#include <braid/base/arena.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace rankd::detail {

inline constexpr std::array<std::string_view, 2> store_kinds{"embedded", "redis"};
inline constexpr param_shape store_endpoint{
    .name = "endpoint", .kind = param_kind::endpoint_ref, .choices = store_kinds};

/// The maximum number of rows that a plan may request from one source.
inline constexpr std::int64_t max_rows_of_a_source = 10'000'000;

inline auto store_failed(const store& store, const store_error& error) -> std::unexpected<op_error> {
  store_failure failure = store.explain(error);
  return std::unexpected(op_error{std::move(failure.code), std::move(failure.message)});
}

inline auto no_store() -> std::unexpected<op_error> {
  return std::unexpected(op_error{"store_not_open", "the store of the endpoint is not open"});
}

/// Returns a task that ends a node with this result before the node has sent any request.
inline auto ended(op_result<row_set> result) -> braid::task<op_result<row_set>> { co_return result; }

/// Returns the distinct ids in ascending order. So the batch that is sent to the store stays small even if the same
/// users are in many rows or lists. Replies are found by binary search.
inline auto distinct_ids(std::span<const std::int64_t> ids, braid::arena& memory) -> std::span<const std::int64_t> {
  const std::span<std::int64_t> sorted = memory.copied(ids);
  std::ranges::sort(sorted);
  const auto repeats = std::ranges::unique(sorted);
  return sorted.first(sorted.size() - repeats.size());
}

/// Returns the position of an id in the list of distinct ids. Requires that the list contains the id.
inline auto find_id(std::int64_t id, std::span<const std::int64_t> among) -> std::size_t {
  return static_cast<std::size_t>(std::ranges::lower_bound(among, id) - among.begin());
}

}  // namespace rankd::detail
