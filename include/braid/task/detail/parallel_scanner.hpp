// braid/task/detail/parallel_scanner.hpp: totals of blocks, then the running totals within each.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid::detail {

/// Joins a value to a total that may have no value yet.
template <typename T, typename Combine, typename Value>
void join_to(std::optional<T>& total, Combine& combine, Value&& value) {
  if (total)
    total.emplace(T(std::invoke(combine, *std::move(total), std::forward<Value>(value))));
  else
    total.emplace(std::forward<Value>(value));
}

/// One pass over the elements from `first`: each is replaced by what was before it, or with it, from `total` on.
enum class scan_kind : unsigned char { inclusive, exclusive };

template <scan_kind Kind, typename T, typename Iterator, typename Out, typename Combine>
void scan_block(std::optional<T>& total, Iterator first, Iterator last, Out out, Combine& combine) {
  for (; first != last; ++first, ++out) {
    if constexpr (Kind == scan_kind::inclusive) {
      join_to(total, combine, *first);
      *out = *total;
    } else {
      auto before = *total;
      join_to(total, combine, *first);
      *out = std::move(before);
    }
  }
}

/// The total, with `init` where there is one.
template <scan_kind Kind, typename T, typename Stop, typename Range, typename Out, typename Combine>
auto scan_as(const Stop& stop, std::optional<T> init, Range& range, Out out, Combine& combine, parallel_options how)
    -> unless_stopped<Stop, std::optional<T>> {
  constexpr std::size_t usual_grain = 4096;
  constexpr std::size_t max_blocks = 256;
  const auto first = std::ranges::begin(range);
  const std::size_t count = std::ranges::size(range);
  const std::size_t grain = how.grain != 0 ? how.grain : std::max(usual_grain, (count + max_blocks - 1) / max_blocks);
  const std::size_t blocks = (count + grain - 1) / grain;
  const auto at_block = [&](auto from, std::size_t block) {
    return from + static_cast<std::iter_difference_t<decltype(from)>>(std::min(block * grain, count));
  };

  // totals[i]: of block i, and then of everything before it.
  std::vector<std::optional<T>> totals(blocks);
  const auto sum_up = [&](std::size_t from, std::size_t to) {
    for (std::size_t block = from; block != to; ++block)
      for (auto each = at_block(first, block); each != at_block(first, block + 1); ++each)
        join_to(totals[block], combine, *each);
  };
  const auto write = [&](std::size_t from, std::size_t to) {
    for (std::size_t block = from; block != to; ++block)
      scan_block<Kind>(totals[block], at_block(first, block), at_block(first, block + 1), at_block(out, block),
                       combine);
  };
  const auto run = [&](const auto& work, std::size_t upto) -> std::optional<errc> {
    if constexpr (std::is_same_v<Stop, never_stopped>) {
      for_chunks(upto, 1, stop, work);
      return std::nullopt;
    } else {
      const result<void> done = for_chunks(upto, 1, stop, work);
      return done ? std::nullopt : stop.reason();
    }
  };

  std::optional<errc> stopped = run(sum_up, blocks > 1 ? blocks - 1 : 0);  // nobody needs the total of the last one
  if (!stopped) {
    for (std::optional<T>& total : totals) {
      std::optional<T> before = init;
      if (total) join_to(init, combine, *std::move(total));
      total = std::move(before);
    }
    stopped = run(write, blocks);
  }
  if constexpr (!std::is_same_v<Stop, never_stopped>)
    if (stopped) return fail(*stopped);
  return blocks == 0 ? std::move(init) : std::move(totals.back());
}

template <typename T, typename Stop, typename Range, typename Out, typename Combine>
auto scan_all(const Stop& stop, std::optional<T> init, Range& range, Out out, Combine& combine, parallel_options how)
    -> unless_stopped<Stop, std::optional<T>> {
  if (init) return scan_as<scan_kind::exclusive, T>(stop, std::move(init), range, out, combine, how);
  return scan_as<scan_kind::inclusive, T>(stop, std::nullopt, range, out, combine, how);
}

}  // namespace braid::detail
