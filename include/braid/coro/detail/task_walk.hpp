// braid/coro/detail/task_walk.hpp: collects what the tasks of a home wait for; runs on the home's own thread.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/task/executor.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace braid {

class home;
class scope;

namespace detail {

class deaf_wait;

/// A scope that was found. Its address serves only as an identifier and is never dereferenced, because the scope may no
/// longer exist.
struct seen_scope {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  const scope* self = nullptr;
  std::size_t around = none;  ///< the index of the surrounding scope
  std::size_t tasks = 0;      ///< the number of tasks that have not ended
  task_info owner = {};       ///< the task that was spawned with this scope; number 0 if there is no such task

  [[nodiscard]] auto is_of_a_task() const noexcept -> bool { return owner.id.number != 0; }
  /// Returns whether the surrounding scope also counts the task that owns this scope. If so, a sum over both scopes
  /// would count the task twice.
  [[nodiscard]] auto counts_around() const noexcept -> bool { return is_of_a_task() && around != none; }
};

/// A suspended coroutine.
struct seen_level {
  const void* function = nullptr;  ///< the function that resumes it
  await_place at = {};             ///< the place of its `co_await`
};

/// A suspended task: its coroutines, from the coroutine that waits up to the root of the task.
struct seen_task {
  const scope* in = nullptr;    ///< the scope of its root
  std::size_t first_level = 0;  ///< the index of its first scope in `seen_home::levels`
  std::size_t levels = 0;
  std::size_t first_inner = 0;  ///< the index in `seen_home::inner` of the scopes that its coroutines hold
  std::size_t inner = 0;
  bool is_owner = false;  ///< true if it owns the scope that it is in
  const char* waits_for = "";
  std::string details = {};
  needed_task needs = {};        ///< the task whose lock or value it waits for
  const scope* joins = nullptr;  ///< the scope whose tasks it waits for
  std::optional<duration> time_left = {};
  std::optional<errc> stopped_for = {};
};

struct seen_home {
  std::string thread;
  bool is_whole = true;  ///< false: there was not enough memory for more
  std::vector<seen_scope> scopes;
  std::vector<seen_task> tasks;
  std::vector<seen_level> levels;
  std::vector<const scope*> inner;
};

/// Visits the scopes of a home, and follows each wait up to the root of its task. It changes nothing, and calls no code
/// of the program. Threads: the home's thread, between two steps of its tasks or within a step.
class task_walk {
 public:
  [[nodiscard]] static auto through(home& home) noexcept -> seen_home;

 private:
  explicit task_walk(home& home);

  void visit(scope& scope, std::size_t place);
  void enter(scope& found, std::size_t around);
  void add(const awaiter_base& waiting);
  void add(const deaf_wait& waiting);
  auto add_chain(const promise_base& lowest) -> seen_task&;

  time_point now_;
  std::vector<scope*> found_;
  seen_home home_;
};

}  // namespace detail
}  // namespace braid
