// braid/sync/detail/model_memory.hpp: the memory of a run of the explorer: which values a load may return, and which
// plain accesses race.
#pragma once

#include <braid/sync/detail/model_atomic.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace braid::detail {

/// The maximum number of threads of a run, including its body.
inline constexpr std::size_t model_thread_limit = 8;

/// A vector clock: for each thread, how many of its accesses happen before the holder of the clock.
class model_clock {
 public:
  [[nodiscard]] auto operator[](std::size_t thread) const noexcept -> std::uint32_t { return ticks_[thread]; }

  /// Counts an access of `thread`, and returns its number.
  auto tick(std::size_t thread) noexcept -> std::uint32_t { return ++ticks_[thread]; }

  void set(std::size_t thread, std::uint32_t moment) noexcept { ticks_[thread] = moment; }

  /// All that happens before the holder of `other` now happens before the holder of this one, too.
  void join(const model_clock& other) noexcept {
    for (std::size_t i = 0; i < ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
  }

 private:
  std::array<std::uint32_t, model_thread_limit> ticks_{};
};

/// The memory that a thread has seen.
struct model_view {
  std::size_t thread = 0;
  model_clock clock;
  model_clock fenced;  // accesses that barriers put before: atomics are seen as after them, plain data is not ordered
};

/// The history of a plain object that threads share.
struct model_plain {
  std::uint64_t run = 0;
  std::size_t writer = 0;
  std::uint32_t written = 0;  // moment of the last write in the clock of `writer`; 0 before the first
  model_clock reads;          // for each thread, the moment of its last read since then
};

/// Histories of atomics. Writes take effect in the order in which they are executed; a load returns any write of the
/// history that neither coherence nor happens-before nor the total order of seq_cst forbids.
/// Model: docs/design/explorer.md
class model_memory {
 public:
  explicit model_memory(std::uint64_t run) noexcept : run_(run) {}

  /// Returns the number of the atomic in this run. If it has no history yet, the history begins with `initial`.
  auto find(model_location& place, std::uint64_t initial) -> std::size_t;

  /// Returns the number of writes that a load may return: the newest one and those directly before it.
  [[nodiscard]] auto visible(std::size_t atomic, const model_view& view, std::memory_order order) const -> std::size_t;

  /// Returns the value that a load returns which reads the write `age` before the newest; `peek` has no effect.
  [[nodiscard]] auto peek(std::size_t atomic, std::size_t age) const -> std::uint64_t;
  auto load(std::size_t atomic, std::size_t age, model_view& view, std::memory_order order) -> std::uint64_t;

  void store(std::size_t atomic, std::uint64_t value, model_view& view, std::memory_order order);

  /// A write that follows the load of the newest write in one step, and so continues its release sequence.
  void replace(std::size_t atomic, std::uint64_t value, model_view& view, std::memory_order order);

  /// The two sides of an asymmetric barrier. Everything before a light barrier is seen after a later heavy one, and
  /// everything before a heavy one after a later light one or heavy one. Two light barriers order nothing.
  void light_barrier(model_view& view);
  void heavy_barrier(model_view& view);

  /// Returns true if the access is ordered with every access before that it conflicts with.
  [[nodiscard]] auto read_plain(model_plain& plain, model_view& view) const -> bool;
  [[nodiscard]] auto write_plain(model_plain& plain, model_view& view) const -> bool;

 private:
  struct write {
    std::uint64_t value = 0;
    model_clock published = {};         // what happens before a read that acquires this write
    model_clock published_fenced = {};  // and what barriers put before it
  };

  /// A thread knew this write, or an earlier one of its own, from this moment on.
  struct sighting {
    std::uint32_t moment = 0;
    std::size_t write = 0;
  };

  struct history {
    std::vector<write> writes;
    std::array<std::vector<sighting>, model_thread_limit> sightings;
    std::size_t total_order = 0;  // the newest write that a seq_cst operation wrote or read
  };

  void append(history& history, write made, model_view& view, std::memory_order order);
  static void see(history& history, std::size_t write, const model_view& view, std::memory_order order);
  void begin(model_plain& plain) const noexcept;

  std::uint64_t run_;
  std::vector<history> histories_;
  model_clock before_light_;  // everything before some light barrier
  model_clock before_heavy_;  // everything before some heavy barrier
};

}  // namespace braid::detail
