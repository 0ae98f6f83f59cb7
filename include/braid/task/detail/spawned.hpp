// braid/task/detail/spawned.hpp: a spawned job: its callable, its arguments and its result are in one block of memory.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/job_outcome.hpp>
#include <braid/task/detail/produced_state.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/executor.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// True if the callable cannot be called with its arguments alone, but can be called with a stop token or stop flag
/// before the arguments.
template <typename Seen, typename Fn, typename... Args>
inline constexpr bool wants_stop = !std::invocable<std::decay_t<Fn>, std::decay_t<Args>...> &&
                                   std::invocable<std::decay_t<Fn>, Seen, std::decay_t<Args>...>;
template <typename Fn, typename... Args>
inline constexpr bool wants_stop<void, Fn, Args...> = false;

/// A callable and its arguments, which can be called once.
template <typename Fn, typename... Args>
struct bound_call {
  template <typename F, typename... A>
  explicit bound_call(F&& f, A&&... a) : fn(std::forward<F>(f)), args(std::forward<A>(a)...) {}

  template <typename Stop>
  auto operator()(const Stop& stop) && -> decltype(auto) {
    if constexpr (wants_stop<typename Stop::seen, Fn, Args...>)
      return std::apply(
          [&](auto&&... all) -> decltype(auto) { return std::invoke(std::move(fn), stop.show(), std::move(all)...); },
          std::move(args));
    else
      return std::apply(std::move(fn), std::move(args));
  }

  [[no_unique_address]] Fn fn;
  [[no_unique_address]] std::tuple<Args...> args;
};

/// A spawned job. `R` is the result type of its call.
template <typename R, typename Stop, typename Call>
class spawned final : public produced_state<R> {
 public:
  template <typename... Parts>
  spawned(executor& executor, Stop stop, Parts&&... parts)
      : produced_state<R>(&act, executor.id()), stop_(std::move(stop)), call_(std::forward<Parts>(parts)...) {}
  ~spawned() {}  // `call_` was already destroyed

  void request_stop(errc reason) noexcept override {
    if constexpr (requires { stop_.request_stop(); })
      stop_.request_stop();
    else
      produced_state<R>::request_stop(reason);
  }

  /// Settles the future with an error, without calling the callable.
  void give_up(errc error, cascade& more) noexcept {
    std::destroy_at(std::addressof(call_));
    this->fail(failure_of(error), more);
  }

 private:
  static void act(job& self, job::action action) {
    auto& work = static_cast<spawned&>(self);
    cascade more;
    if (action == job::action::run)
      work.run(more);
    else
      work.give_up(errc::dropped, more);
    more.run();
  }

  void run(cascade& more) noexcept {
    if (const auto reason = stop_.reason()) {
      job_outcome::note_stop(*this, *reason);
      return give_up(*reason, more);
    }
    const auto clean_up = [this] { std::destroy_at(std::addressof(call_)); };
    this->produce([this]() -> R { return std::move(call_)(stop_); }, clean_up, more);
  }

  /// Called when the future that the callable returned has settled. This is the only future that this state waits for.
  void fire(cascade& more) noexcept override {
    if constexpr (is_future<R>) this->forward(more);
  }

  void destroy() noexcept override {
    this->destroy_result();
    destroy_state(*this);
  }

  [[no_unique_address]] Stop stop_;
  union {
    Call call_;
  };
};

template <typename Seen, typename Fn, typename... Args>
struct call_of : std::invoke_result<std::decay_t<Fn>, std::decay_t<Args>...> {};
template <typename Seen, typename Fn, typename... Args>
  requires wants_stop<Seen, Fn, Args...>
struct call_of<Seen, Fn, Args...> : std::invoke_result<std::decay_t<Fn>, Seen, std::decay_t<Args>...> {};

template <typename Stop, typename Fn, typename... Args>
using call_result = typename call_of<typename Stop::seen, Fn, Args...>::type;

/// The future of a spawned job, and whether the executor accepted the job. If the executor refused the job, the future
/// has failed.
template <typename R>
struct spawn_attempt {
  future<future_value<R>> work;
  bool accepted;
};

/// Creates the job and posts it by `try_post(job)`, which posts to `executor`.
template <typename Post, typename Stop, typename Fn, typename... Args>
auto attempt_spawn_by(Post try_post, executor& executor, Stop stop, Fn&& fn, Args&&... args)
    -> spawn_attempt<call_result<Stop, Fn, Args...>> {
  using result = call_result<Stop, Fn, Args...>;
  using state = spawned<result, Stop, bound_call<std::decay_t<Fn>, std::decay_t<Args>...>>;
  auto& made = make_state<state>(executor, std::move(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
  auto work = future_access::make<future_value<result>>(made);
  if (try_post(made)) return {std::move(work), true};
  cascade more;
  made.give_up(executor.why_refused(), more);
  more.run();
  return {std::move(work), false};
}

template <typename Stop, typename Fn, typename... Args>
auto attempt_spawn(executor& executor, Stop stop, Fn&& fn, Args&&... args) {
  return attempt_spawn_by([&executor](job& made) noexcept { return executor.try_post(made); }, executor,
                          std::move(stop), std::forward<Fn>(fn), std::forward<Args>(args)...);
}

}  // namespace braid::detail
