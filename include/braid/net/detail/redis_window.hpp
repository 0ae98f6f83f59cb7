// braid/net/detail/redis_window.hpp: the FIFO of requests in flight on a pipelined connection, in the order of sending.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/redis_request.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace braid::detail {

/// A ring of entries, one for each run of commands that were encoded for one request. An entry stays when its request
/// leaves, because the replies come nevertheless. Nothing is allocated after the start.
/// Threads: one.
class redis_window {
 public:
  struct entry {
    redis_request* who = nullptr;  // the first of those that share it; null when all have left
    std::uint32_t replies = 0;     // replies that have not arrived
  };

  /// `max_count` replies may be due at a time.
  explicit redis_window(std::uint32_t max_count)
      : max_due_(max_count),
        mask_(std::bit_ceil(std::size_t{max_count}) - 1),
        entries_(std::make_unique<entry[]>(mask_ + 1)) {}

  [[nodiscard]] auto room() const noexcept -> std::uint32_t { return max_due_ - due_; }
  [[nodiscard]] auto due() const noexcept -> std::uint32_t { return due_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return due_ == 0; }

  /// Requires 0 < replies ≤ room(). Each entry owes a reply at least, so there are never more entries than places.
  auto push(redis_request& request, std::uint32_t replies) noexcept -> entry& {
    BRAID_ASSERT(replies > 0 && replies <= room(), "the window must have room for the command");
    entry& added = entries_[end_++ & mask_];
    added = {&request, replies};
    due_ += replies;
    return added;
  }

  /// Adds an entry whose reply no task waits for. Requires room.
  void push_unowned() noexcept {
    entries_[end_++ & mask_] = {nullptr, 1};
    ++due_;
  }

  /// Returns the entry whose reply is next. Requires that a reply is due.
  [[nodiscard]] auto front() noexcept -> entry& { return entries_[begin_ & mask_]; }

  /// Called when one reply of the first entry has arrived. Returns the request that waited for it.
  auto take() noexcept -> redis_request* {
    BRAID_ASSERT(!empty(), "a reply needs a request that waits for it");
    entry& first = front();
    redis_request* const who = first.who;
    --due_;
    if (--first.replies == 0) {
      first = {};
      ++begin_;
    }
    return who;
  }

  /// Removes `request` as the waiting task of its entries; an entry that it shares passes to the next one.
  void leave(const redis_request& request) noexcept;

  /// Calls `look(who)` for each entry that a task waits for, in the order of sending, until it returns false. `look`
  /// may let requests leave.
  template <typename Look>
  void for_each(Look&& look) {
    for (std::size_t at = begin_; at != end_; ++at) {
      redis_request* const who = entries_[at & mask_].who;
      if (who != nullptr && !look(*who)) return;
    }
  }

  /// Removes the whole first entry.
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
