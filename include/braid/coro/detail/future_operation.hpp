// braid/coro/detail/future_operation.hpp: the operation state of a future or a task that is used as a sender.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/continuation.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/future_state.hpp>
#include <braid/task/future.hpp>
#include <braid/task/senders.hpp>

#include <exception>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// The operation of a future that is used as a sender. This object is the consumer of the future. `Begin` returns the
/// future when the operation starts. A stop is passed on to the work, and the operation completes when the work has
/// ended.
template <typename T, typename Begin, typename Receiver>
class future_operation final : continuation {
 public:
  using operation_state_concept = execution::operation_state_t;

  future_operation(Begin&& begin, Receiver&& to)
      : continuation(nullptr), begin_(std::move(begin)), to_(std::move(to)) {}

  void start() & noexcept {
    future<T> from;
    try {
      from = begin_(to_);
    } catch (...) {
      return execution::set_error(std::move(to_), std::current_exception());
    }
    const auto own = future_access::consume(from);
    from_ = own.state;
    stop_.emplace(execution::get_stop_token(execution::get_env(to_)), pass_on{from_});
    cascade more;
    from_->consume_by(*this, own.others, more);
    more.run();  // the operation may be destroyed after this
  }

 private:
  struct pass_on {
    future_state<T>* to;
    void operator()() const noexcept { to->request_stop(errc::stopped); }
  };
  using token = execution::stop_token_of_t<execution::env_of_t<Receiver>>;

  void fire(cascade& /*more*/) noexcept override {
    stop_.reset();  // waits for a stop that another thread is passing on: the state stays until then
    if (from_->how() == verdict::failure) return fail();
    if constexpr (std::is_void_v<T>) {
      from_->drop_reference();
      execution::set_value(std::move(to_));
    } else if constexpr (std::is_reference_v<T>) {
      T value = from_->take();
      from_->drop_reference();
      execution::set_value(std::move(to_), value);
    } else {
      pass_value();
    }
  }

  void pass_value() noexcept {
    std::optional<T> value;
    std::exception_ptr failure;
    try {
      value.emplace(from_->take());
    } catch (...) {
      failure = std::current_exception();
    }
    from_->drop_reference();
    if (value)
      execution::set_value(std::move(to_), *std::move(value));
    else
      execution::set_error(std::move(to_), std::move(failure));
  }

  void fail() noexcept {
    std::exception_ptr failure = from_->take_failure();
    from_->drop_reference();
    if (is_stop(failure))
      execution::set_stopped(std::move(to_));
    else
      execution::set_error(std::move(to_), std::move(failure));
  }

  static auto is_stop(const std::exception_ptr& failure) noexcept -> bool {
    if (failure == failure_of(errc::stopped)) return true;
    try {
      std::rethrow_exception(failure);
    } catch (const std::system_error& thrown) {
      return thrown.code() == errc::stopped;
    } catch (...) {
      return false;
    }
  }

  Begin begin_;
  Receiver to_;
  future_state<T>* from_ = nullptr;
  std::optional<execution::stop_callback_for_t<token, pass_on>> stop_;
};

template <typename T>
struct value_signature {
  using type = execution::set_value_t(T);
};
template <>
struct value_signature<void> {
  using type = execution::set_value_t();
};

}  // namespace braid::detail
