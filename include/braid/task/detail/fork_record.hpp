// braid/task/detail/fork_record.hpp: a forked piece of work, as stored in the deques of workers.
#pragma once

#include <braid/sync/atomic.hpp>
#include <braid/task/detail/end_signal.hpp>

namespace braid {

struct worker;

namespace detail {

/// A stealable child of a fork. It is stored on the stack of the forking function, in an allocated block for a
/// task_group, or in the frame of a coroutine.
/// Protocol: docs/design/fork_join.md
struct fork_record {
  /// Runs the forked function, stores its result or exception, and signals the end. The record may be destroyed after
  /// that.
  using run_fn = void (*)(fork_record&) noexcept;

  explicit fork_record(run_fn fn) noexcept : run(fn) {}
  fork_record(const fork_record&) = delete;
  auto operator=(const fork_record&) -> fork_record& = delete;

  const run_fn run;
  atomic<worker*> thief{nullptr};  // the worker that stole it; written by the thief before it begins
  end_signal ended;                // set by `run` of a record on a stack

 protected:
  ~fork_record() = default;
};

}  // namespace detail
}  // namespace braid
