// braid/task/detail/scheduled_spawn.hpp: a call that is spawned at a given time: its timer, its job, its callable and
// its result are in one block of memory.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/produced_state.hpp>
#include <braid/task/detail/scheduled_state.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/detail/spawned.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// The call and the state of its future. The future's state holds a reference to the scheduled work; when the last
/// reference is dropped, the block is freed. Until the future settles, the scheduled work holds the producer's
/// reference to the state.
template <typename R, typename Call>
class scheduled_spawn final : public produced_state<R>, private scheduled_state {
 public:
  template <typename... Parts>
  static auto start(executor& executor, const shared_timers& timers, time_point time, Parts&&... parts)
      -> future<future_value<R>> {
    auto& made = make_state<scheduled_spawn>(executor.id(), timers.keeper(), std::forward<Parts>(parts)...);
    auto work = future_access::make<future_value<R>>(made);
    if (!made.scheduled_state::start(time, timers.now())) {
      made.call_.reset();
      made.never_ran(errc::closed);
    }
    return work;
  }

  template <typename... Parts>
  scheduled_spawn(executor_id executor, std::shared_ptr<timer_keeper> keeper, Parts&&... parts)
      : produced_state<R>(nullptr, executor),
        scheduled_state(executor, std::move(keeper), tick_rule{}),
        call_(std::in_place, std::forward<Parts>(parts)...) {}

  void request_stop(errc /*reason*/) noexcept override {
    keep();  // the future may be among the captures
    static_cast<void>(cancel());
    let_go();
  }

 private:
  void call() override {
    cascade more;
    this->produce([this]() -> R { return std::move(*call_)(never_stopped()); }, [this] { call_.reset(); }, more);
    more.run();
  }
  void destroy_captures() noexcept override { call_.reset(); }
  void never_ran(errc reason) noexcept override {
    cascade more;
    this->fail(failure_of(reason), more);
    more.run();
  }
  void free() noexcept override { destroy_state(*this); }

  /// Called when the future that the callable returned has settled. This is the only future that this state waits for.
  void fire(cascade& more) noexcept override {
    if constexpr (is_future<R>) this->forward(more);
  }

  void destroy() noexcept override {
    this->destroy_result();
    let_go();
  }

  std::optional<Call> call_;
};

/// A callable that `spawn_at` accepts: it can be called once with its arguments, which the job owns and passes as
/// rvalues.
template <typename Fn, typename... Args>
concept spawned_at_a_time =
    std::constructible_from<std::decay_t<Fn>, Fn> && (std::constructible_from<std::decay_t<Args>, Args> && ...) &&
    std::invocable<std::decay_t<Fn>, std::decay_t<Args>...> &&
    !is_lazy_work<std::invoke_result_t<std::decay_t<Fn>, std::decay_t<Args>...>>;

template <typename Fn, typename... Args>
using scheduled_spawn_of = scheduled_spawn<std::invoke_result_t<std::decay_t<Fn>, std::decay_t<Args>...>,
                                           bound_call<std::decay_t<Fn>, std::decay_t<Args>...>>;

template <typename Fn, typename... Args>
using timed_future = future<future_value<std::invoke_result_t<std::decay_t<Fn>, std::decay_t<Args>...>>>;

}  // namespace braid::detail
