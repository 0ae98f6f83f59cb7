// braid/task/senders.hpp: the names of std::execution that braid uses, in the namespace `execution`.
// These are the names of the standard library if it declares them, otherwise the names of stdexec if stdexec is
// installed. If neither exists, braid declares a minimal version without algorithms. Guide: docs/execution.md
#pragma once

#include <version>

#if defined(__cpp_lib_senders)
#include <execution>
#include <stop_token>

namespace braid::execution {
using namespace std::execution;
using std::get_stop_token;
using std::get_stop_token_t;
using std::inplace_stop_callback;
using std::inplace_stop_source;
using std::inplace_stop_token;
using std::never_stop_token;
using std::stop_callback_for_t;
using std::stop_token_of_t;
}  // namespace braid::execution

#elif __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>

namespace braid::execution {
using namespace stdexec;
}  // namespace braid::execution

#else
#include <braid/sync/detail/inplace_stop.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// An environment that answers no query.
struct empty_env {};

template <typename S, typename Env>
struct signatures_of {
  using type = typename std::remove_cvref_t<S>::completion_signatures;
};
template <typename S, typename Env>
  requires requires(S&& from, Env&& env) { std::forward<S>(from).get_completion_signatures(std::forward<Env>(env)); }
struct signatures_of<S, Env> {
  using type = decltype(std::declval<S>().get_completion_signatures(std::declval<Env>()));
};

}  // namespace braid::detail

