// bench/pools/contenders.hpp: who runs many small tasks. Each is compiled where its library is.
#pragma once

#include <bench/harness/rounds.hpp>

#include <cstdint>

namespace bench {

/// Who posts the tasks: a thread outside, or a task, on the worker that runs it.
enum class poster : std::uint8_t { outside, worker };

/// Many tasks of the same length.
struct many_tasks {
  poster who;
  unsigned tasks;
  std::uint64_t steps;  ///< of `work_for`, in each task
};

auto many_tasks_tbb(const many_tasks& what, unsigned workers) -> sample;

}  // namespace bench
