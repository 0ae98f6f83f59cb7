// braid/coro/broadcast.hpp: channels that send every value to every receiver (`broadcast`), or only the newest
// (`watch`).
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/waiter.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace braid {

/// A received value, and the number of older values that the receiver missed directly before this value, because the
/// receiver was too slow.
template <typename T>
struct broadcast_value {
  T value;
  std::uint64_t missed = 0;
};

/// A channel with many senders and many receivers. Each receiver gets a copy of every value that is sent after it has
/// subscribed. A send never waits. The channel keeps only the newest values. If a receiver is so slow that it misses
/// values, it learns how many it has missed. Values arrive in the order in which they were sent.
/// Threads: any; one thread at a time may use a receiver. Values are copied and destroyed under a lock, so their copy
/// constructors and destructors must not call the channel. Lifetime: must outlive its receivers. Cost: a send posts a
/// job to the home of each waiting receiver, the serial executor that its task is bound to.
template <std::copy_constructible T>
class broadcast {
 public:
  class receiver;

  /// Constructs a channel that keeps the newest `kept` values. Requires that `kept` is not zero.
  explicit broadcast(std::size_t kept) : ring_(kept) {
    BRAID_EXPECTS(kept != 0, "a broadcast must keep at least one value");
  }
  broadcast(const broadcast&) = delete;
  auto operator=(const broadcast&) -> broadcast& = delete;

  /// Sends a value to all receivers. Errors: errc::closed; an exception of the value's move constructor. After an
  /// error, nothing was sent.
  [[nodiscard]] auto send(T value) -> result<void>;

  /// Refuses values that are sent from now on. Receivers still get the values that were sent before; after that, they
  /// get errc::closed.
  void close() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    closed_ = true;
    waiting_.pop_all(woken);
  }

  /// Returns a receiver of the values that are sent from now on.
  [[nodiscard]] auto subscribe() noexcept -> receiver {
    const std::lock_guard guard(lock_);
    return receiver(*this, sent_);
  }

 private:
  [[nodiscard]] auto oldest() const noexcept -> std::uint64_t {
    return sent_ - std::min<std::uint64_t>(sent_, ring_.size());
  }

  mutable detail::small_mutex lock_;  // guards all members below
  std::vector<std::optional<T>> ring_;
  std::uint64_t sent_ = 0;  // the number of values so far; number n is stored at n modulo the size of the ring
  bool closed_ = false;
  detail::wait_queue waiting_;
};

/// A receiver with its own position in the sequence of values. A copy continues from the same position.
template <std::copy_constructible T>
class broadcast<T>::receiver {
  class awaiter;

 public:
  /// Waits for the next value. Returns a result<broadcast_value<T>>.
  /// Errors: errc::closed if there will be no more values; an exception of the value's copy constructor. After such an
  /// exception, the next call returns the same value.
  [[nodiscard]] auto receive() noexcept { return awaiter(*this); }

 private:
  friend class broadcast;
  receiver(broadcast& source, std::uint64_t next) noexcept : source_(&source), next_(next) {}

  broadcast* source_;
  std::uint64_t next_;
};

template <std::copy_constructible T>
class [[nodiscard, gnu::warn_unused]] broadcast<T>::receiver::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "broadcast";

  explicit awaiter(receiver& reader) noexcept
      : detail::queue_awaiter<awaiter>(reader.source_->lock_), reader_(&reader) {}

  [[nodiscard]] auto await_resume() const -> result<broadcast_value<T>> {
    const broadcast& from = *reader_->source_;
    const std::lock_guard guard(from.lock_);
    if (reader_->next_ == from.sent_) return fail(errc::closed);
    const std::uint64_t next = std::max(reader_->next_, from.oldest());
    broadcast_value<T> received{*from.ring_[next % from.ring_.size()], next - reader_->next_};
    reader_->next_ = next + 1;
    return received;
  }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool {
    return reader_->next_ != reader_->source_->sent_ || reader_->source_->closed_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return reader_->source_->waiting_; }

 private:
  receiver* reader_;
};

