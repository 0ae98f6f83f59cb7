// braid/sync/detail/inbox_producer.hpp: the queue of one producer in an inbox: a chain of reusable segments.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/inbox_record.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace braid::detail {

/// The part of a producer that does not depend on template arguments. Each thread stores a pointer to this part, in
/// order to return the producer when the thread ends.
class inbox_producer_base {
 public:
  /// Claims the producer. Returns false while another thread uses it.
  [[nodiscard]] auto try_use() noexcept -> bool {
    std::uint32_t seen = 0;
    // edge inbox_producer.owner: observe the producer's fields as the last thread has left them
    return used_.compare_exchange_strong(seen, 1, acquire, relaxed);
  }

  /// Returns the producer. Called when its thread will not post any more.
  /// edge inbox_producer.owner: publish the producer's fields, so that the next thread sees them
  void give_back() noexcept { used_.store(0, release); }

 private:
  atomic<std::uint32_t> used_{1};  // whether a thread posts here
};

/// A segment of a producer's chain. It stores records. While the segment is in the chain, each part of its memory is
/// used only once.
template <std::size_t Size>
struct inbox_segment {
  /// Returns whether no callable of the segment is in use any more. Requires that consumers have passed the segment.
  [[nodiscard]] auto is_done() const noexcept -> bool {
    // edge inbox_producer.done: observe the end of each callable, before its memory is reused
    return done.load(acquire) + moved == records;
  }

  /// The next segment of the chain. The producer writes it before it counts a callable in that segment. Afterwards this
  /// pointer belongs to the consumers.
  inbox_segment* next = nullptr;
  std::uint32_t records = 0;      // the number of callables that it contained; written when it is passed
  std::uint32_t moved = 0;        // the number of them that thieves took; written inside the section
  atomic<std::uint32_t> done{0};  // the number of callables that the owner has ended; written by the owner
  alignas(64) std::array<std::byte, Size - 64> memory;  // not accessed before the producer reaches it
};

/// A position in a producer's queue: the number of callables before it, and the offset of the next callable. Both are
/// in one word, so that a single store changes both.
class inbox_position {
 public:
  inbox_position() = default;
  explicit inbox_position(std::uint64_t word) noexcept : word_(word) {}

  [[nodiscard]] auto word() const noexcept -> std::uint64_t { return word_; }
  [[nodiscard]] auto count() const noexcept -> std::uint64_t { return word_ >> offset_bits; }
  [[nodiscard]] auto offset() const noexcept -> std::size_t { return word_ & (offset_limit - 1); }

  /// Returns the position after a record of `size` bytes.
  [[nodiscard]] auto after(std::size_t size) const noexcept -> inbox_position {
    return inbox_position(word_ + offset_limit + size);
  }

  /// Returns the position at the beginning of the next segment.
  [[nodiscard]] auto in_next_segment() const noexcept -> inbox_position { return inbox_position(word_ - offset()); }

  static constexpr int offset_bits = 16;
  static constexpr std::size_t offset_limit = std::size_t{1} << offset_bits;

 private:
  std::uint64_t word_ = 0;  // the count, and below it the offset
};

/// A queue of the callables of one producer, in order. Its size is limited only by memory. Threads: the producer, and
/// one consumer at a time. Only the owner of the inbox calls `done`.
template <std::size_t SegmentSize>
class inbox_producer : public inbox_producer_base {
 public:
  using segment = inbox_segment<SegmentSize>;

  /// The maximum number of callables that a thief moves.
  /// docs/design/constants.md explains how these values were chosen.
  static constexpr std::size_t max_moved = 128;

  /// The number of empty segments that are kept for the producer.
  static constexpr std::size_t max_spares = 64;

  /// A callable that only the claiming consumer can access. It stays in its segment until `done` is called.
  struct claimed {
    inbox_record* record = nullptr;
    segment* of = nullptr;
  };

