// braid/sync/detail/asymmetric_barrier.hpp: StoreLoad fence for the Dekker pattern, paid for by the rare side
// (membarrier).
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <source_location>

namespace braid::detail {

/// The implementation of an asymmetric barrier.
enum class barrier_kind : std::uint8_t {
  asymmetric,  ///< the light side is a promise of the compiler; the heavy side interrupts the other processors
  symmetric,   ///< both sides execute a full fence; used if the system refuses membarrier or BRAID_BARRIER is `fence`
};

/// An asymmetric StoreLoad fence for the Dekker pattern, by `membarrier(2)`; P1202, Folly's asymmetric fence. Each side
/// stores something and then loads what the other side stores. If the frequent side calls `light()` between its store
/// and its load, and the rare side calls `heavy()`, at least one of them sees the other's store. Two light sides
/// guarantee each other nothing.
///
///   frequent: store a; light(); load b        rare: store b; heavy(); load a
///
/// It orders loads and stores of atomics; plain data still needs the edge of an atomic.
/// It has its own cache line, because the frequent side reads its kind, and neighbours could be written all the time.
/// `where` is for the explorer of the model build, which leaves out one use at a time.
/// Threads: any. Cost: light costs only a branch, heavy 0.1 to 20 µs, which `braid-doctor` measures; each costs a full
/// fence if the kind is symmetric.
/// Source: membarrier(2); P1202R5, "Asymmetric fences".
/// Protocol: docs/design/asymmetric_barrier.md
class alignas(cache_line) asymmetric_barrier {
  using source = std::source_location;

 public:
  /// Asymmetric if this process supports it.
  asymmetric_barrier() noexcept : kind_(best_kind()) {}

  /// Requires, of the asymmetric kind, that `best_kind` is it.
  explicit asymmetric_barrier(barrier_kind kind) noexcept : kind_(kind) {}

  asymmetric_barrier(const asymmetric_barrier&) = delete;
  auto operator=(const asymmetric_barrier&) -> asymmetric_barrier& = delete;

  /// Returns the kind that BRAID_BARRIER chooses, or the best one that this process supports; asks the system once.
  /// Cost: the first call may take milliseconds if the process has threads.
  [[nodiscard]] BRAID_API static auto best_kind() noexcept -> barrier_kind;

  [[nodiscard]] auto kind() const noexcept -> barrier_kind { return kind_; }

  void light([[maybe_unused]] source where = source::current()) noexcept {
    if (kind_ == barrier_kind::symmetric) [[unlikely]]
      return fence();
    light_if_asymmetric(where);
  }

  /// Does `light` for callers that know that the kind is asymmetric, or that have another order if it is not.
  static void light_if_asymmetric([[maybe_unused]] source where = source::current()) noexcept {
#if defined(BRAID_MODEL)
    if (detail::model_active()) return detail::model_light_barrier(where);
#endif
    asm volatile("" ::: "memory");
  }

  void heavy([[maybe_unused]] source where = source::current()) noexcept {
    if (kind_ == barrier_kind::symmetric) [[unlikely]]
      return fence();
#if defined(BRAID_MODEL)
    if (detail::model_active()) return detail::model_heavy_barrier(where);
#endif
    interrupt_processors();
  }

 private:
  BRAID_API void fence() noexcept;
  /// The fence of the explorer and the thread sanitizer: if two callers change one word, the second change happens
  /// after the first.
  // edge asymmetric_barrier.met: both, the second of two callers sees what the first wrote before
  void meet() noexcept { met_.fetch_add(1, acq_rel); }

  BRAID_API static void interrupt_processors() noexcept;

  const barrier_kind kind_;
  atomic<std::uint32_t> met_{0};  // changed by `meet`; its value means nothing
};

}  // namespace braid::detail
