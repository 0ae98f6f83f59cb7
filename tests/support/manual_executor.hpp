// tests/support/manual_executor.hpp: an executor that runs a job when the test says so, in the order it says.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <utility>
#include <vector>

namespace braid::testing {

/// Threads: one.
class manual_executor final : public executor {
 public:
  ~manual_executor() override { BRAID_EXPECTS(jobs_.empty(), "a test runs or drops what it posted"); }

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override {
    if (closed_) return false;
    jobs_.push_back(&work);
    return true;
  }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }

  [[nodiscard]] auto pending() const noexcept -> std::size_t { return jobs_.size(); }
  void close() noexcept { closed_ = true; }

  void run(std::size_t index = 0) { take(index).run(); }
  void drop(std::size_t index = 0) { take(index).drop(); }
  void run_all() {
    while (!jobs_.empty()) run();
  }

 private:
  auto take(std::size_t index) -> job& {
    job& taken = *jobs_.at(index);
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
    return taken;
  }

  std::vector<job*> jobs_;
  bool closed_ = false;
};

}  // namespace braid::testing
