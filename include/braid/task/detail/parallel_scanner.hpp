// braid/task/detail/parallel_scanner.hpp: parallel prefix sums: computes the totals of blocks, then the running totals
// in each block.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid::detail {

/// Combines a total with `value`. If the total has no value yet, `value` becomes the total.
template <typename T, typename Combine, typename Value>
void join_to(std::optional<T>& total, Combine& combine, Value&& value) {
  if (!total)
    total.emplace(std::forward<Value>(value));
  else if constexpr (std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T>)
    *total = T(std::invoke(combine, *std::move(total), std::forward<Value>(value)));
  else
    total.emplace(T(std::invoke(combine, *std::move(total), std::forward<Value>(value))));
}

/// Selects whether the total that is written for an element includes the element.
enum class scan_kind : unsigned char { inclusive, exclusive };

/// The number of totals that are computed side by side, each for its own part of the elements. An addition waits only
/// for the previous addition in the same part, so a core can execute several additions at once.
template <typename T>
inline constexpr std::size_t scan_lanes =
    std::is_trivially_copyable_v<T> && std::is_copy_assignable_v<T> && sizeof(T) <= 32 ? 4 : 1;

/// The bounds of the parts into which `count` elements are divided. All parts have the same size, except for the last
/// part, which has the remaining elements.
template <std::size_t Lanes>
struct scan_parts {
  static constexpr std::size_t min_part = 16;  // smaller parts would save no time

  explicit scan_parts(std::size_t count) noexcept
      : each(count / Lanes >= min_part ? count / Lanes : count), used(count / Lanes >= min_part ? Lanes : 1) {}

  std::size_t each;
  std::size_t used;
};

/// Computes the total of each part of the `count` elements from `first`, and stores them in `totals`.
template <typename T, std::size_t Lanes, typename Iterator, typename Combine>
void total_parts(std::optional<T>* totals, Iterator first, std::size_t count, Combine& combine) {
  using distance = std::iter_difference_t<Iterator>;
  const scan_parts<Lanes> parts(count);
  const auto at = [&](std::size_t index) -> decltype(auto) { return first[static_cast<distance>(index)]; };
  std::size_t next = 0;
  if constexpr (Lanes == 4) {
    if (parts.used == Lanes) {
      const std::size_t size = parts.each;
      T a(at(0));
      T b(at(size));
      T c(at(2 * size));
      T d(at(3 * size));
      for (std::size_t i = 1; i != size; ++i) {
        a = T(std::invoke(combine, std::move(a), at(i)));
        b = T(std::invoke(combine, std::move(b), at(size + i)));
        c = T(std::invoke(combine, std::move(c), at(2 * size + i)));
        d = T(std::invoke(combine, std::move(d), at(3 * size + i)));
      }
      totals[0].emplace(a);
      totals[1].emplace(b);
      totals[2].emplace(c);
      totals[3].emplace(d);
      next = Lanes * size;
    }
  }
  std::optional<T> rest = std::move(totals[parts.used - 1]);
  for (; next != count; ++next) join_to(rest, combine, at(next));
  totals[parts.used - 1] = std::move(rest);
}

/// Writes the total before or including `value`, and adds `value` to the total.
template <scan_kind Kind, typename T, typename Value, typename Out, typename Combine>
void scan_one(T& total, Value&& value, Out&& out, Combine& combine) {
  if constexpr (Kind == scan_kind::inclusive) {
    total = T(std::invoke(combine, std::move(total), std::forward<Value>(value)));
    out = total;
  } else {
    const T before = total;
    total = T(std::invoke(combine, std::move(total), std::forward<Value>(value)));
    out = before;
  }
}

