// braid/coro/oneshot.hpp: a one-shot channel: a single value from any thread to a waiting task.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>
#include <braid/task/detail/job_memory.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

template <typename T>
struct oneshot_state {
  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* block, std::size_t size) noexcept { free_job(block, size); }

  std::mutex lock;  // around all that follows
  std::optional<T> value;
  bool sender_left = false;  // after it has sent, or without
  bool receiver_left = false;
  wait_queue waiting;  // the receiver
};

}  // namespace detail

template <typename T>
class oneshot_sender;
template <typename T>
class oneshot_receiver;

/// Both ends: `auto [sender, receiver] = make_oneshot<int>();`. Threads: any. Errors: std::bad_alloc.
template <typename T>
auto make_oneshot() -> std::pair<oneshot_sender<T>, oneshot_receiver<T>>;

/// Sends one value, once. Destroyed without a value, it notifies the receiver that none will come.
/// Threads: one at a time; the other end may be with another. Cost: a lock; a post to its home where the receiver
/// waits.
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

  /// Requires that nothing was sent. Errors: errc::closed when the receiver has gone, and the value with it.
  [[nodiscard]] auto send(T value) noexcept -> result<void> {
    BRAID_EXPECTS(state_ != nullptr, "a oneshot sends one value");
    if (!leave(std::move(value))) return fail(errc::closed);
    return {};
  }

  /// Whether no receiver is left for the value.
  [[nodiscard]] auto is_closed() const noexcept -> bool {
    if (state_ == nullptr) return true;
    const std::lock_guard guard(state_->lock);
    return state_->receiver_left;
  }

 private:
  template <typename U>
  friend auto make_oneshot() -> std::pair<oneshot_sender<U>, oneshot_receiver<U>>;
  explicit oneshot_sender(detail::oneshot_state<T>& state) noexcept : state_(&state) {}

  /// False when the receiver has gone.
  auto leave(std::optional<T> value) noexcept -> bool;

  detail::oneshot_state<T>* state_;
};

/// Waits for the one value. Dropped before, the value is refused.
/// Threads: one at a time; the other end may be with another.
template <typename T>
class [[nodiscard]] oneshot_receiver {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a value moves under a lock, and must not throw there");
  class awaiter;

 public:
  oneshot_receiver(oneshot_receiver&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(oneshot_receiver other) noexcept -> oneshot_receiver& {
    std::swap(state_, other.state_);
    return *this;
  }
  /// Requires that no task waits.
  ~oneshot_receiver();

  /// Waits for the value. Gives a result<T>. Errors: errc::broken_promise when the sender has gone without sending, or
  /// the value was received before.
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
class oneshot_receiver<T>::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "oneshot";

  explicit awaiter(detail::oneshot_state<T>& of) noexcept : detail::queue_awaiter<awaiter>(of.lock), of_(&of) {}

  [[nodiscard]] auto await_resume() const noexcept -> result<T> {
    const std::lock_guard guard(of_->lock);
    if (!of_->value) return fail(errc::broken_promise);
    result<T> received(std::move(*of_->value));
    of_->value.reset();
    return received;
  }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool { return of_->sender_left; }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return of_->waiting; }

 private:
  detail::oneshot_state<T>* of_;
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
    BRAID_EXPECTS(state_->waiting.empty(), "what tasks wait for outlives them: join or stop them first");
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
