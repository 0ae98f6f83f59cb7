// braid/task/detail/parallel_blocks.hpp: runs passes over blocks of fixed size; each pass is parallel.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/worker.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// Calls `work` on this thread if this thread is a worker or if `begins_here` returns true. Otherwise calls `work` on a
/// worker.
template <typename Work>
auto on_worker(Work&& work) -> decltype(auto) {
  if (worker_of_thread != nullptr || begins_here()) return work();
  return run_elsewhere(work);
}

/// Runs one pass: calls `chunk(first, last)` for parts of the range [0, count). Returns false if a stop caused some
/// numbers to be skipped.
template <typename Stop, typename Chunk>
[[nodiscard]] auto pass(std::size_t count, std::size_t grain, const Stop& stop, const Chunk& chunk) -> bool {
  if constexpr (std::is_same_v<Stop, never_stopped>) {
    for_chunks(count, grain, stop, chunk);
    return true;
  } else {
    return for_chunks(count, grain, stop, chunk).has_value();
  }
}

/// Returns the value for the caller, or the reason of the stop if elements were skipped.
template <typename Stop, typename T>
auto unless_left_out(const Stop& stop, bool is_whole, T&& value) -> unless_stopped<Stop, std::remove_cvref_t<T>> {
  if constexpr (!std::is_same_v<Stop, never_stopped>)
    if (!is_whole) return fail(*stop.reason());
  return std::forward<T>(value);
}

/// A division of elements into blocks of the same size, which is a multiple of 64. The last block has the remaining
/// elements.
struct blocks {
  blocks(std::size_t elements, parallel_options options) noexcept
      : count(elements), size(size_for(elements, options)) {}

  [[nodiscard]] auto number() const noexcept -> std::size_t { return count / size + (count % size != 0 ? 1 : 0); }
  [[nodiscard]] auto begin(std::size_t block) const noexcept -> std::size_t { return block * size; }
  [[nodiscard]] auto end(std::size_t block) const noexcept -> std::size_t {
    return count - begin(block) < size ? count : begin(block) + size;
  }

  const std::size_t count;
  const std::size_t size;

 private:
  static auto size_for(std::size_t elements, parallel_options options) noexcept -> std::size_t {
    constexpr std::size_t unit = 64;
    // docs/design/constants.md says what this value rests on.
    constexpr std::size_t usual_size = 2048;
    constexpr std::size_t max_blocks = 1024;  // so that the data of each block is small
    const std::size_t wanted = options.grain != 0 ? options.grain : std::max(usual_size, elements / max_blocks);
    return (std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(elements, 1)) + unit - 1) / unit * unit;
  }
};

}  // namespace braid::detail