  inbox_producer() : last_(new segment), oldest_(last_) {}
  inbox_producer(const inbox_producer&) = delete;
  auto operator=(const inbox_producer&) -> inbox_producer& = delete;
  ~inbox_producer() { free_memory(); }

  // --- Functions for the producer. ---

  /// A guard that marks the producer as busy. Its destructor makes the posted callables visible to consumers.
  class posting {
   public:
    explicit posting(inbox_producer& port) noexcept : port_(port), end_(port.posted_.load(relaxed)) {
      BRAID_ASSERT(end_.word() % 2 == 0, "copying or moving a callable into an inbox must not post to the same inbox");
      // A release store is needed although nothing new is published. A thread that reads this value must observe the
      // same records as a thread that reads the previous value.
      // edge inbox_producer.posted: publish the same records that the store of the previous value has published
      port_.posted_.store(end_.word() + 1, release);
    }
    posting(const posting&) = delete;
    auto operator=(const posting&) -> posting& = delete;
    // edge inbox_producer.posted: publish the records and their links
    ~posting() { port_.posted_.store(end_.word(), release); }

    /// Returns whether at least `capacity` callables of this producer are waiting.
    [[nodiscard]] auto is_full(std::size_t capacity) noexcept -> bool {
      if (end_.count() - port_.seen_taken_ < capacity) return false;
      port_.seen_taken_ = inbox_position(port_.taken_.load(relaxed)).count();
      return end_.count() - port_.seen_taken_ >= capacity;
    }

    /// Returns the address for a record of `size` bytes, or null if memory cannot be allocated.
    [[nodiscard]] auto place(std::size_t size) noexcept -> std::byte* {
      if (end_.offset() + size > room) [[unlikely]] {
        if (!port_.try_extend(end_.offset())) return nullptr;
        end_ = end_.in_next_segment();
      }
      std::byte* const here = port_.last_->memory.data() + end_.offset();
      // Prefetches the cache line that will be written soon. A consumer was the last to use this line, and without the
      // prefetch all later stores would wait for it.
      if (end_.offset() + fetched_ahead < room) __builtin_prefetch(here + fetched_ahead, 1);
      return here;
    }

    /// Counts a record of `size` bytes that was constructed at the address that `place` has returned.
    void count(std::size_t size) noexcept { end_ = end_.after(size); }

    /// Makes the posted records visible.
    // edge inbox_producer.posted: publish the records and their links
    void publish() noexcept { port_.posted_.store(end_.word() + 1, release); }

   private:
    inbox_producer& port_;
    inbox_position end_;  // the future position of the producer
  };

  /// Returns the number of waiting callables of this producer.
  [[nodiscard]] auto backlog() const noexcept -> std::size_t {
    const std::uint64_t taken = inbox_position(taken_.load(relaxed)).count();
    return std::max(inbox_position(posted_.load(relaxed)).count(), taken) - taken;
  }

  // --- Functions for a consumer. ---

  /// Claims the oldest callable of the current slice. Returns an empty result if the slice has ended.
  [[nodiscard]] auto claim() noexcept -> claimed {
    inbox_position at(taken_.load(relaxed));
    if (at.count() == slice_end_) return {};
    inbox_record& oldest = next(at);
    // Prefetches the next cache lines, which are in the producer's cache because the producer wrote them last. Does not
    // prefetch lines that the producer may be writing now.
    if (slice_end_ - at.count() > fetched_ahead / inbox_record::unit)
      __builtin_prefetch(reinterpret_cast<std::byte*>(&oldest) + fetched_ahead);
    // edge inbox_producer.taken: publish that this worker is not idle, before the count of taken callables includes
    // this one
    taken_.store(at.after(oldest.size()).word(), release);
    return {.record = &oldest, .of = oldest_};
  }

  /// Reads the producer's current position. This takes the cache line away from the producer.
  void look() noexcept {
    // edge inbox_producer.posted: observe the records and their links
    known_ = inbox_position(posted_.load(acquire)).count();
  }