/// Runs one pass over the elements from `first`. The running total of each part starts from the part's entry of
/// `totals`, which is the total of all elements before the part. At the end, the last entry that is used becomes the
/// total of all elements.
template <scan_kind Kind, typename T, std::size_t Lanes, typename Iterator, typename Out, typename Combine>
void scan_group(std::optional<T>* totals, Iterator first, std::size_t count, Out out, Combine& combine) {
  const scan_parts<Lanes> parts(count);
  const auto at = [&](std::size_t index) -> decltype(auto) {
    return first[static_cast<std::iter_difference_t<Iterator>>(index)];
  };
  const auto to = [&](std::size_t index) -> decltype(auto) {
    return out[static_cast<std::iter_difference_t<Out>>(index)];
  };
  std::size_t next = 0;
  if constexpr (Lanes == 4) {
    if (parts.used == Lanes && totals[0]) {
      const std::size_t size = parts.each;
      T a(*totals[0]);
      T b(*totals[1]);
      T c(*totals[2]);
      T d(*totals[3]);
      for (std::size_t i = 0; i != size; ++i) {
        scan_one<Kind>(a, at(i), to(i), combine);
        scan_one<Kind>(b, at(size + i), to(size + i), combine);
        scan_one<Kind>(c, at(2 * size + i), to(2 * size + i), combine);
        scan_one<Kind>(d, at(3 * size + i), to(3 * size + i), combine);
      }
      totals[3].emplace(d);
      next = Lanes * size;
    }
  }
  // The following loop is sequential. It processes the remaining elements of the last part, or all elements if the loop
  // above was skipped, because there is only one part or no total before the first part.
  std::optional<T> total = std::move(totals[next == 0 ? 0 : parts.used - 1]);
  for (; next != count; ++next) {
    if constexpr (Kind == scan_kind::inclusive) {
      join_to(total, combine, at(next));
      to(next) = *total;
    } else {
      auto before = *total;
      join_to(total, combine, at(next));
      to(next) = std::move(before);
    }
  }
  totals[parts.used - 1] = std::move(total);
}

/// Computes the total before each part from the totals of all parts. If there are many groups, they are divided into
/// blocks: n groups into about √n blocks of √n groups. So an addition waits only for other additions in the same block,
/// and for the totals of earlier blocks. The division depends only on the number of groups, so rounding errors of sums
/// are reproducible.
template <typename T, typename Combine>
class scan_blocks {
 public:
  // docs/design/constants.md says what this value rests on.
  static constexpr std::size_t min_groups = 17;  // fewer groups form one block

  scan_blocks(const std::optional<T>& init, std::size_t groups, Combine& combine)
      : each_(groups < min_groups ? std::max<std::size_t>(groups, 1) : ceiling_of_root(groups)),
        groups_(groups),
        combine_(&combine),
        totals_((groups + each_ - 1) / each_) {
    if (!totals_.empty()) totals_[0] = init;
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return totals_.size(); }
  [[nodiscard]] auto find_end(std::size_t block) const noexcept -> std::size_t {
    return std::min(groups_, (block + 1) * each_);
  }
  [[nodiscard]] auto find_block(std::size_t group) const noexcept -> std::size_t { return group / each_; }

  /// For each part of the group, replaces its total with the sum of the totals of all earlier parts in the same block.
  /// Called for the groups of a block in order.
  void add_group(std::size_t group, std::span<std::optional<T>> parts) {
    std::optional<T>& sum = totals_[find_block(group)];
    for (std::optional<T>& part : parts) {
      std::optional<T> before = sum;
      if (part) join_to(sum, *combine_, *std::move(part));
      part = std::move(before);
    }
  }

  /// Calls `add_group` for all groups of the blocks in [first, last). Each group has `parts` entries of `totals`.
  void add_all(std::size_t first, std::size_t last, std::span<std::optional<T>> totals, std::size_t parts) {
    const std::size_t end = std::min(groups_, last * each_);
    for (std::size_t group = first * each_; group != end; ++group)
      add_group(group, totals.subspan(group * parts, parts));
  }

  /// Adds the total before the block to the block's own total. Called for all blocks in order.
  void add_block(std::size_t block) {
    if (block == 0) return;
    std::optional<T> sum = totals_[block - 1];
    if (!sum) return;
    if (totals_[block]) join_to(sum, *combine_, *std::move(totals_[block]));
    totals_[block] = std::move(sum);
  }

  /// Adds the total of all earlier blocks to the parts of a group. Requires that `add_block` was called for the block
  /// before the block of this group.
  void begin_group(std::size_t group, std::span<std::optional<T>> parts) {
    const std::size_t block = find_block(group);
    if (block == 0 || !totals_[block - 1]) return;
    for (std::optional<T>& part : parts) {
      std::optional<T> sum = totals_[block - 1];
      if (part) join_to(sum, *combine_, *std::move(part));
      part = std::move(sum);
    }
  }

 private:
  static auto ceiling_of_root(std::size_t number) noexcept -> std::size_t {
    std::size_t root = 1;
    while (root * root < number) ++root;
    return root;
  }

  std::size_t each_;
  std::size_t groups_;
  Combine* combine_;
  std::vector<std::optional<T>> totals_;  // the total of each block, and later the total up to its end
};