namespace braid::execution {

/// The tag of a sender. A type declares itself a sender, a receiver and so on by such a tag: its member type
/// `sender_concept`, `receiver_concept` and so on is the tag (P2300R10).
struct sender_t {};
/// The tag of a receiver.
struct receiver_t {};
/// The tag of an operation state.
struct operation_state_t {};
/// The tag of a scheduler.
struct scheduler_t {};

/// Completes a receiver with values. Calls the member `set_value` of the receiver, which is an rvalue. The member must
/// be noexcept.
struct set_value_t {
  template <typename Receiver, typename... Values>
  void operator()(Receiver&& to, Values&&... values) const noexcept {
    static_assert(noexcept(std::forward<Receiver>(to).set_value(std::forward<Values>(values)...)),
                  "the set_value of a receiver must be noexcept");
    std::forward<Receiver>(to).set_value(std::forward<Values>(values)...);
  }
};
/// Completes a receiver with an error. Calls the member `set_error` of the receiver, which is an rvalue. The member
/// must be noexcept.
struct set_error_t {
  template <typename Receiver, typename Error>
  void operator()(Receiver&& to, Error&& error) const noexcept {
    static_assert(noexcept(std::forward<Receiver>(to).set_error(std::forward<Error>(error))),
                  "the set_error of a receiver must be noexcept");
    std::forward<Receiver>(to).set_error(std::forward<Error>(error));
  }
};
/// Completes a receiver as stopped. Calls the member `set_stopped` of the receiver, which is an rvalue. The member must
/// be noexcept.
struct set_stopped_t {
  template <typename Receiver>
  void operator()(Receiver&& to) const noexcept {
    static_assert(noexcept(std::forward<Receiver>(to).set_stopped()), "the set_stopped of a receiver must be noexcept");
    std::forward<Receiver>(to).set_stopped();
  }
};
/// Calls the member `set_value` of a receiver.
inline constexpr set_value_t set_value{};
/// Calls the member `set_error` of a receiver.
inline constexpr set_error_t set_error{};
/// Calls the member `set_stopped` of a receiver.
inline constexpr set_stopped_t set_stopped{};

/// Returns the environment of a receiver, or the attributes of a sender: the result of its member `get_env`.
struct get_env_t {
  template <typename Queried>
  [[nodiscard]] auto operator()(const Queried& queried) const noexcept {
    if constexpr (requires { queried.get_env(); })
      return queried.get_env();
    else
      return braid::detail::empty_env();
  }
};
/// Returns the environment of a receiver or a sender.
inline constexpr get_env_t get_env{};

/// The type of the environment of a receiver or a sender.
template <typename Queried>
using env_of_t = decltype(get_env(std::declval<Queried>()));

/// Returns the stop token of an environment, or a `never_stop_token` if the environment has none.
struct get_stop_token_t {
  template <typename Env>
  [[nodiscard]] auto operator()(const Env& env) const noexcept {
    if constexpr (requires { env.query(*this); })
      return env.query(*this);
    else
      return never_stop_token();
  }
};
/// Returns the stop token of an environment.
inline constexpr get_stop_token_t get_stop_token{};

/// The type of the stop token of an environment.
template <typename Env>
using stop_token_of_t = decltype(get_stop_token(std::declval<Env>()));
/// A callback that calls `Fn` when a stop is requested through the token.
template <typename Token, typename Fn>
using stop_callback_for_t = typename Token::template callback_type<Fn>;

/// Returns the scheduler of a receiver's environment. The work of an operation with this receiver should run on this
/// scheduler.
struct get_scheduler_t {
  template <typename Env>
    requires requires(const Env& env, const get_scheduler_t& self) { env.query(self); }
  [[nodiscard]] auto operator()(const Env& env) const noexcept {
    return env.query(*this);
  }
};
/// Returns the scheduler of an environment.
inline constexpr get_scheduler_t get_scheduler{};

/// Returns the scheduler on which a sender calls its completion function `Completion`, such as `set_value_t`. The
/// argument is the environment of the sender.
template <typename Completion>
struct get_completion_scheduler_t {
  template <typename Env>
    requires requires(const Env& env, const get_completion_scheduler_t& self) { env.query(self); }
  [[nodiscard]] auto operator()(const Env& env) const noexcept {
    return env.query(*this);
  }
};
/// Returns the scheduler on which a sender completes.
template <typename Completion>
inline constexpr get_completion_scheduler_t<Completion> get_completion_scheduler{};

/// The possible completions of a sender, each as a function type such as `set_value_t(int)`.
template <typename... Signatures>
struct completion_signatures {};

/// A type that declares itself a sender by its tag.
template <typename S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_t> &&
                 std::move_constructible<std::remove_cvref_t<S>>;

/// A type that declares itself a receiver by its tag.
template <typename R>
concept receiver = std::derived_from<typename std::remove_cvref_t<R>::receiver_concept, receiver_t> &&
                   std::move_constructible<std::remove_cvref_t<R>>;

/// The completion signatures of a sender: its member type, or the result of its member
/// `get_completion_signatures(env)`.
template <typename S, typename Env = braid::detail::empty_env>
using completion_signatures_of_t = typename braid::detail::signatures_of<S, Env>::type;

/// Connects a sender with a receiver. Returns an operation, which the caller must not move until it has completed.
struct connect_t {
  template <sender S, receiver R>
  [[nodiscard]] auto operator()(S&& from, R&& to) const {
    return std::forward<S>(from).connect(std::forward<R>(to));
  }
};
/// Connects a sender with a receiver.
inline constexpr connect_t connect{};

/// The type of the operation that `connect` returns.
template <typename S, typename R>
using connect_result_t = decltype(connect(std::declval<S>(), std::declval<R>()));

/// Starts an operation, once.
struct start_t {
  template <typename Operation>
  void operator()(Operation& work) const noexcept {
    static_assert(noexcept(work.start()), "the start of an operation must be noexcept");
    work.start();
  }
};
/// Starts an operation.
inline constexpr start_t start{};

/// Returns a sender that completes on the scheduler.
struct schedule_t {
  template <typename Scheduler>
  [[nodiscard]] auto operator()(Scheduler&& scheduler) const {
    return std::forward<Scheduler>(scheduler).schedule();
  }
};
/// Returns a sender that completes on a scheduler.
inline constexpr schedule_t schedule{};

/// A type that declares itself a scheduler by its tag, and can be compared and copied.
template <typename S>
concept scheduler = std::derived_from<typename std::remove_cvref_t<S>::scheduler_concept, scheduler_t> &&
                    std::equality_comparable<std::remove_cvref_t<S>> && std::copy_constructible<std::remove_cvref_t<S>>;

}  // namespace braid::execution
#endif
