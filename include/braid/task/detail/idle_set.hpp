// braid/task/detail/idle_set.hpp: the idle set of a pool, an event count with a flag per worker: which one to wake.
#pragma once

#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace braid::detail {

/// Event count (prepare wait, cancel wait, notify) with a flag per worker. A worker announces that it is about to
/// sleep, polls for work once more, and sleeps; a thread that brings work picks an announced worker. The pool's barrier
/// orders the two as in the Dekker pattern: the worker crosses it between announcing and polling, the post between
/// placing its job and picking.
/// Protocol: docs/design/pool.md
class idle_set {
 public:
  explicit idle_set(std::size_t workers) : advertised_(workers) {}

  void advertise(std::size_t index) noexcept {
    count_.fetch_add(1, release);          // edge idle_set.done: publish what the worker did before it went idle
    advertised_[index].store(1, release);  // edge idle_set.advertised: publish the count before the flag
  }

  /// Takes the announcement back. Returns false if the worker has been picked meanwhile: a wake is on its way.
  [[nodiscard]] auto try_cancel(std::size_t index) noexcept -> bool {
    // edge idle_set.advertised: observe the count, which is taken down next
    if (advertised_[index].exchange(0, acquire) == 0) return false;
    count_.fetch_add(one_end - 1, relaxed);
    return true;
  }

  /// Retires an advertised worker for good: no thread claims it any more, and it still counts as idle. Returns false if
  /// it has been claimed meanwhile: a wake is in transit.
  [[nodiscard]] auto try_retire(std::size_t index) noexcept -> bool {
    return advertised_[index].exchange(0, relaxed) != 0;
  }

  /// Returns true if no worker can be claimed, because no worker sleeps or is about to sleep.
  [[nodiscard]] auto none() const noexcept -> bool { return idle_in(count_.load(relaxed)) == 0; }

  /// Returns whether this worker may be claimed.
  [[nodiscard]] auto is_advertised(std::size_t index) const noexcept -> bool {
    return advertised_[index].load(relaxed) != 0;
  }

  /// Returns whether this worker had announced itself; then the caller must wake it.
  [[nodiscard]] auto try_claim(std::size_t index) noexcept -> bool { return is_advertised(index) && try_cancel(index); }

  /// Claims a worker that had announced that it sleeps, and that the caller must wake. Returns nothing if no worker
  /// sleeps.
  [[nodiscard]] auto claim_any() noexcept -> std::optional<std::size_t> {
    if (none()) return std::nullopt;
    for (std::size_t index = 0; index < advertised_.size(); ++index)
      if (try_claim(index)) return index;
    return std::nullopt;
  }

  /// Returns whether every worker has announced itself or left; everything that they did before is then visible to the
  /// caller.
  [[nodiscard]] auto all() const noexcept -> bool { return all_since().has_value(); }

  /// Returns nothing if not all are idle, as above. If two calls return the same number, all have been idle from the
  /// first to the second.
  [[nodiscard]] auto all_since() const noexcept -> std::optional<std::uint64_t> {
    const std::uint64_t count = count_.load(acquire);  // edge idle_set.done: observe what idle workers did before
    if (idle_in(count) != advertised_.size()) return std::nullopt;
    return count / one_end;
  }

 private:
  static constexpr std::uint64_t one_end = std::uint64_t{1} << 32;

  static constexpr auto idle_in(std::uint64_t count) noexcept -> std::uint64_t { return count % one_end; }

  std::vector<atomic<std::uint32_t>> advertised_;  // 1 while the worker may be picked
  // The number of workers that may be claimed, are just being claimed, or have left; in the upper bits, how often this
  // ended for one of them.
  atomic<std::uint64_t> count_{0};
};

}  // namespace braid::detail
