// braid/trace/detail/record_ring.hpp: a bounded queue of records between a thread and the writer of a trace.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace braid::detail {

/// A bounded SPSC ring (Lamport's queue). The traced thread adds records, and the writer thread reads them. Records
/// that do not fit are counted and dropped. An accepted slice reserves room for the record of its end. So if records of
/// a slice are lost, its begin and its end are both lost. Threads: one thread, the producer, may call the functions for
/// the producer, and one thread, the consumer, may call the functions for the consumer. Blocks: never. Protocol:
/// docs/design/trace.md
template <typename Record, std::size_t Capacity>
class record_ring {
  static_assert((Capacity & (Capacity - 1)) == 0, "the capacity must be a power of two");

 public:
  // --- Functions for the producer. ---

  /// Adds one or two records. If there is no room for all of them, adds none of them and returns false. `opens` is the
  /// number of end records that will be added for them later.
  template <std::size_t Count>
  [[nodiscard]] auto try_add(const std::array<Record, Count>& records, std::uint64_t opens = 0) noexcept -> bool {
    const std::uint64_t head = head_.load(relaxed);
    if (!has_room(head, Count + open_ + opens)) {
      lost_.store(lost_.load(relaxed) + Count + opens, relaxed);
      return false;
    }
    open_ += opens;
    put(head, records);
    return true;
  }

  /// Adds the end of a slice that was accepted.
  void add_end(const Record& record) noexcept {
    --open_;
    put(head_.load(relaxed), std::array<Record, 1>{record});
  }

  // --- Functions for the consumer. ---

  /// Calls `fn(record)` for each record that was added since the last call, in order. Returns the number of these
  /// records.
  template <typename Fn>
  auto drain(Fn&& fn) -> std::size_t {
    const std::uint64_t tail = tail_.load(relaxed);
    const std::uint64_t head = head_.load(acquire);  // edge record_ring.record: observe, the records are seen whole
    for (std::uint64_t at = tail; at != head; ++at) fn(records_[at % Capacity]);
    // edge record_ring.free: publish that the records were read, so that the producer may overwrite them
    tail_.store(head, release);
    return head - tail;
  }

  /// Returns the number of records that have been read so far.
  [[nodiscard]] auto read() const noexcept -> std::uint64_t { return tail_.load(relaxed); }

  // --- Functions for reading a ring whose process has ended. ---

  /// Appends to `records` all records that are still in the ring, except the first `skipped` records that were ever
  /// added. Returns the number of records that were overwritten. Even if the ring's bytes are invalid, it appends no
  /// more than the ring can contain. The last two positions are skipped, because they may contain an incomplete record.
  auto copy_from(std::uint64_t skipped, std::vector<Record>& records) const -> std::uint64_t {
    constexpr std::uint64_t kept = Capacity - 2;
    const std::uint64_t head = head_.load(acquire);  // edge record_ring.record: observe, the records are seen whole
    if (skipped > head) return 0;
    const std::uint64_t first = head - skipped > kept ? head - kept : skipped;
    for (std::uint64_t at = first; at != head; ++at) records.push_back(records_[at % Capacity]);
    return first - skipped;
  }

  /// Returns the number of records that have been dropped so far.
  /// Threads: any.
  [[nodiscard]] auto lost() const noexcept -> std::uint64_t { return lost_.load(relaxed); }

 private:
  auto has_room(std::uint64_t head, std::uint64_t count) noexcept -> bool {
    if (head + count - known_tail_ <= Capacity) return true;
    known_tail_ = tail_.load(acquire);  // edge record_ring.free: observe that the old records were read
    return head + count - known_tail_ <= Capacity;
  }

  /// Writes records, after the caller has checked that there is room. The check may use an old value of the consumer's
  /// position, `known_tail_`. In this case, the actual room is larger than the computed room.
  template <std::size_t Count>
  void put(std::uint64_t head, const std::array<Record, Count>& records) noexcept {
    for (std::size_t i = 0; i < Count; ++i) records_[(head + i) % Capacity] = records[i];
    head_.store(head + Count, release);  // edge record_ring.record: publish, the consumer reads whole records
  }

  alignas(cache_line) atomic<std::uint64_t> head_{0};  // the number of added records; written by the producer
  atomic<std::uint64_t> lost_{0};                      // the number of dropped records; written by the producer
  std::uint64_t known_tail_ = 0;                       // the producer's copy of `tail_`
  std::uint64_t open_ = 0;                             // slices that have begun and not ended; used by the producer
  alignas(cache_line) atomic<std::uint64_t> tail_{0};  // the number of read records; written by the consumer
  alignas(cache_line) std::array<Record, Capacity> records_;
};

}  // namespace braid::detail