  /// Begins a slice of at most `max_count` callables that were visible at the last poll. Returns false if no callable
  /// was visible.
  auto begin_slice(std::uint64_t max_count) noexcept -> bool {
    const std::uint64_t taken = inbox_position(taken_.load(relaxed)).count();
    slice_end_ = taken + std::min(known_ - taken, max_count);
    return slice_end_ != taken;
  }

  /// Counts one more destroyed callable of the segment. Called by the owner of the inbox.
  static void done(segment& holder) noexcept {
    // edge inbox_producer.done: publish the end of the callable, before its memory is reused
    holder.done.store(holder.done.load(relaxed) + 1, release);
  }

  /// Moves half of the callables, rounded up, to the queue of the guard `there`. Returns the number of moved callables.
  /// They are visible in the new queue before they disappear from this one.
  auto move_half_to(posting& there) noexcept -> std::size_t;

  /// Moves the oldest callable to the address `place`. Returns false if there is no callable.
  auto move_one_to(std::byte* place) noexcept -> bool;

  // --- Functions for any thread. ---

  /// Returns whether the queue is empty. Returns false if it contains a callable whose post happens before this call.
  [[nodiscard]] auto empty() const noexcept -> bool {
    // edge inbox_producer.taken: observe that the threads that took callables are not idle, or that their inboxes hold
    // the callables
    const inbox_position taken(taken_.load(acquire));
    return inbox_position(posted_.load(relaxed)).count() <= taken.count();
  }

  /// Returns whether the producer is busy with a post. `close` waits until this returns false.
  [[nodiscard]] auto is_posting() const noexcept -> bool { return posted_.load(relaxed) % 2 != 0; }

  /// Frees the memory. Requires that no thread uses the queue any more, and that `done` was called for all claimed
  /// callables.
  void free_memory() noexcept;

 private:
  /// The number of bytes of a segment that are used for records. A segment has additional room for the end mark.
  static constexpr std::size_t room = sizeof(segment::memory) - inbox_record::unit;
  static_assert(room >= inbox_record::unit + inbox_record::inline_size && room < inbox_position::offset_limit);

  // docs/design/constants.md explains how this value was chosen.
  static constexpr std::size_t fetched_ahead = 256;

  /// Returns the callable at this position. If the segment ends at this position, returns the first callable of the
  /// next segment. Requires that the callable exists.
  auto next(inbox_position& position) noexcept -> inbox_record& {
    inbox_record& here = inbox_record::of(oldest_->memory.data() + position.offset());
    if (!here.is_end()) [[likely]]
      return here;
    pass(position.count());
    position = position.in_next_segment();
    return inbox_record::of(oldest_->memory.data());
  }

  auto try_extend(std::size_t end) noexcept -> bool;
  void pass(std::uint64_t taken) noexcept;
  void recycle(segment* empty) noexcept;

  // The following members belong to the producer.
  atomic<std::uint64_t> posted_{0};  // the position of the next record, plus 1 while the producer is posting
  segment* last_;
  std::uint64_t seen_taken_ = 0;  // an earlier count of taken_
  std::size_t reuse_at_ = 0;      // the index of the spare that is used next

  // The following members belong to the consumers and are used inside their section.
  alignas(cache_line) atomic<std::uint64_t> taken_{0};  // the position of the next record to claim
  std::uint64_t slice_end_ = 0;                         // the number of claimed callables at the end of the slice
  std::uint64_t known_ = 0;                             // an earlier count of posted_
  segment* oldest_;
  std::uint64_t before_ = 0;   // the number of callables before this segment
  segment* passed_ = nullptr;  // a segment whose callables are all claimed, but were not all done at the last poll
  std::size_t return_at_ = 0;  // the index of the next spare

  /// A ring of empty segments that are returned to the producer. Unused entries are null. A consumer fills null
  /// entries.
  alignas(cache_line) std::array<atomic<segment*>, max_spares> spares_{};
};

