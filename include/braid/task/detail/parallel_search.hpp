// braid/task/detail/parallel_search.hpp: searches a range in parallel: the first match, the number of matches, the
// least element.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/task/detail/parallel_blocks.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/reduction.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>

namespace braid::detail {

/// Selects whether a search must find the first match, or whether any match is sufficient.
enum class search_for : unsigned char { first, any };

/// The best match of a search so far.
class found_place {
 public:
  explicit found_place(std::size_t count) noexcept : place_(count) {}

  /// Returns true if a match at `index` would not improve the result.
  [[nodiscard]] auto is_before(std::size_t index) const noexcept -> bool { return place_.load(relaxed) <= index; }

  void report(std::size_t index) noexcept {
    std::size_t seen = place_.load(relaxed);
    while (index < seen && !place_.compare_exchange_weak(seen, index, relaxed)) {}
  }
  [[nodiscard]] auto get() const noexcept -> std::size_t { return place_.load(relaxed); }

 private:
  atomic<std::size_t> place_;  // the least index that any worker has reported; the number of elements until then
};

/// Returns the index of the first element for which `is_wanted(proj(element))` holds, or the number of elements if
/// there is no such element. With `search_for::any`, returns 0 if any element matches, and a stop after a match has no
/// effect.
template <search_for What, typename Stop, typename Iterator, typename Pred, typename Proj>
auto find_all(const Stop& stop, const Iterator& first, std::size_t count, Pred& is_wanted, Proj& proj,
              parallel_options options) -> unless_stopped<Stop, std::size_t> {
  found_place found(count);
  const auto chunk = [&](std::size_t from, std::size_t to) {
    if (found.is_before(from)) return;
    for (; from != to; ++from)
      if (std::invoke(is_wanted, std::invoke(proj, at(first, from)))) {
        found.report(What == search_for::first ? from : 0);
        return;
      }
  };
  const bool is_whole = pass(count, choose_grain(count, options), stop, chunk);
  return unless_left_out(stop, is_whole || (What == search_for::any && found.get() != count), found.get());
}

/// Returns the number of elements for which `is_wanted(proj(element))` is true.
template <typename Stop, typename Iterator, typename Pred, typename Proj>
auto count_all(const Stop& stop, const Iterator& first, std::size_t count, Pred& is_wanted, Proj& proj,
               parallel_options options) -> unless_stopped<Stop, std::iter_difference_t<Iterator>> {
  using distance = std::iter_difference_t<Iterator>;
  atomic<std::size_t> total{0};  // the number in chunks that have ended; each chunk adds its own
  const auto chunk = [&](std::size_t from, std::size_t to) {
    const auto found = std::ranges::count_if(after(first, from), after(first, to), std::ref(is_wanted), std::ref(proj));
    total.fetch_add(static_cast<std::size_t>(found), relaxed);
  };
  const bool is_whole = pass(count, choose_grain(count, options), stop, chunk);
  return unless_left_out(stop, is_whole, static_cast<distance>(total.load(relaxed)));
}

/// Returns the best element. If several elements are equally good, returns the first of them. `best(from, to)` returns
/// the best element of a part. `is_better(b, a)` returns whether the later element `b` replaces `a`.
template <typename Stop, typename Iterator, typename Best, typename Better>
auto best_of_all(const Stop& stop, const Iterator& first, std::size_t count, const Best& best, const Better& is_better,
                 parallel_options options) -> unless_stopped<Stop, Iterator> {
  if (count == 0) return first;
  const std::size_t grain = choose_grain(count, options);
  const std::size_t parts = (count - 1) / grain + 1;
  auto best_of_part = [&](std::size_t part) {
    return best(after(first, part * grain), after(first, std::min(count - part * grain, grain) + part * grain));
  };
  auto better = [&](Iterator a, Iterator b) { return is_better(b, a) ? b : a; };
  const auto numbers = std::views::iota(std::size_t{0}, parts);
  return parallel_reduce(stop, numbers.begin(), parts, first, better, best_of_part, parallel_options{.grain = 1});
}

}  // namespace braid::detail
