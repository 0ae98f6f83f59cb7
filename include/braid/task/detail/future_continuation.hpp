// braid/task/detail/future_continuation.hpp: a continuation of a future: its callable, its job and its result in one
// block of memory.
#pragma once

#include <braid/task/detail/produced_state.hpp>
#include <braid/task/detail/refused_call.hpp>
#include <braid/task/executor.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// Selects where a continuation runs.
enum class continuation_mode : std::uint8_t {
  posted,  // on the executor of the work, if it has one
  inside,  // on the thread that settles the future, or that attaches it to a settled future
};

/// Selects which argument a continuation gets.
enum class continuation_takes : std::uint8_t {
  view,     // the value, as a reader
  value,    // the value, as its consumer
  failure,  // the exception, as the consumer
};

/// The signature with which the callable of a continuation of a future<T> is called.
template <typename Fn, typename T, continuation_takes Gets>
struct continuation_call {
  using argument = std::conditional_t<Gets == continuation_takes::view, const T&, T&&>;
  static constexpr bool possible = std::invocable<Fn, argument>;
  using result = std::invoke_result<Fn, argument>;
};
template <typename Fn, continuation_takes Gets>
struct continuation_call<Fn, void, Gets> {
  static constexpr bool possible = std::invocable<Fn>;
  using result = std::invoke_result<Fn>;
};

/// The signature of a failure handler. Its result replaces the value, so the result must be convertible to T or be a
/// future<T>.
template <typename Fn, typename T>
struct handler_call {
  static constexpr bool possible = false;
};
template <typename Fn, typename T>
  requires std::invocable<Fn, std::exception_ptr>
struct handler_call<Fn, T> {
  using returned = std::invoke_result_t<Fn, std::exception_ptr>;
  static constexpr bool is_value = std::is_void_v<T> ? std::is_void_v<returned> : std::convertible_to<returned, T>;
  static constexpr bool possible = is_future<returned> ? std::is_same_v<future_value<returned>, T> : is_value;
  using result = std::conditional<is_future<returned>, returned, T>;
};
template <typename Fn, typename T>
struct continuation_call<Fn, T, continuation_takes::failure> : handler_call<Fn, T> {};
template <typename Fn>
struct continuation_call<Fn, void, continuation_takes::failure> : handler_call<Fn, void> {};

/// A callable that can be a continuation of a future<T>.
template <typename Fn, typename T, continuation_takes Gets>
concept continuation_function =
    std::constructible_from<std::decay_t<Fn>, Fn> && continuation_call<std::decay_t<Fn>, T, Gets>::possible;

template <typename Fn, typename T, continuation_takes Gets>
using continuation_result = typename continuation_call<std::decay_t<Fn>, T, Gets>::result::type;

/// Ends the compilation with a clear message if the arguments cannot be a continuation of a future<T>.
template <typename T, continuation_takes Gets, typename... All>
struct refused_continuation {
  static_assert(sizeof...(All) == 0, "expected a callable, or an executor and a callable");
  static_assert(sizeof...(All) != 0, "expected a callable, got none");
};
template <typename T, continuation_takes Gets, typename Fn>
struct refused_continuation<T, Gets, Fn> {
  static constexpr bool is_callable = has_call<std::decay_t<Fn>>;
  static constexpr bool is_destroyed = std::is_nothrow_destructible_v<std::decay_t<Fn>>;
  static constexpr bool is_kept = std::constructible_from<std::decay_t<Fn>, Fn>;
  static_assert(is_callable, "expected a function, a lambda or another callable as the continuation");
  static_assert(is_destroyed || !is_callable,
                "the continuation is destroyed with the future, and its destructor may throw: declare it noexcept");
  static_assert(is_kept || !is_destroyed || !is_callable,
                "the continuation must be copyable or movable, because it is stored in the future");
  static_assert(Gets != continuation_takes::value || !is_kept || !is_callable,
                "the continuation cannot be called with the value of the future, a T&&; the continuation of a "
                "future<void> is called without arguments");
  static_assert(Gets != continuation_takes::view || !is_kept || !is_callable,
                "the continuation cannot be called with the value of the future, a const T&; the continuation of a "
                "future<void> is called without arguments, and std::move(future).then receives a T&&");
  static_assert(Gets != continuation_takes::failure || !is_kept || !is_callable,
                "the handler cannot be called with a std::exception_ptr, or its result cannot replace the value: "
                "return the value type of the future, or a future of this type");
};
template <typename T, continuation_takes Gets, typename Where, typename Fn>
  requires std::convertible_to<Where, executor&>
struct refused_continuation<T, Gets, Where, Fn> : refused_continuation<T, Gets, Fn> {};

