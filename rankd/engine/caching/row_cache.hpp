// rankd/engine/caching/row_cache.hpp: rows of nodes by key, the least recently used of them dropped (LRU).
#pragma once

#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rankd {

/// The bounds of a cache, and the clock by which its rows grow old.
struct cache_options {
  std::size_t bytes = 0;  ///< of rows and keys; 0: nothing is kept, and no request looks
  std::size_t entries = 65'536;
  const braid::clock_source* clock = &braid::steady_time();  ///< outlives the engine
};

/// What a node has met in stores that was none of its kind.
struct malformed_counts {
  std::uint32_t node = 0;
  std::uint64_t ids = 0;
  std::uint64_t values = 0;
};

/// Rows that a node gave, in memory of their own. Immutable once kept. Threads: any.
struct kept_rows {
  explicit kept_rows(braid::time_point begun) noexcept : made(begun) {}

  braid::arena memory{1024};
  row_set rows;                             ///< in `memory`, or in that of `run`
  std::shared_ptr<const void> run = {};     ///< what gave them, where they were too many to be copied; or null
  std::vector<malformed_counts> malformed;  ///< of the nodes of its part that have met any
  braid::time_point made;                   ///< when the first of their reads began
};

/// What a cache holds and has done. Counts go on from the start of its engine.
struct cache_counts {
  std::uint64_t hits = 0;    ///< rows that were young enough
  std::uint64_t stale = 0;   ///< rows that were older, and taken while new ones were made
  std::uint64_t misses = 0;  ///< rows that were made
  std::uint64_t shared = 0;  ///< rows that were being made for another request
  std::uint64_t evicted = 0;
  std::uint64_t refused = 0;  ///< rows that were too many, or too large, to be kept
  std::uint64_t bytes = 0;    ///< held now
  std::uint64_t entries = 0;  ///< the same

  void add(const cache_counts& other) noexcept;
};

/// The rows of one loop. What requests still use lives on when it is dropped here, and is not counted any more.
/// Threads: the loop's; `counts` from any. Cost: a hash of the key and no lock.
class row_cache {
 public:
  explicit row_cache(cache_options options) noexcept : options_(options) {}

  /// Null where there are none, or where they are as old as `max_age`: those are dropped.
  auto find(std::string_view key, braid::duration max_age) -> std::shared_ptr<const kept_rows>;

  /// Keeps rows in place of those that have the key, and drops others until all fit. False where they cannot fit.
  auto keep(std::string_view key, std::shared_ptr<const kept_rows> rows) -> bool;

  /// Notes that rows which have the key could not be renewed; nothing where there are none.
  void note_failure(std::string_view key);
  /// Whether that was noted within the last second.
  [[nodiscard]] auto has_failed_lately(std::string_view key) const -> bool;

  [[nodiscard]] auto now() const noexcept -> braid::time_point { return options_.clock->now(); }
  [[nodiscard]] auto counts() const noexcept -> cache_counts;

  void count_hit() noexcept { hits_.fetch_add(1, braid::relaxed); }
  void count_stale() noexcept { stale_.fetch_add(1, braid::relaxed); }
  void count_miss() noexcept { misses_.fetch_add(1, braid::relaxed); }
  void count_shared() noexcept { shared_.fetch_add(1, braid::relaxed); }
  void count_refused() noexcept { refused_.fetch_add(1, braid::relaxed); }

 private:
  struct entry {
    std::string key;
    std::shared_ptr<const kept_rows> rows;
    std::size_t bytes = 0;
    std::optional<braid::time_point> failed = {};
  };
  using entry_list = std::list<entry>;

  void drop(entry_list::iterator which);

  cache_options options_;
  entry_list entries_;                                                 // the last used one first
  std::unordered_map<std::string_view, entry_list::iterator> by_key_;  // views of the keys in `entries_`
  // Written by the loop.
  braid::atomic<std::uint64_t> hits_{0};
  braid::atomic<std::uint64_t> stale_{0};
  braid::atomic<std::uint64_t> misses_{0};
  braid::atomic<std::uint64_t> shared_{0};
  braid::atomic<std::uint64_t> evicted_{0};
  braid::atomic<std::uint64_t> refused_{0};
  braid::atomic<std::uint64_t> bytes_{0};
  braid::atomic<std::uint64_t> count_{0};
};

}  // namespace rankd
