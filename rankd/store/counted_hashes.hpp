// rankd/store/counted_hashes.hpp: hashes in memory that hold counts of events. Each hash has an expiry time.
#pragma once

#include <rankd/store/record.hpp>

#include <braid/base/arena.hpp>
#include <braid/sync/atomic.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rankd {

/// A hash as Redis would hold it: the values are texts.
struct counted_hash {
  std::chrono::milliseconds ends{0};                        ///< since 1970; zero: it stays
  std::vector<std::pair<std::string, std::string>> fields;  ///< by name, ascending

  [[nodiscard]] auto find(std::string_view name) const noexcept -> const std::string*;
  void set(std::string_view name, std::string value);

  auto operator==(const counted_hash&) const -> bool = default;
};

/// The counters of one endpoint. An expired hash is absent for readers at once, and its memory is freed by the next
/// sweep. The keys are spread over shards, each with a mutex. An operation on one hash holds the mutex of its shard; a
/// sweep holds it for all hashes of the shard. No thread waits for a disk while it holds a mutex.
/// Threads: any number may read; one at a time changes.
class counted_hashes {
 public:
  using clock = std::function<std::chrono::milliseconds()>;

  /// Uses `now` as the clock of readers; if it is empty, the system's clock.
  explicit counted_hashes(std::size_t max_bytes, clock now = {});

  enum class outcome : std::uint8_t {
    done,
    refused,  ///< by the change
    full,     ///< the hash is not there yet, and there is no room for another one
  };

  /// Calls `change` with the hash of a key, or with an empty hash if the key is absent or has expired at `now`. If
  /// `change` returns false, it must have changed nothing.
  auto update(const std::string& key, std::chrono::milliseconds now, const std::function<bool(counted_hash&)>& change)
      -> outcome;
  /// Inserts a hash from a snapshot.
  void insert(std::string key, counted_hash hash);
  /// Frees the hashes that expired before `until`.
  void sweep(std::chrono::milliseconds until);

  /// Returns a field of a hash, copied into the arena.
  [[nodiscard]] auto field(const std::string& key, std::string_view name, braid::arena& arena) const
      -> std::optional<std::string_view>;
  /// Returns all fields of a hash by name, copied into the arena; empty if the hash is absent.
  [[nodiscard]] auto fields(const std::string& key, braid::arena& arena) const -> std::span<const hash_field>;

  /// Calls `see` for each hash, in any order. Threads: no thread may change a hash during the call; others may read.
  void for_each(const std::function<void(const std::string&, const counted_hash&)>& see) const;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_.load(braid::relaxed); }
  /// Returns the memory of all hashes in bytes, estimated from the lengths of keys, names and values.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_.load(braid::relaxed); }

 private:
  struct shard {
    mutable std::mutex mutex;
    // guarded by the mutex; read without the mutex if no thread may change the hashes
    std::unordered_map<std::string, counted_hash> hashes;
  };
  static constexpr std::size_t shard_count = 64;

  [[nodiscard]] auto find_shard(const std::string& key) const noexcept -> const shard&;
  [[nodiscard]] auto find_shard(const std::string& key) noexcept -> shard&;
  /// Returns null if the hash is absent or has expired. Requires that the caller holds the mutex of the shard.
  [[nodiscard]] auto find(const shard& shard, const std::string& key) const -> const counted_hash*;
  void count(std::size_t hashes_before, std::size_t hashes, std::size_t bytes_before, std::size_t bytes) noexcept;

  std::array<shard, shard_count> shards_;
  std::size_t max_bytes_;
  clock now_;
  // Written by the changing thread only. A reader may see an old number: then it searches a shard needlessly, or misses
  // a new hash.
  braid::atomic<std::size_t> size_{0};
  braid::atomic<std::size_t> bytes_{0};
};

}  // namespace rankd
