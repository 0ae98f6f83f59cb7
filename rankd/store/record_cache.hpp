// rankd/store/record_cache.hpp: a cache in memory for values that were read from a server.
#pragma once

#include <rankd/store/question.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/sync/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rankd {

class record_cache;

/// The limits of the caches of an engine, and the maximum age of cached values.
struct record_cache_options {
  std::size_t bytes = 0;  ///< the maximum size of keys and values, for all endpoints together; 0: nothing is cached
  std::size_t entries = 1'000'000;                       ///< the maximum number of keys
  braid::duration age = std::chrono::seconds(1);         ///< the maximum age of values whose changes no server reports
  braid::duration absent_age = std::chrono::seconds(1);  ///< the same for absent keys and fields
  braid::duration tracked_age = std::chrono::minutes(10);  ///< the maximum age of values whose changes a server reports
  bool tracking = true;                                    ///< whether servers are asked to report changes
  const braid::clock_source* clock = &braid::steady_time();  ///< outlives the cache
};

/// The current size of a cache, and counts since its creation.
struct record_cache_counts {
  std::uint64_t hits = 0;     ///< keys whose values were found
  std::uint64_t misses = 0;   ///< keys that were read
  std::uint64_t joined = 0;   ///< keys that another read was already reading
  std::uint64_t evicted = 0;  ///< keys that were dropped for lack of space
  std::uint64_t changed = 0;  ///< keys that were dropped because they have changed
  std::uint64_t emptied = 0;  ///< how often the whole cache was emptied, because reports may have been lost
  std::uint64_t bytes = 0;    ///< bytes in the cache now
  std::uint64_t entries = 0;  ///< keys in the cache now
  std::uint64_t caches = 0;   ///< the number of caches, one for each loop
  std::uint64_t tracked = 0;  ///< of these, the caches to which changes are reported

  void add(const record_cache_counts& other) noexcept;
};

/// A read for which a cache waits. The question, and the data that it refers to, must not change until the read ends.
struct record_read {
  store_question question;
  record_cache* cache = nullptr;  ///< null if no cache waits for it

 private:
  friend class record_cache;

  braid::time_point begun;
  const void* head = nullptr;  // the kind of question in the cache
};

/// The part of an answer that the cache contains, and the keys that are missing.
struct record_lookup {
  /// A key whose value is not cached.
  struct missing_key {
    std::uint32_t position = 0;   ///< the position in the question
    std::uint32_t index = 0;      ///< the position in the question of `read`
    record_read* read = nullptr;  ///< a running read of the same value; null if there is none
  };

  store_answer answer;  ///< the values of all keys; missing values are empty
  std::span<const missing_key> missing;
  std::size_t hits = 0;
  braid::duration oldest{};  ///< the age of the oldest value in the answer
};

/// The cached values of one endpoint for the requests of one loop. A value is the part of a key's data that a question
/// reads, so different fields of one key are different values. A value is dropped if the server reports a change of the
/// value's key, if the value is too old, or if space is needed. If space is needed, keys that were not used lately are
/// dropped first (second chance). If reports may have been lost, the whole cache is emptied. A value whose key changes
/// during its read is not cached.
/// Threads: the loop's thread; `counts` from any thread. Cost: a few memory accesses for each cached key, and a copy of
/// its value.
class record_cache final : public braid::redis_tracker {
 public:
  explicit record_cache(const record_cache_options& options);
  ~record_cache();

  /// Returns whether the values of a question can be cached: it must read keys, and the same part of each key's value.
  [[nodiscard]] static auto suits(const store_question& question) noexcept -> bool;
  /// Returns a question about some of the keys of `question`. Lifetime: the result is valid as long as `question` and
  /// `memory`.
  static auto find_part(const store_question& question, std::span<const std::uint32_t> positions, braid::arena& memory)
      -> store_question;

  /// Returns an answer in `memory` with the cached values. Requires a question for which `suits` returns true.
  auto find(const store_question& question, braid::arena& memory) -> record_lookup;
  /// Adds values to the answer of a lookup: value `from[i]` of `part` becomes value `to[i]` of the answer. Does not
  /// copy texts.
  static void add(record_lookup& to_lookup, std::span<const std::uint32_t> to, const store_answer& part,
                  std::span<const std::uint32_t> from);

  /// Registers a read that has begun. Until the read ends, lookups of its keys return this read.
  void begin(record_read& read);
  /// Ends a read and caches its answer, except for keys that have changed since its start. `answer` is null if the read
  /// has failed.
  void end(record_read& read, const store_answer* answer) noexcept;

  /// Sets whether a server reports changes of the keys that are read from now on.
  void set_tracked(bool is_tracked) noexcept { is_tracked_.store(is_tracked, braid::relaxed); }
  [[nodiscard]] auto wants_tracking() const noexcept -> bool { return options_.tracking; }

  void key_changed(std::string_view key) noexcept override;
  void all_changed() noexcept override;

  void count_joined(std::size_t keys) noexcept { joined_.fetch_add(keys, braid::relaxed); }
  [[nodiscard]] auto counts() const noexcept -> record_cache_counts;

 private:
  struct text_hash {
    using is_transparent = void;
    auto operator()(std::string_view text) const noexcept -> std::size_t { return std::hash<std::string_view>()(text); }
  };
  template <typename T>
  using text_map = std::unordered_map<std::string, T, text_hash, std::equal_to<>>;
  /// The kinds of questions about a key, as bytes. Each kind has a count of the values and reads that refer to it.
  using head_map = text_map<std::uint32_t>;
  using head = head_map::value_type;

  struct value;
  struct record;
  /// A running read of a value.
  struct expected {
    const head* what;
    record_read* read;
    std::uint32_t index;
  };

  auto find_head(const store_question& question) -> head*;
  template <typename Question, typename Each>
  static void for_each_key(const Question& question, const Each& each);
  template <typename Question>
  auto find_values(const Question& question, braid::arena& memory) -> record_lookup;
  auto find_value(std::string_view key, const head* kind, braid::time_point now) -> const value*;
  [[nodiscard]] auto find_read(std::string_view key, const head* kind) const -> const expected*;
  template <typename Question>
  void keep_all(const record_read& read, const Question& question, const store_answer* answer);
  void keep(std::string_view key, value made);
  void drop(record& entry) noexcept;
  void drop_value(record& entry, std::size_t index) noexcept;
  void make_room(const record& but) noexcept;
  void set_counts() noexcept;

  record_cache_options options_;
  head_map heads_;
  std::size_t max_heads_ = 64;  // if there are more, unused heads are removed
  text_map<record> records_;
  braid::intrusive_list<record> in_order_;  // in the order in which records were stored, or got their second chance
  text_map<std::vector<expected>> expected_;
  std::string scratch_;
  std::string head_text_;
  std::size_t bytes_ = 0;
  // Only the loop's thread writes the counts below.
  braid::atomic<bool> is_tracked_{false};
  braid::atomic<std::uint64_t> hits_{0};
  braid::atomic<std::uint64_t> misses_{0};
  braid::atomic<std::uint64_t> joined_{0};
  braid::atomic<std::uint64_t> evicted_{0};
  braid::atomic<std::uint64_t> changed_{0};
  braid::atomic<std::uint64_t> emptied_{0};
  braid::atomic<std::uint64_t> held_bytes_{0};
  braid::atomic<std::uint64_t> held_entries_{0};
};

}  // namespace rankd
