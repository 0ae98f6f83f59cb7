// rankd/engine/caching/row_cache.hpp: an LRU cache for the rows of nodes.
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

/// The limits of a cache, and the clock that determines the age of its rows.
struct cache_options {
  std::size_t bytes = 0;  ///< for rows and keys; 0: the cache is off, and requests do not use it
  std::size_t entries = 65'536;
  const braid::clock_source* clock = &braid::steady_time();  ///< outlives the engine
};

/// The number of malformed ids and values that one node has found in stores.
struct malformed_counts {
  std::uint32_t node = 0;
  std::uint64_t ids = 0;
  std::uint64_t values = 0;
};

/// Rows that a node produced, with the memory that contains them. Immutable once stored in the cache. Threads: any.
struct kept_rows {
  explicit kept_rows(braid::time_point begun) noexcept : made(begun) {}

  braid::arena memory{1024};
  row_set rows;                          ///< in `memory`, or in the memory of `run`
  std::shared_ptr<const void> run = {};  ///< the run that produced them, if they were too many to copy; or null
  /// The numbers of malformed ids and values that the nodes have found. A node that has found none has no entry.
  std::vector<malformed_counts> malformed;
  braid::time_point made;  ///< when the first of the reads for these rows began
};

/// The number of rows and bytes in a cache, and its counters since the engine was created.
struct cache_counts {
  std::uint64_t hits = 0;    ///< rows that were young enough
  std::uint64_t stale = 0;   ///< rows that were older, and were used while new rows were computed
  std::uint64_t misses = 0;  ///< rows that were computed
  std::uint64_t shared = 0;  ///< rows that were being computed for another request
  std::uint64_t evicted = 0;
  std::uint64_t refused = 0;  ///< rows that were too many, or too large, to keep
  std::uint64_t bytes = 0;    ///< bytes in the cache now
  std::uint64_t entries = 0;  ///< entries in the cache now

  void add(const cache_counts& other) noexcept;
};

/// The cached rows of one loop. If the cache drops rows that requests still use, the rows stay alive but are no longer
/// counted.
/// Threads: the loop's thread; `counts` from any thread. Cost: a hash of the key, and no lock.
class row_cache {
 public:
  explicit row_cache(cache_options options) noexcept : options_(options) {}

  /// Returns the rows with this key. Returns null if there are no such rows, or if their age has reached `max_age`.
  /// Rows of that age are dropped.
  auto find(std::string_view key, braid::duration max_age) -> std::shared_ptr<const kept_rows>;

  /// Stores rows, which replace rows with the same key. Then drops the least recently used rows until the remaining
  /// rows fit into the cache. Returns false if the rows are too large for the cache.
  auto keep(std::string_view key, std::shared_ptr<const kept_rows> rows) -> bool;

  /// Records that refreshing the rows with this key has failed. Does nothing if there are no such rows.
  void note_failure(std::string_view key);
  /// Returns whether `note_failure` was called for this key within the last second.
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

  void drop(entry_list::iterator entry);

  cache_options options_;
  entry_list entries_;                                                 // the most recently used entry first
  std::unordered_map<std::string_view, entry_list::iterator> by_key_;  // views of the keys in `entries_`
  // Only the loop writes the counters below.
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
