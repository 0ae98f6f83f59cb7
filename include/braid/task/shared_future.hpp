// braid/task/shared_future.hpp: a result that is to come, for any number of owners.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/clock.hpp>
#include <braid/task/future.hpp>

#include <exception>
#include <utility>

namespace braid {

/// A future that can be copied: all copies see the same value, and no thread can take it away. Continuations get a
/// const T&; where they run, and what becomes of them when the future fails, is as with `future`.
/// Threads: one at a time for one object; copies are independent of each other. Cost: a copy is one locked addition.
template <typename T>
class [[nodiscard]] shared_future {
  static constexpr auto view = detail::continuation_takes::view;
  using mode = detail::continuation_mode;

 public:
  using value_type = T;

  /// One without a state.
  shared_future() noexcept = default;
  /// What `future::share` gives.
  shared_future(future<T>&& from) noexcept : state_(detail::future_access::consume(from).state) {}
  shared_future(const shared_future& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->add_reference();
  }
  shared_future(shared_future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(shared_future other) noexcept -> shared_future& {
    std::swap(state_, other.state_);
    return *this;
  }
  ~shared_future() { detach(); }

  [[nodiscard]] auto valid() const noexcept -> bool { return state_ != nullptr; }
  [[nodiscard]] auto is_ready() const noexcept -> bool { return state().is_settled(); }

  /// As those of `future`.
  void wait() const { state().wait(); }
  [[nodiscard]] auto wait_for(duration limit) const -> bool { return state().wait_for(limit); }
  [[nodiscard]] auto wait_until(time_point deadline) const -> bool { return state().wait(deadline); }

  /// The value, which lives as long as a copy of this future. Blocks: as `wait`.
  /// Errors: rethrows what the work threw; as `wait`.
  auto get() const -> decltype(auto) {
    state().wait();
    if (state_->how() == detail::verdict::failure) std::rethrow_exception(state_->failure());
    return std::as_const(*state_).read();
  }

  void detach() noexcept {
    if (state_ != nullptr) std::exchange(state_, nullptr)->drop_reference();
  }

  template <detail::continuation_function<T, view> Fn>
  auto then(Fn&& fn) const -> detail::continued<T, Fn, view> {
    return detail::add_reader<mode::posted>(state(), state().where(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, view> Fn>
  auto then(executor& where, Fn&& fn) const -> detail::continued<T, Fn, view> {
    return detail::add_reader<mode::posted>(state(), where.id(), std::forward<Fn>(fn));
  }
  template <detail::continuation_function<T, view> Fn>
  auto then_inline(Fn&& fn) const -> detail::continued<T, Fn, view> {
    return detail::add_reader<mode::inside>(state(), state().where(), std::forward<Fn>(fn));
  }

 private:
  [[nodiscard]] auto state() const noexcept -> detail::future_state<T>& {
    BRAID_EXPECTS(state_ != nullptr, "this future has no state: it was default-made, moved from, or used up");
    return *state_;
  }

  detail::future_state<T>* state_ = nullptr;
};

template <typename T>
auto future<T>::share() && -> shared_future<T> {
  return shared_future<T>(std::move(*this));
}

}  // namespace braid
