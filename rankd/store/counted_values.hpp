// rankd/store/counted_values.hpp: values in memory that events have written, each with the time at which it expires.
#pragma once

#include <rankd/store/counted_value.hpp>
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

/// The values that events have written for one endpoint. Readers treat a value as absent as soon as it has expired. The
/// next sweep frees its memory. The keys are distributed over shards, each with a mutex. A reader holds the mutex while
/// it uses one value, and a sweep holds it for all values of a shard. No thread waits for a disk while it holds a
/// mutex.
/// Threads: any number of threads may read; one thread at a time may change values.
class counted_values {
 public:
  using clock = std::function<std::chrono::milliseconds()>;

  /// Constructs an empty set of values. Readers get the time from `now`, or from the system if no
  /// function is given.
  explicit counted_values(std::size_t max_bytes, clock now = {});

  enum class outcome : std::uint8_t {
    done,
    refused,  ///< `change` has returned false
    full,     ///< there is no memory for another value, or for a longer list or set
  };

  /// Calls `change` with the value of a key, or with an empty hash if the value is absent or has expired by `now`. If
  /// `change` returns false, it must not have changed the value. A value that is empty afterwards is removed. Hashes
  /// may grow beyond the memory limit, because they have few fields.
  auto update(const std::string& key, std::chrono::milliseconds now, const std::function<bool(counted_value&)>& change)
      -> outcome;
  /// Inserts a value from a snapshot.
  void insert(std::string key, counted_value value);
  /// Frees the values that expired before `until`.
  void sweep(std::chrono::milliseconds until);

  /// Returns a field of a hash, copied into the arena. Returns nothing if there is no such hash or field.
  [[nodiscard]] auto field(const std::string& key, std::string_view name, braid::arena& arena) const
      -> std::optional<std::string_view>;
  /// Returns all fields of a hash, sorted by name and copied into the arena. The result is empty if the key is absent.
  /// Returns nothing if the key has another kind of value.
  [[nodiscard]] auto fields(const std::string& key, braid::arena& arena) const
      -> std::optional<std::span<const hash_field>>;
  /// Calls `see` with the value of a key, unless the value is absent. No thread may change the value during the call.
  template <typename See>
  void read(const std::string& key, See see) const {
    const shard& in = find_shard(key);
    const std::scoped_lock lock(in.mutex);
    if (const counted_value* value = find(in, key)) see(*value);
  }

  /// Calls `see` for each value, in any order. Threads: no thread may change a value during the call, but other threads
  /// may read.
  void for_each(const std::function<void(const std::string&, const counted_value&)>& see) const;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return size_.load(braid::relaxed); }
  /// Returns the number of bytes of memory in use, estimated from the lengths of keys, names and values.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return bytes_.load(braid::relaxed); }

 private:
  struct shard {
    mutable std::mutex mutex;
    // The mutex guards the values. A thread may read the values without the mutex while no thread changes them.
    std::unordered_map<std::string, counted_value> values;
  };
  static constexpr std::size_t shard_count = 64;

  [[nodiscard]] auto find_shard(const std::string& key) const noexcept -> const shard&;
  [[nodiscard]] auto find_shard(const std::string& key) noexcept -> shard&;
  /// Returns the value of a key, or null if it is absent or has expired. The caller must hold the mutex of the shard.
  [[nodiscard]] auto find(const shard& shard, const std::string& key) const -> const counted_value*;
  /// Changes an existing value. The caller must hold the mutex of the shard.
  auto change_value(shard& shard, const std::string& key, counted_value& value,
                    const std::function<bool(counted_value&)>& change) -> outcome;
  void count(std::size_t values_before, std::size_t values, std::size_t bytes_before, std::size_t bytes) noexcept;

  std::array<shard, shard_count> shards_;
  std::size_t max_bytes_;
  clock now_;
  // Only the thread that changes values writes these counts. A reader may see an outdated count. The reader then
  // searches a shard in vain, or misses a value that was just added.
  braid::atomic<std::size_t> size_{0};
  braid::atomic<std::size_t> bytes_{0};
};

}  // namespace rankd