template <std::copy_constructible T>
auto broadcast<T>::send(T value) -> result<void> {
  detail::wake_list woken;
  const std::lock_guard guard(lock_);
  if (closed_) return fail(errc::closed);
  ring_[sent_ % ring_.size()].emplace(std::move(value));
  ++sent_;
  waiting_.pop_all(woken);
  return {};
}

/// A value that any thread may read and set. Observers wait until the value changes. If it changes several times during
/// a wait or between two waits, the observer sees only the newest value. Threads: any; one thread at a time may use an
/// observer. Values are copied and assigned under a lock, so their copy operations must not call this object. Lifetime:
/// must outlive its observers. Cost: a change posts to the home of each waiting observer.
template <std::copyable T>
class watch {
 public:
  class observer;

  explicit watch(T initial) : value_(std::move(initial)) {}
  watch(const watch&) = delete;
  auto operator=(const watch&) -> watch& = delete;

  [[nodiscard]] auto get() const -> T {
    const std::lock_guard guard(lock_);
    return value_;
  }

  /// Sets the value and wakes the observers, even if the new value equals the old one.
  void set(T value) {
    update([&](T& held) { held = std::move(value); });
  }

  /// Changes the value in place by calling `fn(value)`. Errors: rethrows an exception of `fn`. After such an exception,
  /// no observer is notified.
  template <std::invocable<T&> Fn>
  void update(Fn&& fn) {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    std::invoke(std::forward<Fn>(fn), value_);
    ++version_;
    waiting_.pop_all(woken);
  }

  /// Declares that the value will not change any more. Wakes the waiting observers.
  void close() noexcept {
    detail::wake_list woken;
    const std::lock_guard guard(lock_);
    closed_ = true;
    waiting_.pop_all(woken);
  }

  /// Returns an observer that treats the current value as already seen.
  [[nodiscard]] auto observe() noexcept -> observer {
    const std::lock_guard guard(lock_);
    return observer(*this, version_);
  }

 private:
  mutable detail::small_mutex lock_;  // guards all members below
  T value_;
  std::uint64_t version_ = 0;
  bool closed_ = false;
  detail::wait_queue waiting_;
};

/// An observer of the value. It remembers which version of the value it has read.
template <std::copyable T>
class watch<T>::observer {
  class awaiter;

 public:
  /// Waits until the value has changed since the observer last read it. Returns the newest value as a result<T>.
  /// Errors: errc::closed if the observer has read the newest value and the value will not change any more.
  [[nodiscard]] auto changed() noexcept { return awaiter(*this); }

 private:
  friend class watch;
  observer(watch& source, std::uint64_t seen) noexcept : source_(&source), seen_(seen) {}

  watch* source_;
  std::uint64_t seen_;
};

template <std::copyable T>
class [[nodiscard, gnu::warn_unused]] watch<T>::observer::awaiter final : public detail::queue_awaiter<awaiter> {
 public:
  static constexpr const char* waits_for = "watch";

  explicit awaiter(observer& reader) noexcept
      : detail::queue_awaiter<awaiter>(reader.source_->lock_), reader_(&reader) {}

  [[nodiscard]] auto await_resume() const -> result<T> {
    const watch& from = *reader_->source_;
    const std::lock_guard guard(from.lock_);
    if (reader_->seen_ == from.version_) return fail(errc::closed);
    result<T> newest(from.value_);
    reader_->seen_ = from.version_;
    return newest;
  }

  [[nodiscard]] auto try_take(detail::wake_list& /*woken*/) const noexcept -> bool {
    return reader_->seen_ != reader_->source_->version_ || reader_->source_->closed_;
  }
  [[nodiscard]] auto queue() const noexcept -> detail::wait_queue& { return reader_->source_->waiting_; }

 private:
  observer* reader_;
};

}  // namespace braid
