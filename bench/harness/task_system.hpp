// bench/harness/task_system.hpp: whatever runs tasks on threads of its own, behind one interface, for measurements in
// which an indirect call does not matter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// A function and what it is to be called with. Who posts it keeps that alive.
struct task {
  void (*run)(void*);
  void* with;
};

/// Workers that run tasks, for as long as this lives. Nothing may be left to run when it ends.
class task_system {
 public:
  task_system() = default;
  task_system(const task_system&) = delete;
  auto operator=(const task_system&) -> task_system& = delete;
  virtual ~task_system();

  /// From any thread, the workers included.
  virtual void post(task what) = 0;
};

struct named_system {
  std::string name;
  std::function<std::unique_ptr<task_system>(unsigned workers)> make;
};

/// Pools of braid with each scheduler that has threads, and who else is there.
auto task_systems() -> std::vector<named_system>;

/// One thread that sleeps in a futex until it is given a task: what the machine allows at best, whatever number of
/// workers is asked for.
auto bare_thread() -> named_system;

/// oneTBB: an arena whose slots all belong to workers. Compiled where the library is.
auto tbb_arena() -> named_system;

}  // namespace bench
