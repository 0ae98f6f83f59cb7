// braid/graph/flow.hpp: graphs of functions that pass values to each other.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/detail/flow_call.hpp>
#include <braid/graph/detail/flow_plan.hpp>
#include <braid/graph/detail/flow_state.hpp>
#include <braid/graph/detail/node_call.hpp>
#include <braid/graph/run.hpp>
#include <braid/graph/shape.hpp>
#include <braid/task/executor.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

namespace detail {
class flow_draft;
struct flow_access;
}  // namespace detail

/// A handle for the result of a node, or for an input of the flow. Nodes that are added later can use the handle as an
/// argument. A `flow_node<void>` passes no value: a later node only waits for it.
template <typename T>
class flow_node {
 public:
  flow_node() = default;  ///< refers to no node

  /// Returns a handle without a value. Pass it to nodes that must wait for the end of this node but do not need its
  /// value.
  [[nodiscard]] auto done() const noexcept -> flow_node<void> { return {value_, builder_}; }

 private:
  template <typename>
  friend class flow_node;
  friend struct detail::flow_access;
  flow_node(detail::flow_value_index value, std::uint32_t builder) noexcept : value_(value), builder_(builder) {}

  detail::flow_value_index value_ = 0;
  std::uint32_t builder_ = 0;  // the number of the builder; 0 if it refers to no node
};

/// Says how much work a function does. This decides on which thread the function is called.
enum class node_size : std::uint8_t {
  large,  ///< called on the workers
  small,  ///< called at once on the home of the run, which it blocks for a microsecond or two
};

/// The options of a node of a flow.
struct flow_node_options {
  std::string_view name = {};          ///< the name in errors and reports; names need not differ
  node_size size = node_size::large;   ///< for functions that return no task; tasks start at the home of the run
  duration timeout = duration::max();  ///< counted from its start; not for small functions, which cannot be interrupted
};

namespace detail {

/// A function that can be a node. Its arguments are the values of nodes, which it accepts by const reference or by
/// value. It returns the value of its own node, directly or as a `task`. It is called through a const object, because
/// runs of the flow share it, perhaps at the same time. If the last parameter is a `const stop_flag&`, the function
/// should return early once that flag is set. The function must return an object, because a reference could refer to
/// data of another run or to a destroyed object. If the function returns a task, no reference parameter may require a
/// conversion of its argument. The converted object would be destroyed before the task runs.
template <typename Fn, typename... Values>
concept flow_function = detail::is_flow_function<std::decay_t<Fn>, Values...>();

struct flow_ending;
}  // namespace detail

/// A report of a run that has ended: the progress of its nodes. Nodes are numbered and ordered as they were added.
/// Lifetime: the report owns the names of the nodes, and refers to nothing else of the flow or the run. Threads: any,
/// because it does not change.
class BRAID_API flow_report {
 public:
  [[nodiscard]] auto size() const noexcept -> std::size_t { return progress_.size(); }
  [[nodiscard]] auto name(node_index node) const noexcept -> const std::string&;
  /// Returns the progress of a node. It is never `running`, because the run has ended.
  [[nodiscard]] auto progress(node_index node) const noexcept -> node_progress { return progress_[node]; }
  /// Returns the nodes that never began because of a stop or an earlier failure.
  [[nodiscard]] auto skipped() const -> std::vector<node_index>;
  /// Returns the number of nodes that ended too late, so that their results were not used.
  [[nodiscard]] auto late() const noexcept -> std::size_t { return late_; }

  /// Returns whether times were recorded. If they were not, the results of the following functions are meaningless.
  [[nodiscard]] auto has_times() const noexcept -> bool { return has_times_; }
  [[nodiscard]] auto times(node_index node) const noexcept -> node_times;
  /// Returns the time from the beginning of the run to the end of its last node.
  [[nodiscard]] auto total() const noexcept -> duration;
  /// Returns the critical path. The times of its steps add up to `total()`.
  [[nodiscard]] auto critical_path() const -> std::vector<critical_step>;
  /// Returns a report as text: one line for each node, and the critical path.
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  friend struct detail::flow_ending;

  std::shared_ptr<const detail::flow_plan> plan_;
  std::vector<node_progress> progress_;
  std::vector<node_times> times_;
  time_point begin_{};
  std::size_t late_ = 0;
  bool has_times_ = false;
};

namespace detail {

/// Throws the exception for a failure.
[[noreturn]] BRAID_API void throw_flow_failure(const graph_failure& failure, const flow_report& report);

}  // namespace detail

