// braid/coro/channel.hpp: channels that pass values from task to task: bounded channels, and channels for one value.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/task/detail/job_memory.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

/// A bounded MPMC channel. A sender waits while the channel is full, and a receiver waits while it is empty. Senders
/// and receivers are served first come, first served, and values arrive in the order in which they were sent. In a
/// channel with a capacity of 0, each sender waits until a receiver has taken its value (a rendezvous). After `close`
/// nothing can be sent; values that are in the channel are still received. No value is lost by a stop. If a value was
/// passed to a waiting receiver, the receiver returns it, even if it is stopped before it resumes. A sender that is
/// stopped while it waits keeps its value, which is destroyed with the sender.
/// Threads: any. Lifetime: must outlive the waiting tasks. Cost: all memory is allocated at construction; a lock for
/// each call; a post to the home of each task that waited (the serial executor that the task is bound to). Protocol:
/// docs/design/coroutine_sync.md
template <typename T>
class channel {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "moving a value must be noexcept, because it happens under a lock");
  class send_awaiter;
  class receive_awaiter;

 public:
  explicit channel(std::size_t capacity) : capacity_(capacity), ring_(new std::optional<T>[capacity]) {}
  channel(const channel&) = delete;
  auto operator=(const channel&) -> channel& = delete;

  /// `co_await send(value)` waits for room. Returns a result<void>.
  /// Errors: errc::closed; in this case, the value is destroyed.
  [[nodiscard]] auto send(T value) noexcept { return send_awaiter(*this, std::move(value)); }

  /// `co_await emplace(arguments...)` waits for room for a value that is constructed from the arguments. Use this form
  /// for aggregates, because g++ 12 destroys the temporary of `co_await send(item{…})` twice (docs/cookbook.md). The
  /// result and the errors are those of `send`.
  template <typename... Args>
    requires std::constructible_from<T, Args...>
  [[nodiscard]] auto emplace(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>) {
    return send_awaiter(*this, T(std::forward<Args>(args)...));
  }

  /// Sends without waiting. Errors: errc::full, errc::closed. In both cases, `value` is unchanged.
  [[nodiscard]] auto try_send(T&& value) noexcept -> result<void>;
  /// Sends a copy of the value without waiting. Errors: errc::full, errc::closed.
  [[nodiscard]] auto try_send(const T& value) noexcept(std::is_nothrow_copy_constructible_v<T>) -> result<void>
    requires std::copy_constructible<T>
  {
    return try_send(T(value));
  }

  /// `co_await receive()` waits for a value. Returns a std::optional<T>, which is empty once the channel is closed and
  /// contains no more values.
  [[nodiscard]] auto receive() noexcept { return receive_awaiter(*this); }

  /// Returns the next value, or an empty optional if no value is available.
  [[nodiscard]] auto try_receive() noexcept -> std::optional<T>;

  /// Refuses values that are sent from now on, including values of waiting senders, and wakes all waiting tasks.
  /// Repeated calls have no effect.
  void close() noexcept;

  [[nodiscard]] auto is_closed() const noexcept -> bool {
    const std::lock_guard guard(lock_);
    return closed_;
  }
  /// Returns the number of values that were sent and have not been received yet. Values of waiting senders do not
  /// count.
  [[nodiscard]] auto size() const noexcept -> std::size_t {
    const std::lock_guard guard(lock_);
    return size_;
  }
  [[nodiscard]] auto capacity() const noexcept -> std::size_t { return capacity_; }

 private:
  auto put(T& value, detail::wake_list& woken) noexcept -> bool;
  auto take(std::optional<T>& into, detail::wake_list& woken) noexcept -> bool;
  void keep(T& value) noexcept { ring_[wrapped(first_ + size_++)].emplace(std::move(value)); }
  /// Converts a position to a ring index. The position is less than twice the capacity, so a subtraction replaces the
  /// slower division.
  [[nodiscard]] auto wrapped(std::size_t position) const noexcept -> std::size_t {
    return position < capacity_ ? position : position - capacity_;
  }

  const std::size_t capacity_;
  mutable detail::small_mutex lock_;  // guards all members below
  std::unique_ptr<std::optional<T>[]> ring_;
  std::size_t first_ = 0;  // the index of the oldest value
  std::size_t size_ = 0;
  bool closed_ = false;
  detail::wait_queue senders_;    // empty unless the ring is full
  detail::wait_queue receivers_;  // empty unless the ring is empty and no task waits to send
};

