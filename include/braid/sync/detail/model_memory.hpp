// braid/sync/detail/model_memory.hpp: the memory model of a run: determines which values a load may return and which
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

/// The vector clock of a thread or of a write. For each thread, it contains the number of that thread's accesses that
/// happen before the owner of the clock.
class model_clock {
 public:
  [[nodiscard]] auto operator[](std::size_t thread) const noexcept -> std::uint32_t { return ticks_[thread]; }

  /// Counts an access of `thread`, and returns its number.
  auto tick(std::size_t thread) noexcept -> std::uint32_t { return ++ticks_[thread]; }

  void set(std::size_t thread, std::uint32_t moment) noexcept { ticks_[thread] = moment; }

  /// Adds everything that happens before the thread or the write to which `other` belongs.
  void join(const model_clock& other) noexcept {
    for (std::size_t i = 0; i < ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
  }

 private:
  std::array<std::uint32_t, model_thread_limit> ticks_{};
};

/// The writes that a thread has observed.
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
  model_clock reads;          // the last read of each thread since that write
};

/// The histories of all atomics of a run. Writes take effect in the order in which they are executed. A load may return
/// the value of any write of the history, unless coherence, happens-before or the total order of seq_cst forbids it.
/// Model: docs/design/explorer.md
class model_memory {
 public:
  explicit model_memory(std::uint64_t run) noexcept : run_(run) {}

  /// Returns the number of the atomic in this run. If it has no history yet, the history begins with `initial`.
  auto find(model_location& place, std::uint64_t initial) -> std::size_t;

  /// Returns how many writes a load may choose from. These are the newest write and the writes directly before it.
  [[nodiscard]] auto visible(std::size_t atomic, const model_view& view, std::memory_order order) const -> std::size_t;

  /// Returns the value of the `age`-th write before the newest write, and records nothing. `load` also returns this
  /// value, but records the load.
  [[nodiscard]] auto peek(std::size_t atomic, std::size_t age) const -> std::uint64_t;
  auto load(std::size_t atomic, std::size_t age, model_view& view, std::memory_order order) -> std::uint64_t;

  void store(std::size_t atomic, std::uint64_t value, model_view& view, std::memory_order order);

  /// Appends a write that belongs to a read-modify-write. The appended write continues the release sequence of the
  /// write that was read.
  void replace(std::size_t atomic, std::uint64_t value, model_view& view, std::memory_order order);

  /// Records one side of an asymmetric barrier. Everything before a light barrier is visible after a later heavy
  /// barrier. Everything before a heavy barrier is visible after a later light or heavy barrier. Two light barriers
  /// order nothing.
  void light_barrier(model_view& view);
  void heavy_barrier(model_view& view);

  /// Records an access of a plain object. Returns true if this access is ordered with all earlier accesses that
  /// conflict with it.
  [[nodiscard]] auto read_plain(model_plain& plain, model_view& view) const -> bool;
  [[nodiscard]] auto write_plain(model_plain& plain, model_view& view) const -> bool;

 private:
  struct write {
    std::uint64_t value = 0;
    model_clock published = {};         // everything that happens before a read that acquires this write
    model_clock published_fenced = {};  // everything that barriers order before it
  };

  /// A write that a thread has observed, and the moment at which it was first observed.
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