/// True if a continuation can be attached with these arguments: a callable, or an executor and a callable.
template <typename T, continuation_takes Gets, typename... All>
inline constexpr bool can_continue = false;
template <typename T, continuation_takes Gets, typename Fn>
inline constexpr bool can_continue<T, Gets, Fn> = continuation_function<Fn, T, Gets>;
template <typename T, continuation_takes Gets, typename Where, typename Fn>
  requires std::convertible_to<Where, executor&>
inline constexpr bool can_continue<T, Gets, Where, Fn> = continuation_function<Fn, T, Gets>;

/// Overloads of a future's members for invalid continuations. A call of such an overload does not compile, and the
/// error message describes what is wrong.
template <typename T>
struct refused_continuations {
  template <typename... All>
    requires(!can_continue<T, continuation_takes::view, All...>)
  auto then(All&&... /*all*/) & {
    static_cast<void>(refused_continuation<T, continuation_takes::view, All...>());
    return future<T>();
  }
  template <typename... All>
    requires(!can_continue<T, continuation_takes::value, All...>)
  auto then(All&&... /*all*/) && {
    static_cast<void>(refused_continuation<T, continuation_takes::value, All...>());
    return future<T>();
  }
  template <typename... All>
    requires(!can_continue<T, continuation_takes::view, All...>)
  auto then_inline(All&&... /*all*/) & {
    static_cast<void>(refused_continuation<T, continuation_takes::view, All...>());
    return future<T>();
  }
  template <typename... All>
    requires(!can_continue<T, continuation_takes::value, All...>)
  auto then_inline(All&&... /*all*/) && {
    static_cast<void>(refused_continuation<T, continuation_takes::value, All...>());
    return future<T>();
  }
  template <typename... All>
    requires(!can_continue<T, continuation_takes::failure, All...>)
  auto recover(All&&... /*all*/) && {
    static_cast<void>(refused_continuation<T, continuation_takes::failure, All...>());
    return future<T>();
  }
  template <typename... All>
    requires(!can_continue<T, continuation_takes::failure, All...>)
  auto recover_inline(All&&... /*all*/) && {
    static_cast<void>(refused_continuation<T, continuation_takes::failure, All...>());
    return future<T>();
  }
};

/// Overloads of a shared future's members for invalid continuations. A call of such an overload does not compile, and
/// the error message describes what is wrong.
template <typename T>
struct refused_views {
  template <typename... All>
    requires(!can_continue<T, continuation_takes::view, All...>)
  auto then(All&&... /*all*/) const {
    static_cast<void>(refused_continuation<T, continuation_takes::view, All...>());
    return future<T>();
  }
  template <typename... All>
    requires(!can_continue<T, continuation_takes::view, All...>)
  auto then_inline(All&&... /*all*/) const {
    static_cast<void>(refused_continuation<T, continuation_takes::view, All...>());
    return future<T>();
  }
};

/// A continuation of a future<T>. It holds a reference to the future until it has run.
template <typename T, typename Fn, continuation_mode Place, continuation_takes Gets>
class future_continuation final : public produced_state<continuation_result<Fn, T, Gets>> {
  using result = continuation_result<Fn, T, Gets>;
  // In the stage `waits`, the continuation waits for the future. In the stage `forwards`, it forwards the result of the
  // future that the callable has returned.
  enum class stage : std::uint8_t { waits, forwards };
  struct no_stage {};

 public:
  template <typename F>
  future_continuation(future_state<T>& before, executor_id executor, F&& fn)
      : produced_state<result>(&act, executor, &before), fn_(std::forward<F>(fn)) {}
  ~future_continuation() {}  // `fn_` was already destroyed

 private:
  static void act(job& self, job::action action) {
    auto& link = static_cast<future_continuation&>(self);
    cascade more;
    if (action == job::action::run)
      link.run(more);
    else
      link.give_up(errc::dropped, more);
    more.run();
  }

  void fire(cascade& more) noexcept override;
  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }

  [[nodiscard]] auto source() const noexcept -> future_state<T>& {
    return static_cast<future_state<T>&>(*this->before());
  }

  void run(cascade& more) noexcept;
  auto call(future_state<T>& state) -> result;
  void pass_on(cascade& more) noexcept;
  void give_up(errc error, cascade& more) noexcept;

  [[no_unique_address]] std::conditional_t<is_future<result>, stage, no_stage> stage_{};
  union {
    Fn fn_;
  };
};

