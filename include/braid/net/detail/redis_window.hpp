// braid/net/detail/redis_window.hpp: a FIFO of the requests in flight on a pipelined connection.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/redis_request.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace braid::detail {

/// A ring of entries. Each entry represents consecutive commands that were encoded for one request. An entry stays when
/// its request is withdrawn, because the replies still arrive. Nothing is allocated after the construction. Threads:
/// the loop's thread.
class redis_window {
 public:
  struct entry {
    redis_request* who = nullptr;  // the first request that shares the entry; null once all have left
    std::uint32_t replies = 0;     // replies that have not arrived
  };

  /// Constructs a window in which at most `max_count` replies may be due at a time.
  explicit redis_window(std::uint32_t max_count)
      : max_due_(max_count),
        mask_(std::bit_ceil(std::size_t{max_count}) - 1),
        entries_(std::make_unique<entry[]>(mask_ + 1)) {}

  [[nodiscard]] auto room() const noexcept -> std::uint32_t { return max_due_ - due_; }
  [[nodiscard]] auto due() const noexcept -> std::uint32_t { return due_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return due_ == 0; }

  /// Adds an entry for a request. Requires that `replies` is positive and at most `room()`. At least one reply is due
  /// for each entry, so the ring never overflows.
  auto push(redis_request& request, std::uint32_t replies) noexcept -> entry& {
    BRAID_ASSERT(replies > 0 && replies <= room(), "the window must have room for the command");
    entry& added = entries_[end_++ & mask_];
    added = {&request, replies};
    due_ += replies;
    return added;
  }

  /// Adds an entry for one reply for which no request waits. Requires that `room()` is not 0.
  void push_unowned() noexcept {
    entries_[end_++ & mask_] = {nullptr, 1};
    ++due_;
  }

  /// Returns the entry for the next reply. Requires that a reply is due.
  [[nodiscard]] auto front() noexcept -> entry& { return entries_[begin_ & mask_]; }

  /// Records that one reply of the first entry has arrived. Returns the request that waits for the reply, or null.
  auto take() noexcept -> redis_request* {
    BRAID_ASSERT(!empty(), "a reply arrived although no request waits for one");
    entry& first = front();
    redis_request* const who = first.who;
    --due_;
    if (--first.replies == 0) {
      first = {};
      ++begin_;
    }
    return who;
  }

  /// Removes a withdrawn request from its entries. If several requests share an entry, the next of these requests then
  /// owns the entry.
  void leave(const redis_request& request) noexcept;

  /// Calls `look(request)` for each entry that has a request, in the order of sending, until `look` returns false.
  /// `look` may withdraw requests.
  template <typename Look>
  void for_each(Look&& look) {
    for (std::size_t at = begin_; at != end_; ++at) {
      redis_request* const who = entries_[at & mask_].who;
      if (who != nullptr && !look(*who)) return;
    }
  }

  /// Removes the first entry with all of its replies. Returns the request of the entry, or null.
  auto drop_front() noexcept -> redis_request* {
    entry& first = front();
    redis_request* const who = first.who;
    due_ -= first.replies;
    first = {};
    ++begin_;
    return who;
  }

 private:
  std::uint32_t max_due_;
  std::uint32_t due_ = 0;
  std::size_t mask_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::unique_ptr<entry[]> entries_;
};

}  // namespace braid::detail