/// The value of a run, or the reason why it has no value.
template <typename T>
class [[nodiscard]] flow_result {
  using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  [[nodiscard]] auto has_value() const noexcept -> bool { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// Moves the value out.
  /// Errors: rethrows the exception of the failed node. Throws std::system_error with the name of the node:
  /// errc::deadline_exceeded if the node exceeded its time limit, errc::stopped if it gave up. If the deadline of the
  /// run has passed, the error contains no name.
  auto take() -> T {
    if (!has_value()) detail::throw_flow_failure(*failure_, report_);
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

  /// Returns the failure, or nothing if there is a value. If several nodes failed, returns the failure of the node that
  /// was added first, regardless of their timing.
  [[nodiscard]] auto failure() const noexcept -> const std::optional<graph_failure>& { return failure_; }
  [[nodiscard]] auto report() const noexcept -> const flow_report& { return report_; }

 private:
  friend struct detail::flow_ending;

  std::optional<stored> value_;
  std::optional<graph_failure> failure_;
  flow_report report_;
};

/// Selects whether a run records when each node begins and ends.
enum class flow_times : std::uint8_t { not_recorded, recorded };

/// The options of one run of a flow.
struct flow_run_options {
  /// The deadline of the run. The deadline of the caller's scope applies as well.
  time_point deadline = time_point::max();
  flow_times times = flow_times::not_recorded;
  const clock_source* clock = nullptr;  ///< the clock of the times, which any thread may read; null: the system's
};

namespace detail {

using flow_run = graph_run<flow_state>;

/// The result of a run after all its nodes have ended.
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

/// A graph of functions with typed values, created by a `flow_builder`. A run calls each node once, as soon as all
/// arguments of the node are available. Functions are called on workers. A function that is marked as small is instead
/// called directly by the run. Functions that return a task run on the home of the run (the serial executor that the
/// task that awaits the run is bound to). If several nodes fail, the failed node that was added first decides the
/// result, regardless of timing. Nodes that were added after it are stopped or skipped, and nodes that were added
/// before it continue (docs/decisions/0002-order-decides-failures.md).
/// Threads: any; any number of runs at a time, on any homes. Lifetime: copies and runs share the nodes. A run that has
/// started does not need the flow.
template <typename T, typename... In>
class flow<T(In...)> {
 public:
  /// Returns the number of nodes.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return plan_->nodes.size(); }

  /// Runs the nodes and returns the value of the result node, or the reason why there is no value. The run ends when
  /// all nodes have ended. After a deadline, waiting nodes end at once, and functions end when they return. The values
  /// of nodes are then destroyed on the home of the run. Ends as stopped if the scope of the caller is stopped before
  /// the result is available.
  /// Threads: only a task that has a home may await this. Lifetime: `workers` must outlive the run. Errors:
  /// std::bad_alloc. Cost: a block of memory for the run; a task for each node that is not small.
  BRAID_COROUTINE_WRAPPER auto run(executor& workers, In... in) const -> task<flow_result<T>> {
    return run_plan(plan_, result_, {}, &workers, std::move(in)...);
  }
  BRAID_COROUTINE_WRAPPER auto run(flow_run_options options, executor& workers, In... in) const
      -> task<flow_result<T>> {
    return run_plan(plan_, result_, options, &workers, std::move(in)...);
  }

 private:
  template <typename...>
  friend class flow_builder;
  flow(std::shared_ptr<const detail::flow_plan> plan, detail::flow_value_index result) noexcept
      : plan_(std::move(plan)), result_(result) {}

  static auto run_plan(std::shared_ptr<const detail::flow_plan> plan, detail::flow_value_index result,
                       flow_run_options options, executor* workers, In... in) -> task<flow_result<T>> {
    const clock_source* const clock = options.clock != nullptr ? options.clock : &steady_time();
    co_await resume_home();
    scope& around = co_await this_scope();
    scope inside(around, options.deadline);
    detail::flow_state state(std::move(plan), options.times == flow_times::recorded ? clock : nullptr);
    detail::flow_value_index index = 0;
    (state.template emplace<In>(index++, [&in]() -> In { return std::move(in); }), ...);
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

namespace detail {

/// The index of a value, and the number that identifies the builder to which the value belongs.
struct flow_source {
  flow_value_index value = 0;
  std::uint32_t builder = 0;
};

struct flow_access {
  template <typename T>
  [[nodiscard]] static auto find_source(flow_node<T> node) noexcept -> flow_source {
    return {node.value_, node.builder_};
  }
  template <typename T>
  [[nodiscard]] static auto find_node(flow_source source) noexcept -> flow_node<T> {
    return {source.value, source.builder};
  }
};

/// The part of a `flow_builder` that does not depend on template arguments.
/// Threads: one at a time.
class BRAID_API flow_draft {
 public:
  explicit flow_draft(std::span<const flow_value_kind> inputs);

  auto add(const flow_node_options& options, flow_call call, boxed_call fn, flow_value_kind gives,
           std::span<const flow_source> takes) -> flow_source;
  [[nodiscard]] auto input(std::size_t index) const noexcept -> flow_source {
    return {static_cast<flow_value_index>(index), number_};
  }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return plan_.nodes.size(); }

  /// Builds the plan. If the number of the builder in `result` is 0, the flow has no result node.
  auto build(flow_source result) -> checked<std::shared_ptr<const flow_plan>>;

 private:
  [[nodiscard]] auto is_known(flow_source source) const noexcept -> bool {
    return source.builder == number_ && source.value < plan_.values.size();
  }
  void add_diagnostic(std::string_view code, std::string_view node, std::string message);

  std::uint32_t number_;  // the number of this builder in the process
  flow_plan plan_;
  std::vector<graph_shape::edge> edges_;
  diagnostics diagnostics_;
};

/// True for a value that only refers to an object, such as a pointer or a view.
template <typename T>
inline constexpr bool borrows = std::is_pointer_v<T> || std::ranges::borrowed_range<T>;
template <typename T>
inline constexpr bool borrows<std::reference_wrapper<T>> = true;

}  // namespace detail

/// A builder that collects nodes. A node can use only the values of nodes that were added before it, so there are no
/// cycles. The template arguments are the types of the values that are passed to a run, for example
/// `flow_builder<request>`.
/// Threads: one at a time.
template <typename... In>
class flow_builder {
  static_assert(((detail::flow_object<In> && !std::is_void_v<In>) && ...), "a flow owns its inputs, so pass objects");

 public:
  flow_builder() : draft_(std::array<detail::flow_value_kind, sizeof...(In)>{detail::kind_of_value<In>()...}) {}

  /// Returns a handle for argument number `Index` of a run.
  template <std::size_t Index = 0>
  [[nodiscard]] auto input() const noexcept {
    return detail::flow_access::find_node<std::tuple_element_t<Index, std::tuple<In...>>>(draft_.input(Index));
  }

  /// Adds a node that calls `fn` with the values of the nodes and inputs in `takes`. The node's value is the result of
  /// `fn`. If `fn` returns a task, the node's value is the result of that task. Several runs may call `fn` at the same
  /// time. Values live until the end of their run, and are destroyed on its home.
  /// Cost: an allocation for `fn`.
  template <typename Fn, typename... Values>
    requires detail::flow_function<Fn, Values...>
  auto add(const flow_node_options& options, Fn&& fn, flow_node<Values>... takes) {
    using callable = std::decay_t<Fn>;
    using value = typename detail::flow_call_of<callable, Values...>::value;
    const std::array<detail::flow_source, sizeof...(Values)> sources{detail::flow_access::find_source(takes)...};
    return detail::flow_access::find_node<value>(
        draft_.add(options, detail::flow_caller<callable, Values...>::functions(),
                   detail::make_box(std::forward<Fn>(fn)), detail::kind_of_value<value>(), sources));
  }
  template <typename Fn, typename... Values>
    requires detail::flow_function<Fn, Values...>
  auto add(std::string_view name, Fn&& fn, flow_node<Values>... takes) {
    return add({.name = name}, std::forward<Fn>(fn), takes...);
  }
  /// Does not compile; its error message describes what is wrong with the callable or its values.
  template <typename Fn, typename... Takes>
    requires(!detail::can_add_to_flow<Fn, Takes...>)
  auto add(const flow_node_options& /*options*/, Fn&& /*fn*/, Takes&&... /*takes*/) {
    static_cast<void>(detail::refused_flow_node<Fn, Takes...>());
    return flow_node<void>();
  }
  template <typename Fn, typename... Takes>
    requires(!detail::can_add_to_flow<Fn, Takes...>)
  auto add(std::string_view /*name*/, Fn&& /*fn*/, Takes&&... /*takes*/) {
    static_cast<void>(detail::refused_flow_node<Fn, Takes...>());
    return flow_node<void>();
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return draft_.size(); }

  /// Returns the flow. A run returns the value of `result`, but all nodes run, even if `result` does not depend on
  /// them. The builder cannot be used afterwards.
  /// Errors: diagnostics with the codes `unknown_node`, `timeout_of_small_node` and `too_large`; the messages name the
  /// nodes.
  template <typename T>
  [[nodiscard]] auto build(flow_node<T> result) && -> checked<flow<T(In...)>> {
    static_assert(!detail::borrows<T>,
                  "the result of a flow outlives its run, so it must not be a pointer or reference to data of the run");
    static_assert(std::is_void_v<T> || std::move_constructible<T>,
                  "the result of a flow is moved out of its run, so it must be movable");
    const detail::flow_source from = detail::flow_access::find_source(result);
    return made<T>(draft_.build(from), from.value);
  }
  /// Returns a flow without a result. In other respects, this works like `build` with a result.
  [[nodiscard]] auto build() && -> checked<flow<void(In...)>> { return made<void>(draft_.build({}), 0); }

 private:
  template <typename T>
  static auto made(checked<std::shared_ptr<const detail::flow_plan>> plan, detail::flow_value_index result)
      -> checked<flow<T(In...)>> {
    if (!plan) return std::unexpected(std::move(plan.error()));
    return flow<T(In...)>(std::move(*plan), result);
  }

  detail::flow_draft draft_;
};

}  // namespace braid
