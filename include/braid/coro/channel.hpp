// braid/coro/channel.hpp: values that tasks of any home send each other, with room for a bounded number of them.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

/// Bounded MPMC channel. A sender waits while there is no room, a receiver while there is nothing; both are served in
/// the order in which they came, and values arrive in the order in which they were sent. With room for none it is a
/// rendezvous: a sender waits until a receiver has taken its value. After `close` nothing can be sent; values that are
/// there are still received.
/// A stop loses nothing: a value that was handed to a receiver is received by it, also where the stop came before it
/// could go on; a sender that is stopped while it waits keeps its value, which dies with it.
/// Threads: any. Lifetime: outlives the waiting tasks. Cost: all memory when it is made; a lock for each call; for each
/// task that waited a post to its home.
/// Protocol: docs/design/coroutine_sync.md
template <typename T>
class channel {
  static_assert(std::is_nothrow_move_constructible_v<T>, "values move under a lock, and must not throw there");
  class send_awaiter;
  class receive_awaiter;

 public:
  explicit channel(std::size_t capacity) : capacity_(capacity), ring_(new std::optional<T>[capacity]) {}
  channel(const channel&) = delete;
  auto operator=(const channel&) -> channel& = delete;

  /// `co_await send(value)` waits for room. Gives a result<void>. Errors: errc::closed, and then the value is gone.
  [[nodiscard]] auto send(T value) noexcept { return send_awaiter(*this, std::move(value)); }

  /// Sends without waiting. Errors: errc::full, errc::closed; `value` is as it was then.
  [[nodiscard]] auto try_send(T&& value) noexcept -> result<void>;
  /// The same with a copy.
  [[nodiscard]] auto try_send(const T& value) noexcept(std::is_nothrow_copy_constructible_v<T>) -> result<void>
    requires std::copy_constructible<T>
  {
    return try_send(T(value));
  }

  /// `co_await receive()` waits for a value. Gives a std::optional<T>, without a value once the channel is closed and
  /// nothing is left.
  [[nodiscard]] auto receive() noexcept { return receive_awaiter(*this); }

  /// The next value, if there is one.
  [[nodiscard]] auto try_receive() noexcept -> std::optional<T>;

  /// Refuses what is sent from now on, that of waiting senders included, and wakes all waiting tasks. Repeated calls
  /// change nothing.
  void close() noexcept;

  [[nodiscard]] auto is_closed() const noexcept -> bool {
    const std::lock_guard guard(lock_);
    return closed_;
  }
  /// How many values have been sent and not received, without those of waiting senders.
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::lock_guard guard(lock_);
    return size_;
  }
  [[nodiscard]] auto capacity() const noexcept -> std::size_t { return capacity_; }

 private:
  auto put(T& value, detail::wake_list& woken) noexcept -> bool;
  auto take(std::optional<T>& into, detail::wake_list& woken) noexcept -> bool;
  void keep(T& value) noexcept { ring_[(first_ + size_++) % capacity_].emplace(std::move(value)); }

  const std::size_t capacity_;
  mutable std::mutex lock_;  // around all that follows
  std::unique_ptr<std::optional<T>[]> ring_;
  std::size_t first_ = 0;  // where the oldest value lies
  std::size_t size_ = 0;
  bool closed_ = false;
  detail::wait_queue senders_;    // only while the ring is full
  detail::wait_queue receivers_;  // only while it is empty, and no task waits to send
};

template <typename T>
class channel<T>::send_awaiter final : public detail::queue_awaiter<send_awaiter> {
 public:
  static constexpr const char* waits_for = "channel with room";

  send_awaiter(channel& to, T value) noexcept
      : detail::queue_awaiter<send_awaiter>(to.lock_), to_(&to), value_(std::move(value)) {}

  [[nodiscard]] auto await_resume() const noexcept -> result<void> {
    if (!sent_) return fail(errc::closed);
    return {};
  }

  [[nodiscard]] auto try_take(detail::wake_list& woken) noexcept -> bool {
    if (to_->closed_) return true;
    sent_ = to_->put(value_, woken);
    return sent_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return to_->senders_; }

 private:
  friend class channel;

  channel* to_;
  T value_;
  bool sent_ = false;
};

template <typename T>
class channel<T>::receive_awaiter final : public detail::queue_awaiter<receive_awaiter> {
 public:
  static constexpr const char* waits_for = "channel with a value";

  explicit receive_awaiter(channel& from) noexcept : detail::queue_awaiter<receive_awaiter>(from.lock_), from_(&from) {}

  [[nodiscard]] auto await_resume() noexcept -> std::optional<T> { return std::move(value_); }

  [[nodiscard]] auto try_take(detail::wake_list& woken) noexcept -> bool {
    return from_->take(value_, woken) || from_->closed_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return from_->receivers_; }

 private:
  friend class channel;

  channel* from_;
  std::optional<T> value_;
};

/// To the oldest receiver that waits, or into the ring. False when there is no room.
template <typename T>
auto channel<T>::put(T& value, detail::wake_list& woken) noexcept -> bool {
  if (detail::waiter* const oldest = receivers_.pop(); oldest != nullptr) {
    static_cast<receive_awaiter*>(oldest)->value_.emplace(std::move(value));
    woken.add(*oldest);
    return true;
  }
  if (size_ == capacity_) return false;
  keep(value);
  return true;
}

/// The oldest value; the oldest sender that waits then has room. False when there is nothing.
template <typename T>
auto channel<T>::take(std::optional<T>& into, detail::wake_list& woken) noexcept -> bool {
  if (size_ != 0) {
    into.emplace(std::move(*ring_[first_]));
    ring_[first_].reset();
    first_ = (first_ + 1) % capacity_;
    --size_;
  }
  if (detail::waiter* const oldest = senders_.pop(); oldest != nullptr) {
    auto& sender = static_cast<send_awaiter&>(*oldest);
    sender.sent_ = true;
    if (into)
      keep(sender.value_);
    else
      into.emplace(std::move(sender.value_));
    woken.add(sender);
  }
  return into.has_value();
}

template <typename T>
auto channel<T>::try_send(T&& value) noexcept -> result<void> {
  detail::wake_list woken;
  const std::lock_guard guard(lock_);
  if (closed_) return fail(errc::closed);
  if (!put(value, woken)) return fail(errc::full);
  return {};
}

template <typename T>
auto channel<T>::try_receive() noexcept -> std::optional<T> {
  std::optional<T> value;
  detail::wake_list woken;
  const std::lock_guard guard(lock_);
  static_cast<void>(take(value, woken));
  return value;
}

template <typename T>
void channel<T>::close() noexcept {
  detail::wake_list woken;
  const std::lock_guard guard(lock_);
  closed_ = true;
  senders_.pop_all(woken);
  receivers_.pop_all(woken);
}

}  // namespace braid
