// tests/support/queue_executor.hpp: an executor with one worker, which is whatever thread the test lets be it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <mutex>

namespace braid::testing {

/// Jobs wait in their order until a thread works. It has no thread of its own, so that a test with a single thread says
/// what runs when. Threads: posting from any, working from one at a time.
class queue_executor final : public executor {
 public:
  ~queue_executor() override { BRAID_EXPECTS(jobs_.empty(), "a test runs or drops what it posted"); }

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    jobs_.push(work);
    ++posts_;
    return true;
  }

  [[nodiscard]] auto is_current() const noexcept -> bool override {
    const worker* self = braid::detail::current_worker();
    return self != nullptr && self->pool == this;
  }

  [[nodiscard]] auto run_one() noexcept -> bool override {
    if (!is_current()) return false;
    job* next = take();
    if (next == nullptr) return false;
    next->run();
    return true;
  }

  /// Becomes the worker, and runs what there is, and what that posts, to the end.
  void work() {
    const detail::worker_scope here(self_);
    while (run_one()) {}
  }

  /// Becomes the worker until `done()`.
  template <typename Done>
  void work_until(Done done) {
    const detail::worker_scope here(self_);
    while (!done()) static_cast<void>(run_one());
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  void drop_all() {
    while (job* next = take()) next->drop();
  }

  [[nodiscard]] auto posts() const -> std::size_t {
    const std::lock_guard lock(mutex_);
    return posts_;
  }

 private:
  auto take() noexcept -> job* {
    const std::lock_guard lock(mutex_);
    return jobs_.pop();
  }

  mutable std::mutex mutex_;
  braid::detail::intrusive_queue<job> jobs_;
  std::size_t posts_ = 0;
  bool closed_ = false;
  braid::detail::asymmetric_barrier barrier_;
  worker self_{*this, 0, barrier_};
};

}  // namespace braid::testing
