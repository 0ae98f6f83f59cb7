// braid/io/spawn_local.hpp: tasks that begin and stay on the calling thread.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/task_handle.hpp>
#include <braid/io/loop.hpp>

#include <utility>

namespace braid {

/// Spawns `work` on the loop whose thread calls, and runs it there until its first wait, but where `scope::spawn`
/// queues first steps. It never leaves this thread by itself, so what it shares with other tasks and jobs of the thread
/// needs no lock. It belongs to the loop, and not to the scope of the caller. Requires a loop: the caller is a task or
/// a job on its thread. Threads: that of the loop. Errors: std::bad_alloc.
template <typename T>
auto spawn_local(task_options how, task<T> work) -> task_handle<T> {
  loop* const here = loop::current();
  BRAID_EXPECTS(here != nullptr, "spawn_local is called on the thread of a loop");
  return spawn(here->root(), std::move(how), std::move(work));
}
template <typename T>
auto spawn_local(task<T> work) -> task_handle<T> {
  return spawn_local(task_options(), std::move(work));
}

}  // namespace braid
