// braid/coro/detail/promise.hpp: the base of the promises of all coroutines that have a home.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/resume.hpp>
#include <braid/task/detail/job_memory.hpp>
#include <braid/task/job.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <source_location>

namespace braid {

class scope;

namespace detail {

/// The two ways in which a coroutine can end.
enum class ending : std::uint8_t {
  done,     ///< it ran to its end, with a value or an exception
  stopped,  ///< a leaf below it was stopped; it stays suspended until its owner destroys it
};

/// Ends the program, because the destructor of a local variable threw while the frame of a stopped coroutine was being
/// destroyed. No await remains that could rethrow the exception. Called while the exception is being handled.
[[noreturn]] BRAID_API void destructor_threw() noexcept;

/// The source location of an await. It is the default argument of each `await_suspend`; for this argument, compilers
/// use the location of the `co_await`.
using await_place = std::source_location;

/// Connects a coroutine to the coroutine that awaits it. The parent passes its scope to the child when the child is
/// awaited. The child passes its ending to the parent. Most coroutines are simply awaited and have no `end` function:
/// when such a coroutine is done, its parent resumes, and when it is stopped, its parent is stopped as well. Roots, and
/// children whose await observes a stop, have an `end` function, which returns the coroutine to resume. The promise is
/// also a job. The home runs this job to end a root that ended on another executor, or to run a first step that was
/// queued. Only roots are queued, so the link of the job points to the parent of all other coroutines.
class BRAID_API promise_base : private job {
 public:
  using end_fn = std::coroutine_handle<> (*)(promise_base& self, ending ending) noexcept;

  struct final_awaiter {
    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    template <std::derived_from<promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> self) noexcept -> transfer {
      return transfer_to(self.promise().finish());
    }
    void await_resume() const noexcept {}
  };

  /// `self` is the handle of the coroutine.
  explicit promise_base(std::coroutine_handle<> self) noexcept : job(&came_home), self_(self) {}

  [[nodiscard]] auto initial_suspend() const noexcept -> std::suspend_always { return {}; }
  [[nodiscard]] auto final_suspend() const noexcept -> final_awaiter { return {}; }

  static auto operator new(std::size_t size) -> void* { return allocate_job(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_job(frame, size); }

  /// Connects a child to the coroutine that awaits it.
  void attach(promise_base& parent, end_fn end = nullptr, void* context = nullptr) noexcept {
    next = &parent;
    end_ = end;
    context_ = context;
    scope_ = parent.scope_;
  }

  /// Connects a child that is simply awaited. The end of the await destroys the child's frame through `owner`. A stop
  /// may destroy the frame earlier; it then sets `owner` to null.
  void attach_owned(promise_base& parent, std::coroutine_handle<>& owner) noexcept { attach(parent, nullptr, &owner); }

  /// Marks this coroutine as a root: no task awaits it, and `end` is called when it has ended.
  void attach_root(scope* scope, end_fn end, void* context) noexcept {
    scope_ = scope;
    end_ = end;
    context_ = context;
  }

  /// Records, for dumps, the source location at which this coroutine is about to wait.
  void suspends_at(await_place place) noexcept { place_ = place; }

  void set_scope(scope* scope) noexcept { scope_ = scope; }

  /// Marks this suspended coroutine as ended: its frame is destroyed next.
  void goes_on_no_more() noexcept { self_ = nullptr; }
  /// Called by `unhandled_exception`. Compilers also call `unhandled_exception` for an exception of a destructor while
  /// the frame is destroyed; this function detects that case.
  void expect_to_go_on() const noexcept {
    if (self_ == nullptr) [[unlikely]]
      destructor_threw();
  }

  /// Runs the first step of this root. If `max_nested` other first steps are already on the stack, the step is queued
  /// at the home instead. For this reason, chains of tasks cannot overflow the stack. Requires that this root has a
  /// scope.
  void begin() noexcept;

  /// Returns the scope of this coroutine, or null if a plain thread waits for the coroutine.
  [[nodiscard]] auto where() const noexcept -> scope* { return scope_; }
  /// Returns the handle of this coroutine, or null if the coroutine will not run again.
  [[nodiscard]] auto self() const noexcept -> std::coroutine_handle<> { return self_; }
  /// Returns the handle of the coroutine that awaits this one. Requires that another coroutine awaits it.
  [[nodiscard]] auto continuation() const noexcept -> std::coroutine_handle<> { return parent()->self_; }
  [[nodiscard]] auto context() const noexcept -> void* { return context_; }

  /// Stops the coroutine at the point where it waits, and returns the coroutine to resume. The coroutine ends, and so
  /// do its parents that do not observe stops. Their frames are destroyed, innermost first, up to the first frame that
  /// is not simply awaited. If the coroutine runs on another executor, no frame is destroyed here. The awaiter that
  /// handles the stop destroys the remaining frames.
  [[nodiscard]] auto stop() noexcept -> std::coroutine_handle<>;

  /// Calls the `end` function of this root once more, on its home. Requires that this root has a scope.
  void end_at_home(ending ending) noexcept;

 private:
  friend class task_walk;
  friend struct debug_layout;
  // docs/design/constants.md explains how this value was chosen.
  static constexpr unsigned max_nested = 64;

  static void came_home(job& self, action action);

  [[nodiscard]] auto finish() noexcept -> std::coroutine_handle<> {
    return end_ == nullptr ? continuation() : end_(*this, ending::done);
  }

  /// Returns the promise of the coroutine that awaits this one, or null if this is a root. Requires that this is not a
  /// queued root, because `next` is then a link of the queue.
  [[nodiscard]] auto parent() const noexcept -> promise_base* { return static_cast<promise_base*>(next); }

  std::coroutine_handle<> self_;  // null once the coroutine does not continue
  // The following three members are set by `attach` or `attach_root` before the coroutine begins.
  end_fn end_;
  void* context_;  // the context of `end_`; without `end_`, the handle that owns this frame, or null
  scope* scope_;
  await_place place_;  // the place of the latest await
};

#if !defined(BRAID_MODEL)  // its atomics are objects of the explorer
static_assert(sizeof(promise_base) <= 56,
              "a promise_base must stay small, because each coroutine with a home contains one");
#endif

}  // namespace detail
}  // namespace braid
