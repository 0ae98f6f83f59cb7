// braid/task/detail/parallel_range.hpp: a parallel loop over numbers from 0. The loop is split when idle workers
// request work.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/outside_region.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <ranges>
#include <vector>

namespace braid::detail {

/// Returns the number of elements in a chunk. The result depends only on the number of elements of the loop, so that
/// the results of algorithms do not depend on the machine.
constexpr auto choose_grain(std::size_t count, parallel_options options) noexcept -> std::size_t {
  // docs/design/constants.md says what these values rest on.
  constexpr std::size_t chunks = 128;
  constexpr std::size_t max_count = 512;
  return options.grain != 0 ? options.grain : std::clamp<std::size_t>(count / chunks, 1, max_count);
}

/// Calls `chunk(first, last)` for parts of a range, until a call throws or a stop is requested.
template <typename Stop, typename Chunk>
class range_work {
 public:
  /// Constructs the loop. `elements_of_each` is the number of elements that each index represents; with it, the
  /// measured times of different loops can be compared.
  range_work(std::size_t grain, const Stop& stop, const Chunk& chunk, std::size_t elements_of_each) noexcept
      : grain_(grain), elements_of_each_(elements_of_each), stop_(stop), chunk_(chunk) {}

  /// Runs the loop for all numbers below `count`. Errors: the first exception of a chunk, or another exception that was
  /// thrown at about the same time. The exception is rethrown after all chunks have ended.
  void run(std::size_t count) {
    if (worker_of_thread != nullptr)
      run_part(0, count);
    else
      run_outside(count);
  }

  /// Returns the reason of the stop if elements may have been skipped, and nothing otherwise.
  [[nodiscard]] auto reason() const noexcept -> std::optional<errc> { return find_reason(left_out_.load(relaxed)); }

 private:
  /// A guard that marks the loop as failed if a chunk throws, so that other threads end early.
  struct failure_guard {
    atomic<bool>& failed;
    bool armed = true;
    ~failure_guard() {
      if (armed) failed.store(true, relaxed);
    }
  };

  static auto find_reason(int code) noexcept -> std::optional<errc> {
    return code == 0 ? std::nullopt : std::optional(static_cast<errc>(code));
  }

  void run_outside(std::size_t count);
  static auto run_loop_part(void* loop, std::size_t first, std::size_t last, region_part part) -> bool;
  void run_part(std::size_t first, std::size_t last);
  void run_chunk(std::size_t first, std::size_t last);
  auto run_whole(std::size_t first, std::size_t last) -> bool;
  void halve(worker& self, std::size_t first, std::size_t last);
  [[nodiscard]] auto goes_on() noexcept -> bool;

  static inline constinit region_pace pace_of_last;  // the pace of this body on threads that are not workers

