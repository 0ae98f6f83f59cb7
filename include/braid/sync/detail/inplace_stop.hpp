// braid/sync/detail/inplace_stop.hpp: a stop source without an allocation, as in P2300.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/caller.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/sync/detail/small_mutex.hpp>

#include <concepts>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// A callback in the list of a stop source.
class stop_node {
 public:
  stop_node(const stop_node&) = delete;
  auto operator=(const stop_node&) -> stop_node& = delete;

 protected:
  using call_fn = void (*)(stop_node& self) noexcept;
  explicit stop_node(call_fn call) noexcept : call_(call) {}
  ~stop_node() = default;

 private:
  friend class inplace_stop_list;

  call_fn call_;
  stop_node* previous_ = nullptr;
  stop_node* next_ = nullptr;
  bool is_listed_ = false;
};

/// The state of an `inplace_stop_source`: whether a stop was requested, and the callbacks. One thread calls the
/// callbacks, one at a time and without holding the lock. A thread that removes a running callback waits until the
/// callback has ended. A callback may also remove itself.
class inplace_stop_list {
 public:
  constexpr inplace_stop_list() noexcept = default;
  inplace_stop_list(const inplace_stop_list&) = delete;
  auto operator=(const inplace_stop_list&) -> inplace_stop_list& = delete;
  ~inplace_stop_list() { BRAID_ASSERT(first_ == nullptr, "a stop source must outlive its callbacks"); }

  [[nodiscard]] auto is_requested() const noexcept -> bool {
    return requested_.load(acquire) != 0;  // edge inplace_stop.requested: observe what was done before the request
  }

  /// Requests the stop and calls the callbacks. Returns false if a stop was requested before.
  auto request() noexcept -> bool {
    std::unique_lock guard(lock_);
    if (requested_.load(relaxed) != 0) return false;
    // edge inplace_stop.requested: publish what the caller wrote before the request
    requested_.store(1, release);
    requester_ = calling_thread();
    while (first_ != nullptr) {
      stop_node& next = *first_;
      unlink(next);
      running_ = &next;
      guard.unlock();
      next.call_(next);  // the callback may be destroyed after this
      guard.lock();
      running_ = nullptr;
      // edge inplace_stop.called: publish what the callback has written
      calls_.store(calls_.load(relaxed) + 1, release);
      if (is_awaited_) futex_wake(calls_, INT32_MAX);
    }
    return true;
  }

  /// Adds a callback, or calls it at once if a stop was requested.
  void add(stop_node& node) noexcept {
    {
      const std::lock_guard guard(lock_);
      if (requested_.load(relaxed) == 0) {
        node.next_ = first_;
        if (first_ != nullptr) first_->previous_ = &node;
        first_ = &node;
        node.is_listed_ = true;
        return;
      }
    }
    node.call_(node);
  }

  /// Removes a callback. The callback is not called after this returns. Blocks: while another thread runs the callback.
  void remove(stop_node& node) noexcept {
    std::uint32_t seen = 0;
    {
      const std::lock_guard guard(lock_);
      if (node.is_listed_) return unlink(node);
      if (running_ != &node || requester_ == calling_thread()) return;
      is_awaited_ = true;
      seen = calls_.load(relaxed);
    }
    // edge inplace_stop.called: observe what the callback has written
    while (calls_.load(acquire) == seen) futex_wait(calls_, seen);
  }

 private:
  void unlink(stop_node& node) noexcept {
    if (node.next_ != nullptr) node.next_->previous_ = node.previous_;
    (node.previous_ != nullptr ? node.previous_->next_ : first_) = node.next_;
    node.next_ = nullptr;
    node.previous_ = nullptr;
    node.is_listed_ = false;
  }

  small_mutex lock_;  // guards all members below; the atomics are written under it
  bool is_awaited_ = false;
  atomic<std::uint32_t> requested_{0};
  atomic<std::uint32_t> calls_{0};  // callbacks that have returned
  stop_node* first_ = nullptr;
  const stop_node* running_ = nullptr;
  thread_mark requester_ = 0;
};

}  // namespace braid::detail

namespace braid::execution {

template <typename Fn>
class inplace_stop_callback;

/// A token that refers to a stop source, which must outlive the token. For a default-constructed token, a stop is never
/// requested.
class inplace_stop_token {
 public:
  template <typename Fn>
  using callback_type = inplace_stop_callback<Fn>;

  constexpr inplace_stop_token() noexcept = default;

  [[nodiscard]] auto stop_requested() const noexcept -> bool { return list_ != nullptr && list_->is_requested(); }
  [[nodiscard]] auto stop_possible() const noexcept -> bool { return list_ != nullptr; }
  auto operator==(const inplace_stop_token&) const noexcept -> bool = default;

 private:
  friend class inplace_stop_source;
  template <typename Fn>
  friend class inplace_stop_callback;
  explicit inplace_stop_token(braid::detail::inplace_stop_list& list) noexcept : list_(&list) {}

  braid::detail::inplace_stop_list* list_ = nullptr;
};

/// A stop source that stores its state in the object itself, and therefore allocates nothing.
/// Threads: any. Lifetime: must outlive the callbacks of its tokens, and each call of `request_stop`.
class inplace_stop_source {
 public:
  /// Requests a stop, and calls the callbacks on this thread. Returns false if a stop was requested before.
  auto request_stop() noexcept -> bool { return list_.request(); }
  [[nodiscard]] auto stop_requested() const noexcept -> bool { return list_.is_requested(); }
  [[nodiscard]] static constexpr auto stop_possible() noexcept -> bool { return true; }
  [[nodiscard]] auto get_token() noexcept -> inplace_stop_token { return inplace_stop_token(list_); }

 private:
  braid::detail::inplace_stop_list list_;
};

/// A stop callback: calls `fn` once when a stop is requested, or at once if a stop was requested before. The destructor
/// waits until a running call on another thread has returned.
template <typename Fn>
class inplace_stop_callback final : braid::detail::stop_node {
 public:
  using callback_type = Fn;

  template <std::convertible_to<Fn> F>
  explicit inplace_stop_callback(inplace_stop_token token, F&& fn) noexcept(std::is_nothrow_constructible_v<Fn, F>)
      : stop_node(&call), list_(token.list_), fn_(std::forward<F>(fn)) {
    if (list_ != nullptr) list_->add(*this);
  }
  ~inplace_stop_callback() {
    if (list_ != nullptr) list_->remove(*this);
  }

 private:
  static void call(stop_node& self) noexcept { std::move(static_cast<inplace_stop_callback&>(self).fn_)(); }

  braid::detail::inplace_stop_list* list_;
  Fn fn_;
};

/// A token of an operation that cannot be stopped: a stop is never requested.
class never_stop_token {
  struct no_callback {
    template <typename... All>
    explicit no_callback(All&&... /*all*/) noexcept {}
  };

 public:
  template <typename Fn>
  using callback_type = no_callback;

  [[nodiscard]] static constexpr auto stop_requested() noexcept -> bool { return false; }
  [[nodiscard]] static constexpr auto stop_possible() noexcept -> bool { return false; }
  auto operator==(const never_stop_token&) const noexcept -> bool = default;
};

}  // namespace braid::execution
