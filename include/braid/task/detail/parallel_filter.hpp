// braid/task/detail/parallel_filter.hpp: stream compaction: marks the elements to keep, counts them in each block, and
// moves them.
#pragma once

#include <braid/task/detail/division.hpp>
#include <braid/task/detail/parallel_blocks.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <vector>

namespace braid::detail {

/// The result of marking elements: a bit for each element, which is set if the element is kept, and the output position
/// of the first kept element of each block.
class kept_elements {
 public:
  explicit kept_elements(const blocks& all)
      : blocks_(all), marks_((all.count + word_bits - 1) / word_bits), starts_(all.number() + 1) {}

  /// Calls `is_kept(index)` once for each element of a block, in order, and stores the results. Several blocks may be
  /// marked at the same time.
  template <typename IsKept>
  void mark(std::size_t block, const IsKept& is_kept) {
    std::size_t total = 0;
    for (std::size_t first = blocks_.begin(block); first != blocks_.end(block);) {
      const std::size_t last = std::min(first + word_bits, blocks_.end(block));
      std::uint64_t word = 0;
      for (std::size_t i = first; i != last; ++i)
        word |= static_cast<std::uint64_t>(static_cast<bool>(is_kept(i))) << (i - first);
      marks_[first / word_bits] = word;
      total += static_cast<std::size_t>(std::popcount(word));
      first = last;
    }
    starts_[block + 1] = total;
  }

  /// Computes the output positions. Called after all blocks were marked.
  void add_up() noexcept {
    for (std::size_t block = 1; block < starts_.size(); ++block) starts_[block] += starts_[block - 1];
  }

  /// Returns the position of a block's first kept element among all kept elements.
  [[nodiscard]] auto start(std::size_t block) const noexcept -> std::size_t { return starts_[block]; }
  [[nodiscard]] auto total() const noexcept -> std::size_t { return starts_.back(); }

  /// Calls `visit(index, is_kept)` for each element of a block, in order.
  template <typename Visit>
  void visit_all(std::size_t block, const Visit& visit) const {
    for (std::size_t first = blocks_.begin(block); first < blocks_.end(block); first += word_bits) {
      std::uint64_t word = marks_[first / word_bits];
      const std::size_t last = std::min(first + word_bits, blocks_.end(block));
      for (std::size_t i = first; i != last; ++i, word >>= 1U) visit(i, (word & 1U) != 0);
    }
  }

  /// Calls `take(index)` for each kept element of a block, in order.
  template <typename Take>
  void for_each(std::size_t block, const Take& take) const {
    for (std::size_t first = blocks_.begin(block); first < blocks_.end(block); first += word_bits)
      for (std::uint64_t left = marks_[first / word_bits]; left != 0; left &= left - 1)
        take(first + static_cast<std::size_t>(std::countr_zero(left)));
  }

 private:
  static constexpr std::size_t word_bits = 64;  // divides the size of a block

  const blocks& blocks_;
  std::vector<std::uint64_t> marks_;
  std::vector<std::size_t> starts_;  // first the number of kept elements of each block; after `add_up`, their positions
};

/// Marks all blocks. Returns false if a stop caused blocks to be skipped.
template <typename Stop, typename IsKept>
auto mark_all(kept_elements& kept, const blocks& all, const Stop& stop, const IsKept& is_kept) -> bool {
  const bool is_whole = pass(all.number(), 1, stop, [&](std::size_t block, std::size_t last) {
    for (; block != last; ++block) kept.mark(block, is_kept);
  });
  kept.add_up();
  return is_whole;
}

/// Copies the elements for which `is_wanted(proj(element))` is true, in their order, and returns the end of the copies.
template <typename Stop, typename Iterator, typename Out, typename Pred, typename Proj>
auto copy_wanted(const Stop& stop, const Iterator& first, std::size_t count, Out out, Pred& is_wanted, Proj& proj,
                 parallel_options options) -> unless_stopped<Stop, Out> {
  return on_worker([&]() -> unless_stopped<Stop, Out> {
    const blocks all(count, options);
    kept_elements kept(all);
    const auto is_kept = [&](std::size_t i) { return std::invoke(is_wanted, std::invoke(proj, at(first, i))); };
    const auto copy = [&](std::size_t block, std::size_t last) {
      for (; block != last; ++block) {
        Out to = after(out, kept.start(block));
        kept.for_each(block, [&](std::size_t i) {
          *to = at(first, i);
          ++to;
        });
      }
    };
    const bool is_whole = mark_all(kept, all, stop, is_kept) && pass(all.number(), 1, stop, copy);
    return unless_left_out(stop, is_whole, after(out, kept.total()));
  });
}

/// Moves the kept elements of a block to the start of the block.
template <typename Iterator>
void gather_kept(const kept_elements& kept, std::size_t block, const Iterator& first, std::size_t begin) {
  Iterator to = after(first, begin);
  if constexpr (cheap_to_copy<std::iter_value_t<Iterator>>) {
    kept.visit_all(block, [&](std::size_t i, bool is_kept) {
      *to = at(first, i);
      to += static_cast<std::iter_difference_t<Iterator>>(is_kept);  // without a branch
    });
  } else {
    kept.for_each(block, [&](std::size_t i) {
      const Iterator from = after(first, i);
      if (to != from) *to = std::ranges::iter_move(from);
      ++to;
    });
  }
}

/// Moves the first element of each run of equal elements to the front, in the same order, and returns the end of the
/// moved elements. Once elements are being moved, a stop has no effect.
template <typename Stop, typename Iterator, typename Equal, typename Proj>
auto keep_unique(const Stop& stop, const Iterator& first, std::size_t count, Equal& equal, Proj& proj,
                 parallel_options options) -> unless_stopped<Stop, Iterator> {
  if (count == 0) return first;
  return on_worker([&]() -> unless_stopped<Stop, Iterator> {
    const Iterator others = first + 1;  // the first one does not move
    const blocks all(count - 1, options);
    kept_elements kept(all);
    const auto is_kept = [&](std::size_t i) {
      return !std::invoke(equal, std::invoke(proj, at(first, i)), std::invoke(proj, at(others, i)));
    };
    if (!mark_all(kept, all, stop, is_kept)) return unless_left_out(stop, false, first);
    for_chunks(all.number(), 1, never_stopped{}, [&](std::size_t block, std::size_t last) {
      for (; block != last; ++block) gather_kept(kept, block, others, all.begin(block));
    });
    // The blocks are moved in order, because the elements of a block move into space that the elements of earlier
    // blocks have left.
    for (std::size_t block = 1; block < all.number(); ++block) {
      const Iterator from = after(others, all.begin(block));
      const Iterator to = after(others, kept.start(block));
      if (to != from) std::ranges::move(from, after(from, kept.start(block + 1) - kept.start(block)), to);
    }
    return unless_left_out(stop, true, after(others, kept.total()));
  });
}

}  // namespace braid::detail
