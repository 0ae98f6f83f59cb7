// tests/refused/wrong_calls.cpp: calls with wrong arguments give one sentence, in place of a list of overloads.
// flags: -Werror=unused-result
// errors: exactly
// lines: 25
#include <braid/braid.hpp>

namespace {

using namespace braid;

struct fixed {
  fixed() = default;
  fixed(fixed&&) = delete;
  auto operator=(fixed&&) -> fixed& = delete;
  ~fixed() = default;
  void operator()() const {}
};

struct throwing {
  ~throwing() noexcept(false) {}
  void operator()() const {}
};
struct derived_throwing : throwing {};

[[maybe_unused]] auto add(int a, int b) -> int { return a + b; }
[[maybe_unused]] void increase(int& number) { ++number; }
[[maybe_unused]] void hold(const fixed&) {}
[[maybe_unused]] void nothing() {}
[[maybe_unused]] auto later(int number) -> task<int> { co_return number; }
[[maybe_unused]] auto computed() -> fork_task<void> { co_return; }

// --- spawn ---

// says: the callable cannot be called with these arguments
[[maybe_unused]] void too_few(pool& workers) { spawn(workers, add, 1).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void too_many(pool& workers) { spawn(workers, add, 1, 2, 3).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void wrong_type(pool& workers) { spawn(workers, add, 1, std::string()).detach(); }

// says: and std::ref passes a reference
[[maybe_unused]] void no_reference(pool& workers, int& number) { spawn(workers, increase, number).detach(); }

// says: the callable cannot be called without arguments
[[maybe_unused]] void no_arguments(pool& workers) { spawn(workers, add).detach(); }

// says: expected a function, a lambda or another callable, got an object that cannot be called
[[maybe_unused]] void no_callable(pool& workers) { spawn(workers, 42).detach(); }

// says: expected a callable and its arguments, got no callable
[[maybe_unused]] void nothing_at_all(pool& workers) { spawn(workers).detach(); }

// says: because they are stored in the job: pass an object by std::move
[[maybe_unused]] void not_movable(pool& workers, fixed& place) { spawn(workers, hold, place).detach(); }

// says: the destructor of one of them may throw: declare it noexcept
[[maybe_unused]] void throwing_call(pool& workers) { spawn(workers, throwing()).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void with_a_level(pool& workers) { spawn(workers, priority::high, add, 1L).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void with_a_stop(pool& workers, stop_flag& stop) { spawn(workers, stop, add, 1U).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void on_a_runtime(runtime& where) { spawn(where, add, short()).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void on_the_nearest() { spawn(add, char()).detach(); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void tried(pool& workers) { static_cast<void>(try_spawn(workers, add, 1.0)); }

// says: the callable cannot be called with these arguments
[[maybe_unused]] void wrong_task(pool& workers) { spawn(workers, later, std::string()).detach(); }

// says: expected a task, or a callable that returns a task
[[maybe_unused]] void function_for_task(scope& in) { spawn(in, add, 1, 2).detach(); }

// says: expected a task, or a callable that returns a task
[[maybe_unused]] void options_of_a_function(pool& workers) { spawn(workers, {.name = "x"}, add, 1L, 2L).detach(); }

// says: a task takes no arguments
[[maybe_unused]] void task_with_arguments(pool& workers) { spawn(workers, spawn_options(), later(1), 1).detach(); }

// says: a fork_task runs only on a pool
[[maybe_unused]] void fork_task_elsewhere(loop& io) { spawn(io, computed()).detach(); }

// says: expected a task, or a callable that returns a task
[[maybe_unused]] void function_in_scope(scope& in) { in.spawn(nothing); }

// says: this would drop the value of the task
[[maybe_unused]] void value_in_scope(scope& in) {
  in.spawn([] { return later(1); });
}

// --- post ---

// says: the callable cannot be called without arguments
[[maybe_unused]] void posted(loop& io) { static_cast<void>(post(io, increase)); }

// says: the callable cannot be called without arguments
[[maybe_unused]] void posted_to_the_nearest() { static_cast<void>(post(later)); }

// says: post takes no arguments for the callable
[[maybe_unused]] void posted_with_arguments(pool& workers) { static_cast<void>(post(workers, add, 1, 2)); }

// says: got an object that cannot be called
[[maybe_unused]] void posted_number(pool& workers) { static_cast<void>(post(workers, 4L)); }

// says: because they are stored in the job: pass an object by std::move
[[maybe_unused]] void posted_fixed(pool& workers, fixed& work) { static_cast<void>(post(workers, work)); }

// says: the destructor of one of them may throw: declare it noexcept
[[maybe_unused]] void posted_throwing(pool& workers) { static_cast<void>(post(workers, derived_throwing())); }

// says: post would drop the value of the task
[[maybe_unused]] void posted_value(pool& workers) { static_cast<void>(post(workers, later(1))); }

// says: a fork_task runs only on a pool
[[maybe_unused]] void posted_fork_task(pool& workers) { static_cast<void>(post(workers, computed)); }

// --- then ---

// says: the continuation cannot be called with the value of the future, a T&&
[[maybe_unused]] void wrong_value(future<int> ahead) {
  std::move(ahead).then([](const std::string&) {}).detach();
}

// says: the continuation cannot be called with the value of the future, a T&&
[[maybe_unused]] void wrong_count(future<int> ahead, pool& workers) { std::move(ahead).then(workers, add).detach(); }

// says: the continuation cannot be called with the value of the future, a const T&
[[maybe_unused]] void changed(future<int> ahead) { ahead.then_inline(increase).detach(); }

// says: the continuation cannot be called with the value of the future, a const T&
[[maybe_unused]] void of_shared(const shared_future<long>& ahead) { ahead.then(add).detach(); }

// says: expected a function, a lambda or another callable as the continuation
[[maybe_unused]] void task_for_continuation(future<int> ahead) { std::move(ahead).then(later(1)).detach(); }

// says: the continuation must be copyable or movable
[[maybe_unused]] void fixed_continuation(future<void> ahead, fixed& work) { std::move(ahead).then(work).detach(); }

// says: its destructor may throw: declare it noexcept
[[maybe_unused]] void throwing_continuation(future<void> ahead) { std::move(ahead).then(throwing()).detach(); }

// says: expected a callable, or an executor and a callable
[[maybe_unused]] void too_much(future<int> ahead) { std::move(ahead).then(later, 1).detach(); }

// says: the handler cannot be called with a std::exception_ptr
[[maybe_unused]] void wrong_handler(future<int> ahead) { std::move(ahead).recover(add).detach(); }

// --- offload ---

// says: the callable cannot be called with these arguments
[[maybe_unused]] auto offloaded(pool& workers) -> task<void> { co_await offload(workers, add, 1ULL); }

// says: the callable cannot be called without arguments
[[maybe_unused]] auto offloaded_alone(pool& workers) -> task<void> { co_await offload(workers, hold); }

// says: expected a callable, got a task
[[maybe_unused]] auto offloaded_task(pool& workers) -> task<void> { co_await offload(workers, later(1)); }

// says: offload with a timeout accepts no arguments
[[maybe_unused]] auto offloaded_in_time(pool& workers) -> task<void> {
  co_await offload(workers, {.timeout = std::chrono::seconds(1)}, add, 1, 2);
}

// says: ignoring return value
[[maybe_unused]] auto not_awaited(pool& workers) -> task<void> {
  offload(workers, nothing);
  co_return;
}

// --- forks ---

// says: expected callables without arguments
[[maybe_unused]] void forked_with_arguments() { fork_join(nothing, add); }

// says: the destructor of a callable may throw: declare it noexcept
[[maybe_unused]] void forked_throwing() { fork_join(nothing, throwing()); }

// says: expected two callables or more
[[maybe_unused]] void forked_alone() { fork_join(nothing); }

// says: a fork calls functions, and would not run the task that this callable returns
[[maybe_unused]] void forked_task() {
  fork_join(nothing, [] { return later(1); });
}

// says: the callable cannot be called without arguments
[[maybe_unused]] void in_a_group(task_group& group) {
  group.run([](int) {});
}

// --- nodes of graphs ---

// says: the callable cannot be called without arguments
[[maybe_unused]] void node_with_arguments(graph_builder& nodes) {
  nodes.add("sum", [](int, int) {});
}

// says: a node of this graph is a function whose result is dropped
[[maybe_unused]] void node_of_a_task(graph_builder& nodes) {
  nodes.add([] { return later(1); });
}

// says: the callable cannot be called with the values of these nodes
[[maybe_unused]] void node_of_a_flow(flow_builder<int>& nodes) { nodes.add("sum", add, nodes.input()); }

// says: expected nodes of this flow after the callable
[[maybe_unused]] void node_of_values(flow_builder<int>& nodes) { nodes.add({.name = "sum"}, add, 1, 2); }

// says: expected a function, a lambda or another callable as the node of a flow
[[maybe_unused]] void node_without_function(flow_builder<int>& nodes) { nodes.add("sum", 42); }

// --- fine ---

[[maybe_unused]] void accepted(pool& workers, stop_flag& stop, scope& in, int& number) {
  spawn(workers, add, 1, 2).detach();
  spawn(workers, increase, std::ref(number)).detach();
  spawn(workers, priority::high, add, 1, 2).detach();
  spawn(workers, stop, [](const stop_flag&, int) {}, 1).detach();
  spawn(workers, computed()).detach();
  spawn(in, {.name = "x"}, later, 1).detach();
  in.spawn([]() -> task<void> { co_return; });
  static_cast<void>(post(workers, [] {}));
}

}  // namespace
