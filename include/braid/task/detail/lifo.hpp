// braid/task/detail/lifo.hpp: a scheduler that runs the newest job first.
#pragma once

#include <braid/task/detail/common_queue.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <mutex>
#include <utility>

namespace braid::detail {

/// One stack of jobs for all workers. A scheduling policy.
class lifo final : public scheduling_hooks {
 public:
  explicit lifo(const worker_list& /*workers*/) noexcept {}

  [[nodiscard]] auto place(job& work, worker* /*poster*/) noexcept -> placement override {
    const brief_guard inside(lock_);
    if (closed_) return {};
    work.next = std::exchange(newest_, &work);
    return {.how = placement::verdict::urgent};
  }
  [[nodiscard]] auto refill(worker& /*self*/, search /*why*/) noexcept -> found_job override { return pop(); }
  [[nodiscard]] auto may_park(worker& /*self*/) noexcept -> bool override { return empty(); }
  [[nodiscard]] auto empty() noexcept -> bool override {
    const brief_guard inside(lock_);
    return newest_ == nullptr;
  }
  [[nodiscard]] auto is_quiescent() noexcept -> bool override { return empty(); }
  void close() noexcept override {
    const brief_guard inside(lock_);
    closed_ = true;
  }
  void drop_all() noexcept override {
    while (job* const pending = pop()) pending->drop();
  }

 private:
  auto pop() noexcept -> job* {
    const brief_guard inside(lock_);
    return newest_ == nullptr ? nullptr : std::exchange(newest_, newest_->next);
  }

  std::mutex lock_;
  job* newest_ = nullptr;
  bool closed_ = false;
};

}  // namespace braid::detail
