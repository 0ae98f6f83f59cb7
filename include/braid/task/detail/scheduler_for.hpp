// braid/task/detail/scheduler_for.hpp: combines a scheduling policy with the queues for jobs of high and low priority
// and with the worker loop.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/common_queue.hpp>
#include <braid/task/detail/context_hooks.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/detail/scheduler_base.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <cstdint>
#include <memory>

namespace braid::detail {

/// Executes `pauses` pause instructions of the processor.
BRAID_API void back_off(std::uint32_t pauses) noexcept;

/// A scheduling policy together with the queues of high and low priority.
template <scheduling_policy Policy>
class scheduler_for final : public scheduler_base {
 public:
  scheduler_for(pool& owner, const worker_list& workers) : owner_(owner), forks_(*owner.forks_), policy_(workers) {
    shared_ = policy_.queue_of_all();
  }

  static auto make(pool& owner, const worker_list& workers) -> std::unique_ptr<scheduler_base> {
    return std::make_unique<scheduler_for>(owner, workers);
  }

  auto place(job& work, worker* poster, priority level) noexcept -> placement override {
    if (level == priority::normal) {
      const placement placed = policy_.place(work, poster);
      if (placed.how != placement::verdict::no_memory) [[likely]]
        return placed;
    }
    common_queue& queue = level == priority::low ? low_ : high_;  // a push to these queues allocates no memory
    if (!queue.try_push(work)) return {};
    return {.how = placement::verdict::urgent};
  }

  auto worker_for(worker* poster) noexcept -> worker* override {
    if constexpr (has_contexts)
      return &policy_.worker_for(poster);
    else
      return nullptr;
  }

  [[nodiscard]] auto busy_worker() const noexcept -> const atomic<worker*>* override {
    if constexpr (has_contexts)
      return policy_.busy_worker();
    else
      return nullptr;
  }

  [[nodiscard]] auto own_queues() noexcept -> local_queues* override {
    if constexpr (has_contexts)
      return policy_.own_queues();
    else
      return nullptr;
  }

  void work(worker& self) noexcept override;
  auto run_one(worker& self, search reason) noexcept -> bool override;
  auto run_awaited(worker& self, job& awaited) noexcept -> bool override;

  void falls_asleep() noexcept override { forks_.ask_all(); }
  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return policy_.has_monitor(); }
  [[nodiscard]] auto may_park(worker& self) noexcept -> bool override {
    return high_.empty() && low_.empty() && policy_.may_park(self) && forks_.empty();
  }
  [[nodiscard]] auto empty() noexcept -> bool override {
    return high_.empty() && low_.empty() && policy_.empty() && forks_.empty();
  }
  [[nodiscard]] auto is_quiescent() noexcept -> bool override {
    return high_.empty() && low_.empty() && policy_.is_quiescent() && forks_.empty();
  }
  void close() noexcept override {
    high_.close();
    low_.close();
    policy_.close();
  }
  void drop_all() noexcept override {
    high_.drop_all();
    low_.drop_all();
    policy_.drop_all();
  }

 private:
  static constexpr bool has_contexts = context_policy<Policy>;

  // The following constants are based on measurements: see "Numbers of the loop" in docs/design/pool.md.
  static constexpr std::uint32_t polls_between_fair = 64;
  static constexpr std::uint32_t max_between_driver_polls = 8;  // a number of jobs
  static constexpr duration quantum = 100us;
  static constexpr duration quantum_beside_driver = 20us;
  static constexpr std::uint32_t max_jobs_per_slice = 256;
  static constexpr std::uint32_t worth_a_look = 16;  // the number of jobs that a poll of the inbox found
  static constexpr duration worth_a_backoff = 2us;
  static constexpr std::uint32_t min_backoff = 4;

  // --- The steps of one iteration of the loop, in order. ---

  void return_context(worker& self, code_marker* marker) noexcept;
  void run_driver_if_next(worker& self, wake_cause woken) noexcept;
  auto why_after(worker& self, wake_cause woken) noexcept -> search;
  void end_search(worker& self, wake_cause woken) noexcept;
  auto wait_for_work(worker& self, code_marker* marker) noexcept -> wake_cause;
  void begin_work(worker& self) noexcept;
  void run_batch(worker& self, found_job& first) noexcept;

  // --- Functions that find a job. ---

  auto next(worker& self, search reason) noexcept -> found_job;
  auto next_in_fairness(worker& self) noexcept -> found_job;

  // --- Functions that run jobs. ---

  void run_posted(worker& self) noexcept;
  auto is_slice_over(worker& self, std::uint32_t ran) noexcept -> bool;
  auto next_posted(worker& self, std::uint32_t& since_look) noexcept -> found_job;
  auto run_own(worker& self) noexcept -> bool;
  auto run_fresh(worker& self) noexcept -> bool;
  static void back_off_after_jobs(worker& self) noexcept;

  // --- Functions for waiting, the driver and forks. ---

  auto lingers(worker& self) noexcept -> bool;
  /// Returns whether the driver has work that an idle worker should do. Returns false while the pool is stopping,
  /// because workers then do not run work of drivers.
  auto has_own_work(worker& self) noexcept -> bool {
    return self.has_own_work && !owner_.sleepers_->is_stopping() && self.sleep->is_ready();
  }
  void work_beside_jobs(worker& self) noexcept;
  void look_up(worker& self) noexcept;
  auto help_with_forks(worker& self) noexcept -> bool;
  template <typename Item>
  auto run_if_any(worker& self, Item item) noexcept -> bool;
  template <typename Item>
  void run(worker& self, Item& item) noexcept;

  pool& owner_;
  fork_exchange& forks_;
  Policy policy_;
};

}  // namespace braid::detail
