// bench/harness/task_systems_tbb.cpp: an arena of oneTBB as a task system.
#include <bench/harness/task_system.hpp>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <memory>

namespace bench {
namespace {

class arena_system final : public task_system {
 public:
  explicit arena_system(unsigned workers)
      : limit_(tbb::global_control::max_allowed_parallelism, workers + 1), arena_(static_cast<int>(workers), 0) {}

  void post(task what) override {
    arena_.enqueue([what] { what.run(what.with); });
  }

 private:
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

}  // namespace

auto tbb_arena() -> named_system {
  return {"oneTBB", [](unsigned workers) { return std::make_unique<arena_system>(workers); }};
}

}  // namespace bench
