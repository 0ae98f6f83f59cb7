// braid/task/detail/inline_scheduler.hpp: the inline scheduler, without workers: the posting thread runs the job.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/scheduler_base.hpp>

#include <cstdint>
#include <memory>

namespace braid::detail {

/// Returns whether the calling thread runs a job of such a scheduler.
[[nodiscard]] BRAID_API auto runs_inline() noexcept -> bool;

/// `place` runs the job before it returns; a job that such a job posts waits until that one has ended, so that jobs
/// which post the next one do not use up the stack.
/// Threads: any; each runs what it posts.
class BRAID_API inline_scheduler final : public scheduler_base {
 public:
  explicit inline_scheduler(pool& owner) noexcept : owner_(owner) {}

  static auto make(pool& owner, const worker_list& /*workers*/) -> std::unique_ptr<scheduler_base> {
    return std::make_unique<inline_scheduler>(owner);
  }

  auto place(job& work, worker* poster, priority level) noexcept -> placement override;
  auto worker_for(worker* /*poster*/) noexcept -> worker* override { return nullptr; }
  void work(worker& /*self*/) noexcept override {}
  auto run_one(worker& /*self*/, search /*why*/) noexcept -> bool override { return false; }
  [[nodiscard]] auto is_current() const noexcept -> bool override;

  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return false; }
  [[nodiscard]] auto may_park(worker& /*self*/) noexcept -> bool override { return true; }
  [[nodiscard]] auto empty() noexcept -> bool override;
  void close() noexcept override;
  void drop_all() noexcept override { drops_.store(true, relaxed); }

 private:
  static constexpr std::uint32_t closed = std::uint32_t{1} << 31U;

  void run(job& work) noexcept;

  pool& owner_;
  atomic<std::uint32_t> state_{0};  // how many threads run jobs here; and `closed`, which stays
  atomic<bool> drops_{false};       // whether jobs that wait are dropped; written once
};

}  // namespace braid::detail
