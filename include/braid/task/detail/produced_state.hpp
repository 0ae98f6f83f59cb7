// braid/task/detail/produced_state.hpp: the state of a future whose result a user's callable produces. The callable may
// itself return a future.
#pragma once

#include <braid/task/detail/future_state.hpp>
#include <braid/task/detail/job_outcome.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace braid {

template <typename T>
class future;

namespace detail {

/// The state that was taken out of a future, and whether the future may have had other readers.
template <typename T>
struct consumed {
  future_state<T>* state;
  readers others;
};

/// Gives the library access to private functions of futures.
struct future_access {
  /// Creates a future that takes over a reference to the state.
  template <typename T>
  static auto make(future_state<T>& state) noexcept -> future<T> {
    return future<T>(state);
  }

  /// Takes over the reference of the future. The future then has no state.
  template <typename T>
  static auto consume(future<T>& from) noexcept -> consumed<T> {
    return from.consume();
  }

  /// Returns the state of a future, or null if the future has no state.
  template <typename T>
  static auto find_state(const future<T>& source) noexcept -> future_state<T>* {
    return source.state_;
  }
};

template <typename T>
struct unwrapped {
  using type = T;
};
template <typename T>
struct unwrapped<future<T>> {
  using type = T;
};

/// The type in which a future stores the result of a function. References stay references; other results are stored by
/// value.
template <typename R>
using kept = std::conditional_t<std::is_lvalue_reference_v<R>, R, std::remove_cvref_t<R>>;

template <typename R>
inline constexpr bool is_future = !std::is_same_v<typename unwrapped<kept<R>>::type, kept<R>>;

/// The T of the future<T> that holds the result of a function returning R. A returned future is unwrapped.
template <typename R>
using future_value = typename unwrapped<kept<R>>::type;

/// A state whose value is the result of a callable. If the result is a future, the value of the state is that future's
/// value.
template <typename R>
class produced_state : public future_state<future_value<R>> {
  using base = future_state<future_value<R>>;

 protected:
  using base::base;
  ~produced_state() = default;

  /// Calls `body` and settles with its result or exception. `clean_up` is called before the state settles, so that
  /// everything the callable held is destroyed before a reader gets the result.
  template <typename Body, typename CleanUp>
  void produce(Body&& body, CleanUp&& clean_up, cascade& more) noexcept;

  /// Takes the result of the future that this state waited for, and settles with it.
  void forward(cascade& more) noexcept;

 private:
  void follow(future<future_value<R>> inner, cascade& more) noexcept;
};

/// The exception is processed after the catch block, so that no other thread uses the exception while this thread is
/// still inside the handler.
template <typename R>
template <typename Body, typename CleanUp>
void produced_state<R>::produce(Body&& body, CleanUp&& clean_up, cascade& more) noexcept {
  std::exception_ptr thrown;
  if constexpr (is_future<R>) {
    kept<R> inner;
    try {
      inner = body();
    } catch (...) {
      thrown = std::current_exception();
    }
    clean_up();
    if (thrown == nullptr) return follow(std::move(inner), more);
  } else {
    try {
      this->emplace(body);
    } catch (...) {
      thrown = std::current_exception();
    }
    clean_up();
    if (thrown == nullptr) return this->settle(verdict::value, more);
  }
  job_outcome::note_failure(*this, thrown);
  this->fail(std::move(thrown), more);
}

template <typename R>
void produced_state<R>::follow(future<future_value<R>> inner, cascade& more) noexcept {
  const auto own = future_access::consume(inner);
  if (own.state == nullptr) return this->fail(failure_of(errc::broken_promise), more);
  this->set_before(*own.state);
  own.state->consume_by(*this, own.others, more);
}

template <typename R>
void produced_state<R>::forward(cascade& more) noexcept {
  auto& before = static_cast<base&>(*this->before());
  std::exception_ptr failure;
  if (before.how() == verdict::failure) {
    failure = before.take_failure();
  } else {
    try {
      this->emplace([&before]() -> decltype(auto) { return before.take(); });
    } catch (...) {
      failure = std::current_exception();
    }
  }
  before.drop_reference(more);
  if (failure == nullptr) return this->settle(verdict::value, more);
  this->fail(std::move(failure), more);
}

}  // namespace detail
}  // namespace braid
