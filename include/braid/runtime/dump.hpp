// braid/runtime/dump.hpp: the task dump of one runtime.
#pragma once

#include <braid/coro/dump.hpp>
#include <braid/runtime/runtime.hpp>

#include <vector>

namespace braid {

/// What the suspended tasks of `of` wait for: those on its loops, and those on its workers and blocking threads that
/// have homes of their own. As `dump()` otherwise, which asks the homes of all runtimes and the program's own.
/// Threads: any, while the runtime lives. Blocks, errors, cost: as `dump()`.
[[nodiscard]] inline auto dump(runtime& of, duration limit = 1s) -> task_dump {
  std::vector<detail::executor_id> where{of.workers().id(), of.blocking().id()};
  for (const loop* const each : of.loops()) where.push_back(each->id());
  return detail::dump_of(where, limit);
}

}  // namespace braid