/// Writes the end mark at offset `end` of the last segment, and appends a segment.
template <std::size_t SegmentSize>
auto inbox_producer<SegmentSize>::try_extend(std::size_t end) noexcept -> bool {
  atomic<segment*>& spare = spares_[reuse_at_ % max_spares];
  segment* more = spare.load(acquire);  // edge inbox_producer.spare: observe the segment as the consumers left it
  if (more != nullptr) {
    spare.store(nullptr, relaxed);
    ++reuse_at_;
  } else {
    more = new (std::nothrow) segment;
    if (more == nullptr) return false;
  }
  inbox_record::make_end(last_->memory.data() + end);
  last_->next = more;
  last_ = more;
  return true;
}

/// Advances to the next segment. Claimed callables of the old segment may still be running. So the old segment is kept
/// until all of them have ended, which each call of this function checks.
template <std::size_t SegmentSize>
void inbox_producer<SegmentSize>::pass(std::uint64_t taken) noexcept {
  segment* const before = std::exchange(oldest_, oldest_->next);
  before->records = static_cast<std::uint32_t>(taken - std::exchange(before_, taken));
  before->next = std::exchange(passed_, before);
  for (segment** link = &passed_; *link != nullptr;) {
    if ((*link)->is_done())
      recycle(std::exchange(*link, (*link)->next));
    else
      link = &(*link)->next;
  }
}

template <std::size_t SegmentSize>
void inbox_producer<SegmentSize>::recycle(segment* empty) noexcept {
  atomic<segment*>& spare = spares_[return_at_ % max_spares];
  if (spare.load(relaxed) != nullptr) {
    delete empty;
    return;
  }
  empty->next = nullptr;
  empty->moved = 0;
  empty->done.store(0, relaxed);
  spare.store(empty, release);  // edge inbox_producer.spare: publish the segment as it was emptied
  ++return_at_;
}

template <std::size_t SegmentSize>
auto inbox_producer<SegmentSize>::move_half_to(posting& there) noexcept -> std::size_t {
  look();
  inbox_position at(taken_.load(relaxed));
  const auto half = std::min<std::uint64_t>((known_ - at.count() + 1) / 2, max_moved);
  std::size_t moved = 0;
  for (; moved < half; ++moved) {
    inbox_record& oldest = next(at);
    const std::size_t size = oldest.size();
    std::byte* const place = there.place(size);
    if (place == nullptr) break;
    oldest.act(inbox_action::move, place);
    there.count(size);
    at = at.after(size);
    ++oldest_->moved;
  }
  there.publish();
  // edge inbox_producer.taken: publish the callables in the thief's inbox, before they disappear from this queue
  taken_.store(at.word(), release);
  slice_end_ = at.count();
  return moved;
}

template <std::size_t SegmentSize>
auto inbox_producer<SegmentSize>::move_one_to(std::byte* place) noexcept -> bool {
  look();
  if (!begin_slice(1)) return false;
  const claimed oldest = claim();
  oldest.record->act(inbox_action::move, place);
  ++oldest.of->moved;
  return true;
}

template <std::size_t SegmentSize>
void inbox_producer<SegmentSize>::free_memory() noexcept {
  for (segment** list : {&oldest_, &passed_})
    while (*list != nullptr) delete std::exchange(*list, (*list)->next);
  for (atomic<segment*>& spare : spares_) {
    delete spare.load(relaxed);
    spare.store(nullptr, relaxed);
  }
}

template <std::size_t SegmentSize>
auto make_producer() -> std::shared_ptr<inbox_producer<SegmentSize>> {
  return std::make_shared<inbox_producer<SegmentSize>>();
}

/// This function is defined in the library. A thread keeps the producers that it has opened, and may outlive the shared
/// object that contains the calling code.
template <>
BRAID_API auto make_producer<4096>() -> std::shared_ptr<inbox_producer<4096>>;

}  // namespace braid::detail