  const std::size_t grain_;
  const std::size_t elements_of_each_;
  const Stop& stop_;
  const Chunk& chunk_;
  atomic<bool> failed_{false};  // set by each call that threw
  atomic<int> left_out_{0};     // an errc; set by each call that has skipped elements
};

/// Runs the loop for a thread that is not a worker. A loop of a single chunk runs on this thread alone.
template <typename Stop, typename Chunk>
void range_work<Stop, Chunk>::run_outside(std::size_t count) {
  if (count == 0) return;
  if (!begins_here()) return run_elsewhere([&] { run_part(0, count); });
  if (count <= grain_)
    static_cast<void>(run_whole(0, count));
  else
    outside_region(default_pool(), {&run_loop_part, this, count, grain_, elements_of_each_}, pace_of_last).run();
}

template <typename Stop, typename Chunk>
auto range_work<Stop, Chunk>::run_loop_part(void* loop, std::size_t first, std::size_t last, region_part part) -> bool {
  auto& mine = *static_cast<range_work*>(loop);
  if (part == region_part::whole) return mine.run_whole(first, last);
  mine.run_part(first, last);
  return !mine.failed_.load(relaxed);
}

template <typename Stop, typename Chunk>
void range_work<Stop, Chunk>::run_chunk(std::size_t first, std::size_t last) {
  failure_guard guard{failed_};
  chunk_(first, last);
  guard.armed = false;
}

/// Runs all elements on this thread. Returns false if some elements were skipped.
template <typename Stop, typename Chunk>
auto range_work<Stop, Chunk>::run_whole(std::size_t first, std::size_t last) -> bool {
  for (std::size_t next = first; first < last; first = next) {
    if (!goes_on()) return false;
    next = first + std::min(last - first, grain_);
    run_chunk(first, next);
  }
  return true;
}

template <typename Stop, typename Chunk>
void range_work<Stop, Chunk>::run_part(std::size_t first, std::size_t last) {
  worker* const self = worker_of_thread;  // null if jobs run inline
  while (first < last && goes_on()) {
    const std::size_t left = last - first;
    if (left > grain_ && self != nullptr && !self->has_fork_at_hand()) [[unlikely]]
      return halve(*self, first, last);
    const std::size_t next = first + std::min(left, grain_);
    run_chunk(first, next);
    first = next;
  }
}

/// Forks the later half of the remaining numbers.
template <typename Stop, typename Chunk>
void range_work<Stop, Chunk>::halve(worker& self, std::size_t first, std::size_t last) {
  const std::size_t middle = first + (last - first) / 2;
  auto earlier = [this, first, middle] { run_part(first, middle); };
  auto later = [this, middle, last] { run_part(middle, last); };
  static_cast<void>(fork_on(self, earlier, later));
}

template <typename Stop, typename Chunk>
auto range_work<Stop, Chunk>::goes_on() noexcept -> bool {
  if (failed_.load(relaxed)) return false;
  const std::optional<errc> why = stop_.reason();
  if (why) left_out_.store(static_cast<int>(*why), relaxed);
  return !why;
}

/// Calls `chunk(first, last)` for parts of the range [0, count).
template <typename Stop, typename Chunk>
auto for_chunks(std::size_t count, std::size_t grain, const Stop& stop, const Chunk& chunk,
                std::size_t elements_of_each = 1) -> unless_stopped<Stop, void> {
  range_work<Stop, Chunk> work(grain, stop, chunk, elements_of_each);
  work.run(count);
  if constexpr (!std::is_same_v<Stop, never_stopped>) {
    if (const auto why = work.reason()) return fail(*why);
    return {};
  }
}

/// A range whose elements an algorithm can access by index.
template <typename Range>
concept divisible_range = std::ranges::random_access_range<Range> && std::ranges::sized_range<Range>;

template <typename Iterator, typename Sentinel>
concept divisible_pair = std::random_access_iterator<Iterator> && std::sized_sentinel_for<Sentinel, Iterator>;

/// A range without access by index. Each element has an iterator that stays valid.
template <typename Range>
concept walked_range = std::ranges::forward_range<Range> && !divisible_range<Range>;

/// Returns a vector with an iterator to each element.
template <walked_range Range>
[[nodiscard]] auto places_in(Range& range) -> std::vector<std::ranges::iterator_t<Range>> {
  std::vector<std::ranges::iterator_t<Range>> places;
  if constexpr (std::ranges::sized_range<Range>) places.reserve(std::ranges::size(range));
  const auto last = std::ranges::end(range);
  for (auto place = std::ranges::begin(range); place != last; ++place) places.push_back(place);
  return places;
}

template <typename Iterator>
[[nodiscard]] constexpr auto at(const Iterator& first, std::size_t index) -> decltype(auto) {
  return first[static_cast<std::iter_difference_t<Iterator>>(index)];
}

/// Returns `first` advanced by `index` elements.
template <typename Iterator>
[[nodiscard]] constexpr auto after(const Iterator& first, std::size_t index) -> Iterator {
  return first + static_cast<std::iter_difference_t<Iterator>>(index);
}

}  // namespace braid::detail