template <typename T>
class [[nodiscard, gnu::warn_unused]] channel<T>::send_awaiter final : public detail::queue_awaiter<send_awaiter> {
 public:
  static constexpr const char* waits_for = "channel with room";

  send_awaiter(channel& to, T value) noexcept
      : detail::queue_awaiter<send_awaiter>(to.lock_), channel_(&to), value_(std::move(value)) {}

  [[nodiscard]] auto await_resume() const noexcept -> result<void> {
    if (!sent_) return fail(errc::closed);
    return {};
  }

  [[nodiscard]] auto try_take(detail::wake_list& woken) noexcept -> bool {
    if (channel_->closed_) return true;
    sent_ = channel_->put(value_, woken);
    return sent_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return channel_->senders_; }

 private:
  friend class channel;

  channel* channel_;
  T value_;
  bool sent_ = false;
};

template <typename T>
class [[nodiscard, gnu::warn_unused]] channel<T>::receive_awaiter final
    : public detail::queue_awaiter<receive_awaiter> {
 public:
  static constexpr const char* waits_for = "channel with a value";

  explicit receive_awaiter(channel& from) noexcept
      : detail::queue_awaiter<receive_awaiter>(from.lock_), channel_(&from) {}

  [[nodiscard]] auto await_resume() noexcept -> std::optional<T> { return std::move(value_); }

  [[nodiscard]] auto try_take(detail::wake_list& woken) noexcept -> bool {
    return channel_->take(value_, woken) || channel_->closed_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return channel_->receivers_; }

 private:
  friend class channel;

  channel* channel_;
  std::optional<T> value_;
};

/// Passes `value` to the receiver that has waited longest, or stores it in the ring. Returns false if there is no room.
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

