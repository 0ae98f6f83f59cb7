// braid/graph/flow.hpp: functions and coroutines that hand each other values, and run as soon as what they take is
// there.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/detail/flow_plan.hpp>
#include <braid/graph/detail/flow_state.hpp>
#include <braid/graph/flow_result.hpp>
#include <braid/graph/run.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace braid {

/// Whether a run records when its nodes began and ended.
enum class flow_times : std::uint8_t { not_recorded, recorded };

/// What one run of a flow is given.
struct flow_run_options {
  time_point deadline = time_point::max();  ///< of the run; that of the caller's scope holds as well
  flow_times times = flow_times::not_recorded;
  const clock_source* clock = nullptr;  ///< that times are read from, on any thread; null: the system's
};

namespace detail {

using flow_run = graph_run<flow_state>;

/// How a run ended, once it is joined.
struct flow_ending {
  template <typename T>
  static auto of(flow_state& state, const flow_run& run, flow_value_index result) -> flow_result<T> {
    flow_result<T> made;
    made.failure_ = run.failure();
    fill(made.report_, state, run);
    if (made.failure_) return made;
    if constexpr (std::is_void_v<T>)
      made.value_.emplace();
    else
      made.value_.emplace(std::move(state.value<T>(result)));
    return made;
  }

 private:
  BRAID_API static void fill(flow_report& report, const flow_state& state, const flow_run& run);
};

}  // namespace detail

template <typename Signature>
class flow;

/// What a `flow_builder` makes. A run calls each node once, when all that it takes is there: functions on workers, or
/// in place where they were said to be small, and those that give a task at the home of the run. Of several that fail,
/// the one that was added first decides, whatever the timing; then those behind it are stopped or skipped, and those
/// before it go on (docs/decisions/0002-order-decides-failures.md).
/// Threads: any; any number of runs at a time, on any homes. Lifetime: copies share the nodes, and so do runs, which
/// need no flow once they have been made.
template <typename T, typename... In>
class flow<T(In...)> {
 public:
  /// How many nodes it has.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return plan_->nodes.size(); }

  /// Runs the nodes and gives what the result node gave, or why there is nothing. It ends when all nodes have ended:
  /// after a deadline those that wait end at once, and functions when they return. The values that nodes gave are
  /// destroyed then, at home. Ends as stopped where the scope of the caller was stopped before the result was there.
  /// Threads: a task with a home. Lifetime: `workers` outlives the run. Errors: std::bad_alloc.
  /// Cost: a block of memory for the run; a task for each node that is not small.
  auto run(executor& workers, In... in) const -> task<flow_result<T>> {
    return run_plan(plan_, result_, {}, &workers, std::move(in)...);
  }
  auto run(flow_run_options how, executor& workers, In... in) const -> task<flow_result<T>> {
    return run_plan(plan_, result_, how, &workers, std::move(in)...);
  }

 private:
  template <typename...>
  friend class flow_builder;
  flow(std::shared_ptr<const detail::flow_plan> plan, detail::flow_value_index result) noexcept
      : plan_(std::move(plan)), result_(result) {}

  static auto run_plan(std::shared_ptr<const detail::flow_plan> plan, detail::flow_value_index result,
                       flow_run_options how, executor* workers, In... in) -> task<flow_result<T>> {
    const clock_source* const clock = how.clock != nullptr ? how.clock : &steady_time();
    co_await resume_home();
    scope& around = co_await this_scope();
    detail::flow_state state(std::move(plan), how.times == flow_times::recorded ? clock : nullptr);
    detail::flow_value_index index = 0;
    (state.template emplace<In>(index++, [&in]() -> In { return std::move(in); }), ...);
    scope inside(around, how.deadline);
    detail::flow_run nodes(state.plan().shape, state, *workers, inside, state.memory());
    nodes.start();
    co_await nodes.join();  // and nothing else: docs/design/cancellation.md, "join returns"
    const auto& failure = nodes.failure();
    const bool stopped = failure && failure->why == graph_failure::cause::run_stopped && around.stop().requested();
    if (stopped) co_await stop_here();
    co_return detail::flow_ending::of<T>(state, nodes, result);
  }

  std::shared_ptr<const detail::flow_plan> plan_;
  detail::flow_value_index result_;
};

}  // namespace braid
