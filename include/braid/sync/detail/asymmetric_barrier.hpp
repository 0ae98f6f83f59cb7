// braid/sync/detail/asymmetric_barrier.hpp: a StoreLoad fence for the Dekker pattern that is cheap for one side and
// expensive for the other (membarrier).
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <cstdint>
#include <source_location>

namespace braid::detail {

/// The implementation of an asymmetric barrier.
enum class barrier_kind : std::uint8_t {
  asymmetric,  ///< the light side only restrains the compiler; the heavy side interrupts the other processors
  symmetric,   ///< both sides execute a full fence; used if the system refuses membarrier or BRAID_BARRIER is `fence`
};

/// An asymmetric StoreLoad fence for the Dekker pattern. It uses `membarrier(2)`, like P1202 and Folly's asymmetric
/// fence. Each side stores something and then loads what the other side stores. If the frequent side calls `light()`
/// between its store and its load, and the rare side calls `heavy()`, at least one side reads the other's store. Two
/// calls of `light()` give no such guarantee.
///
///   frequent: store a; light(); load b        rare: store b; heavy(); load a
///
/// The barrier orders loads and stores of atomics; plain data still needs an acquire and release edge.
/// It has its own cache line, because the frequent side reads the kind of the barrier, and data in the same cache line
/// could be written often. The argument `location` is used only in the model build. There it identifies the place of
/// the call, so that the explorer can test what happens if the call is omitted. Threads: any. Cost: `light` is only a
/// branch; `heavy` takes 0.1 to 20 µs, which `braid-doctor` measures. If the kind is symmetric, both calls are full
/// fences.
/// Source: membarrier(2); P1202R5, "Asymmetric fences".
/// Protocol: docs/design/asymmetric_barrier.md
class alignas(cache_line) asymmetric_barrier {
  using source = std::source_location;

 public:
  /// Constructs an asymmetric barrier if this process supports it, otherwise a symmetric one.
  asymmetric_barrier() noexcept : kind_(best_kind()) {}

  /// Constructs a barrier of the given kind. The kind may be asymmetric only if `best_kind` returns asymmetric.
  explicit asymmetric_barrier(barrier_kind kind) noexcept : kind_(kind) {}

  asymmetric_barrier(const asymmetric_barrier&) = delete;
  auto operator=(const asymmetric_barrier&) -> asymmetric_barrier& = delete;

  /// Returns the kind that the variable BRAID_BARRIER selects. If the variable is not set or is invalid, returns the
  /// best kind that this process supports. The system is queried only once.
  /// Cost: the first call may take milliseconds if the process has threads.
  [[nodiscard]] BRAID_API static auto best_kind() noexcept -> barrier_kind;

  [[nodiscard]] auto kind() const noexcept -> barrier_kind { return kind_; }

  void light([[maybe_unused]] source location = source::current()) noexcept {
    if (kind_ == barrier_kind::symmetric) [[unlikely]]
      return fence();
    light_if_asymmetric(location);
  }

  /// Does what `light` does if the kind is asymmetric. Use it if the kind is known to be asymmetric, or if another
  /// operation provides the order for the symmetric kind.
  static void light_if_asymmetric([[maybe_unused]] source location = source::current()) noexcept {
#if defined(BRAID_MODEL)
    if (detail::model_active()) return detail::model_light_barrier(location);
#endif
    asm volatile("" ::: "memory");
  }

  void heavy([[maybe_unused]] source location = source::current()) noexcept {
    if (kind_ == barrier_kind::symmetric) [[unlikely]]
      return fence();
#if defined(BRAID_MODEL)
    if (detail::model_active()) return detail::model_heavy_barrier(location);
#endif
    interrupt_processors();
  }

 private:
  BRAID_API void fence() noexcept;
  /// The fence for the explorer and the thread sanitizer. All callers change the same word, so the later caller's
  /// change happens after the earlier one's.
  /// edge asymmetric_barrier.met: both, because the second of two callers must see what the first has written
  void meet() noexcept { met_.fetch_add(1, acq_rel); }

  BRAID_API static void interrupt_processors() noexcept;

  const barrier_kind kind_;
  atomic<std::uint32_t> met_{0};  // changed by `meet`; its value means nothing
};

}  // namespace braid::detail