/// Moves the oldest value out. The oldest waiting sender then gets the free slot. Returns false if the channel is
/// empty.
template <typename T>
auto channel<T>::take(std::optional<T>& into, detail::wake_list& woken) noexcept -> bool {
  if (size_ != 0) {
    into.emplace(std::move(*ring_[first_]));
    ring_[first_].reset();
    first_ = wrapped(first_ + 1);
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

namespace detail {

template <typename T>
struct oneshot_state {
  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* block, std::size_t size) noexcept { free_job(block, size); }

  small_mutex lock;  // guards all members below
  std::optional<T> value;
  bool sender_left = false;  // with or without sending a value
  bool receiver_left = false;
  wait_queue waiting;  // the receiver
};

}  // namespace detail

template <typename T>
class oneshot_sender;
template <typename T>
class oneshot_receiver;

/// Returns the sending and the receiving end of a new channel for one value: `auto [sender, receiver] =
/// make_oneshot<int>();`. Threads: any. Errors: std::bad_alloc.
template <typename T>
auto make_oneshot() -> std::pair<oneshot_sender<T>, oneshot_receiver<T>>;

/// The sending end of a channel for one value. If it is destroyed before it has sent a value, the receiver gets an
/// error.
/// Threads: one at a time; another thread may use the receiver at the same time. Cost: a lock; a post to the receiver's
/// home if the receiver waits.
template <typename T>
class [[nodiscard]] oneshot_sender {
 public:
  oneshot_sender(oneshot_sender&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(oneshot_sender other) noexcept -> oneshot_sender& {
    std::swap(state_, other.state_);
    return *this;
  }
  ~oneshot_sender() {
    if (state_ != nullptr) leave(std::nullopt);
  }

  /// Sends the value. Requires that nothing was sent before. Errors: errc::closed if the receiver was destroyed; in
  /// this case, the value is destroyed, too.
  [[nodiscard]] auto send(T value) noexcept -> result<void> {
    BRAID_EXPECTS(state_ != nullptr, "a oneshot can send only one value");
    if (!leave(std::move(value))) return fail(errc::closed);
    return {};
  }

  /// Returns whether the receiver was destroyed.
  [[nodiscard]] auto is_closed() const noexcept -> bool {
    if (state_ == nullptr) return true;
    const std::lock_guard guard(state_->lock);
    return state_->receiver_left;
  }

 private:
  template <typename U>
  friend auto make_oneshot() -> std::pair<oneshot_sender<U>, oneshot_receiver<U>>;
  explicit oneshot_sender(detail::oneshot_state<T>& state) noexcept : state_(&state) {}

  /// Ends the sender, with a value or without one. Returns false if the receiver was destroyed.
  auto leave(std::optional<T> value) noexcept -> bool;

  detail::oneshot_state<T>* state_;
};

/// The receiving end of a channel for one value. If it is destroyed before a value arrives, the sender's `send` fails.
/// Threads: one at a time; another thread may use the sender at the same time.
template <typename T>
class [[nodiscard]] oneshot_receiver {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "moving a value must be noexcept, because it happens under a lock");
  class awaiter;

 public:
  oneshot_receiver(oneshot_receiver&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(oneshot_receiver other) noexcept -> oneshot_receiver& {
    std::swap(state_, other.state_);
    return *this;
  }
  /// Requires that no task waits for the value.
  ~oneshot_receiver();

  /// Waits for the value. Returns a result<T>.
  /// Errors: errc::broken_promise if the sender was destroyed without sending, or if the value was received before.
  [[nodiscard]] auto receive() noexcept {
    BRAID_EXPECTS(state_ != nullptr, "this receiver was moved from");
    return awaiter(*state_);
  }

 private:
  template <typename U>
  friend auto make_oneshot() -> std::pair<oneshot_sender<U>, oneshot_receiver<U>>;
  explicit oneshot_receiver(detail::oneshot_state<T>& state) noexcept : state_(&state) {}

  detail::oneshot_state<T>* state_;
};

template <typename T>
class [[nodiscard, gnu::warn_unused]] oneshot_receiver<T>::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "oneshot";

  explicit awaiter(detail::oneshot_state<T>& state) noexcept
      : detail::queue_awaiter<awaiter>(state.lock), state_(&state) {}

  [[nodiscard]] auto await_resume() const noexcept -> result<T> {
    const std::lock_guard guard(state_->lock);
    if (!state_->value) return fail(errc::broken_promise);
    result<T> received(std::move(*state_->value));
    state_->value.reset();
    return received;
  }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return state_->sender_left; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return state_->waiting; }

 private:
  detail::oneshot_state<T>* state_;
};

template <typename T>
auto oneshot_sender<T>::leave(std::optional<T> value) noexcept -> bool {
  detail::oneshot_state<T>* const state = std::exchange(state_, nullptr);
  bool is_last = false;
  {
    detail::wake_list woken;
    const std::lock_guard guard(state->lock);
    is_last = state->receiver_left;
    state->sender_left = true;
    if (!is_last && value) state->value.emplace(std::move(*value));
    state->waiting.pop_all(woken);
  }
  if (is_last) delete state;
  return !is_last;
}

template <typename T>
oneshot_receiver<T>::~oneshot_receiver() {
  if (state_ == nullptr) return;
  bool is_last = false;
  {
    const std::lock_guard guard(state_->lock);
    BRAID_EXPECTS(state_->waiting.empty(),
                  "tasks still wait for this object: join or stop them before it is destroyed");
    state_->receiver_left = true;
    is_last = state_->sender_left;
  }
  if (is_last) delete state_;
}

template <typename T>
auto make_oneshot() -> std::pair<oneshot_sender<T>, oneshot_receiver<T>> {
  auto* const state = new detail::oneshot_state<T>;
  return {oneshot_sender<T>(*state), oneshot_receiver<T>(*state)};
}

}  // namespace braid