template <typename T, typename Fn, continuation_mode Place, continuation_takes Gets>
void future_continuation<T, Fn, Place, Gets>::fire(cascade& more) noexcept {
  if constexpr (is_future<result>)
    if (stage_ == stage::forwards) return this->forward(more);
  if ((source().how() == verdict::failure) != (Gets == continuation_takes::failure)) return pass_on(more);
  if constexpr (Place == continuation_mode::posted) {
    if (const executor_id where = this->where()) {
      if (!try_post_to(where, *this)) give_up(errc::closed, more);
      return;
    }
  }
  run(more);
}

template <typename T, typename Fn, continuation_mode Place, continuation_takes Gets>
void future_continuation<T, Fn, Place, Gets>::run(cascade& more) noexcept {
  future_state<T>& from = source();  // the result is stored in the place that holds the source
  if constexpr (is_future<result>) stage_ = stage::forwards;
  const auto clean_up = [this, &from, &more] {
    std::destroy_at(std::addressof(fn_));
    from.drop_reference(more);
  };
  this->produce([this, &from]() -> result { return call(from); }, clean_up, more);
}

template <typename T, typename Fn, continuation_mode Place, continuation_takes Gets>
auto future_continuation<T, Fn, Place, Gets>::call(future_state<T>& state) -> result {
  if constexpr (Gets == continuation_takes::failure)
    return std::invoke(std::move(fn_), state.take_failure());
  else if constexpr (std::is_void_v<T>)
    return std::invoke(std::move(fn_));
  else if constexpr (Gets == continuation_takes::view)
    return std::invoke(std::move(fn_), state.read());
  else
    return std::invoke(std::move(fn_), state.take());
}

/// Passes the result on to the next continuation without calling the callable. A failure handler gets no values, and
/// other callables get no failures.
template <typename T, typename Fn, continuation_mode Place, continuation_takes Gets>
void future_continuation<T, Fn, Place, Gets>::pass_on(cascade& more) noexcept {
  std::destroy_at(std::addressof(fn_));
  if constexpr (Gets == continuation_takes::failure) {
    this->forward(more);
  } else {
    future_state<T>& from = source();
    std::exception_ptr failure = Gets == continuation_takes::view ? from.failure() : from.take_failure();
    from.drop_reference(more);
    this->fail(std::move(failure), more);
  }
}

/// Called if the executor does not run the callable. If the callable is a failure handler, the failure of the future is
/// passed on unchanged.
template <typename T, typename Fn, continuation_mode Place, continuation_takes Gets>
void future_continuation<T, Fn, Place, Gets>::give_up(errc error, cascade& more) noexcept {
  if constexpr (Gets == continuation_takes::failure) return pass_on(more);
  std::destroy_at(std::addressof(fn_));
  source().drop_reference(more);
  this->fail(failure_of(error), more);
}

/// Refuses a callable that returns a lazy coroutine, because no caller would await it.
template <typename Result>
constexpr void check_continuation() {
  static_assert(
      !requires { typename Result::promise_type; },
      "the continuation returns a task, which would never begin: co_await the future in a task, "
      "or return the future of spawn(where, task)");
}

template <typename T, typename Fn, continuation_takes Gets>
using continued = future<future_value<continuation_result<Fn, T, Gets>>>;

/// Attaches a continuation that reads the value. The future itself stays valid.
template <continuation_mode Place, typename Fn, typename T>
auto add_reader(future_state<T>& state, executor_id executor, Fn&& fn) -> continued<T, Fn, continuation_takes::view> {
  check_continuation<continuation_result<Fn, T, continuation_takes::view>>();
  using link = future_continuation<T, std::decay_t<Fn>, Place, continuation_takes::view>;
  auto& made = make_state<link>(state, executor, std::forward<Fn>(fn));
  auto after = future_access::make<future_value<continuation_result<Fn, T, continuation_takes::view>>>(made);
  state.add_reference();
  cascade more;
  state.read_by(made, more);
  more.run();
  return after;
}

/// Attaches the continuation that consumes the value. The future is left without a state, unless creating the
/// continuation throws.
template <continuation_mode Place, continuation_takes Gets, typename Fn, typename T>
auto add_consumer(future<T>& from, executor_id executor, Fn&& fn) -> continued<T, Fn, Gets> {
  check_continuation<continuation_result<Fn, T, Gets>>();
  using link = future_continuation<T, std::decay_t<Fn>, Place, Gets>;
  auto& made = make_state<link>(*future_access::find_state(from), executor, std::forward<Fn>(fn));
  auto after = future_access::make<future_value<continuation_result<Fn, T, Gets>>>(made);
  const auto own = future_access::consume(from);
  cascade more;
  own.state->consume_by(made, own.others, more);
  more.run();
  return after;
}

}  // namespace braid::detail