/// Returns the number of elements in a group.
inline auto scan_grain(std::size_t count, const parallel_options& options) noexcept -> std::size_t {
  // docs/design/constants.md says what these values rest on.
  constexpr std::size_t usual_grain = 4096;
  constexpr std::size_t max_groups = 256;
  const std::size_t wanted =
      options.grain != 0 ? options.grain : std::max(usual_grain, (count + max_groups - 1) / max_groups);
  return std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(count, 1));
}

/// Writes the running totals to `out`. Returns the total of all elements. Totals include `init` if `init` is given.
template <scan_kind Kind, typename T, typename Stop, typename Range, typename Out, typename Combine>
auto scan_as(const Stop& stop, std::optional<T> init, Range& range, Out out, Combine& combine, parallel_options options)
    -> unless_stopped<Stop, std::optional<T>> {
  constexpr std::size_t lanes = scan_lanes<T>;
  const auto first = std::ranges::begin(range);
  const std::size_t count = std::ranges::size(range);
  const std::size_t grain = scan_grain(count, options);
  const std::size_t groups = (count + grain - 1) / grain;
  const auto at_group = [&](auto from, std::size_t group) {
    return from + static_cast<std::iter_difference_t<decltype(from)>>(group * grain);
  };
  const auto size_of = [&](std::size_t group) { return std::min(grain, count - group * grain); };

  // The entries for the parts of the groups. An entry first holds the total of its part, and later the total of
  // everything before the part.
  std::vector<std::optional<T>> totals(groups * lanes);
  const auto sum_up = [&](std::size_t from, std::size_t to) {
    for (std::size_t group = from; group != to; ++group)
      total_parts<T, lanes>(&totals[group * lanes], at_group(first, group), size_of(group), combine);
  };
  scan_blocks<T, Combine> blocks(init, groups, combine);
  const auto find_parts = [&](std::size_t group) { return std::span(totals).subspan(group * lanes, lanes); };
  const auto write = [&](std::size_t from, std::size_t to) {
    for (std::size_t group = from; group != to; ++group) {
      blocks.begin_group(group, find_parts(group).first(scan_parts<lanes>(size_of(group)).used));
      scan_group<Kind, T, lanes>(&totals[group * lanes], at_group(first, group), size_of(group), at_group(out, group),
                                 combine);
    }
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

  const auto add_up_blocks = [&](std::size_t from, std::size_t to) { blocks.add_all(from, to, totals, lanes); };

  // A single group needs no totals, unless it is divided into several lanes and has an initial value. If the groups
  // have only one lane, the total of the last group is not needed.
  const bool is_one_part = groups <= 1 && !(lanes > 1 && init);
  const std::size_t summed = is_one_part ? 0 : lanes > 1 ? groups : groups - 1;
  std::optional<errc> stopped;
  if (groups != 0 && is_alone()) {
    // This thread processes one group after the other, so that the elements are still in its cache for the second pass.
    for (std::size_t group = 0; group != groups && !stopped; ++group) {
      if constexpr (!std::is_same_v<Stop, never_stopped>) stopped = stop.reason();
      if (stopped) break;
      if (group < summed) sum_up(group, group + 1);
      blocks.add_group(group, find_parts(group));
      write(group, group + 1);
      if (group + 1 == blocks.find_end(blocks.find_block(group))) blocks.add_block(blocks.find_block(group));
    }
  } else {
    stopped = run(sum_up, summed);
    if (!stopped && blocks.size() > 1)
      stopped = run(add_up_blocks, blocks.size());
    else if (!stopped)
      add_up_blocks(0, blocks.size());
    for (std::size_t block = 0; block != blocks.size() && !stopped; ++block) blocks.add_block(block);
    if (!stopped) stopped = run(write, groups);
  }
  if constexpr (!std::is_same_v<Stop, never_stopped>)
    if (stopped) return fail(*stopped);
  if (groups == 0) return init;
  const std::size_t last = groups - 1;
  return std::move(totals[last * lanes + scan_parts<lanes>(size_of(last)).used - 1]);
}

template <typename T, typename Stop, typename Range, typename Out, typename Combine>
auto scan_all(const Stop& stop, std::optional<T> init, Range& range, Out out, Combine& combine,
              parallel_options options) -> unless_stopped<Stop, std::optional<T>> {
  if (init) return scan_as<scan_kind::exclusive, T>(stop, std::move(init), range, out, combine, options);
  return scan_as<scan_kind::inclusive, T>(stop, std::nullopt, range, out, combine, options);
}

}  // namespace braid::detail
