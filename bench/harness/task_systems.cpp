// bench/harness/task_systems.cpp: pools of braid, and a bare thread, as task systems.
#include <bench/harness/task_system.hpp>

#include <braid/sync/parker.hpp>
#include <braid/task/pool.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace bench {
namespace {

class pool_system final : public task_system {
 public:
  pool_system(braid::scheduler chosen, unsigned workers) : pool_({.workers = workers, .scheduler = chosen}) {}

  void post(task what) override {
    static_cast<void>(braid::post(pool_, [what] { what.run(what.with); }));
  }

 private:
  braid::pool pool_;
};

class bare_system final : public task_system {
 public:
  ~bare_system() override {
    post({.run = nullptr, .with = nullptr});
    thread_.join();
  }

  void post(task what) override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(what);
    }
    parker_.unpark();
  }

 private:
  void work() {
    for (task mine = next(); mine.run != nullptr; mine = next()) mine.run(mine.with);
  }

  auto next() -> task {
    while (true) {
      if (const auto mine = try_next()) return *mine;
      parker_.park();
    }
  }

  auto try_next() -> std::optional<task> {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) return std::nullopt;
    const task oldest = tasks_.front();
    tasks_.pop_front();
    return oldest;
  }

  braid::parker parker_;
  std::mutex mutex_;
  std::deque<task> tasks_;
  std::thread thread_{[this] { work(); }};
};

auto pool_with(const char* name, braid::scheduler chosen) -> named_system {
  return {name, [chosen](unsigned workers) { return std::make_unique<pool_system>(chosen, workers); }};
}

}  // namespace

task_system::~task_system() = default;

auto task_systems() -> std::vector<named_system> {
  std::vector<named_system> all{
      pool_with("stealing", braid::scheduler::work_stealing),
      pool_with("least_loaded", braid::scheduler::least_loaded),
      pool_with("shared_queue", braid::scheduler::shared_queue),
  };
#if defined(BENCH_TBB)
  all.push_back(tbb_arena());
#endif
  return all;
}

auto bare_thread() -> named_system {
  return {"bare futex", [](unsigned) { return std::make_unique<bare_system>(); }};
}

}  // namespace bench
