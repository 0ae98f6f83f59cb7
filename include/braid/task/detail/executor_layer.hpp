// braid/task/detail/executor_layer.hpp: the base class of executors that are layers over another executor.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <exception>
#include <memory>
#include <new>
#include <stop_token>
#include <utility>

namespace braid::detail {

/// A layer over another executor, whose id it shares. So continuations, resumptions and timers for the layer go
/// directly to the other executor.
/// Lifetime: the other executor must outlive the layer.
class executor_layer : public executor {
 public:
  [[nodiscard]] auto is_current() const noexcept -> bool override { return below_.is_current(); }
  [[nodiscard]] auto needs_polls() const noexcept -> bool override { return below_.needs_polls(); }
  [[nodiscard]] auto poll() noexcept -> bool override { return below_.poll(); }
  [[nodiscard]] auto run_one() noexcept -> bool override { return below_.run_one(); }
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return below_.stop_token(); }
  [[nodiscard]] auto why_refused() const noexcept -> errc override { return below_.why_refused(); }
  void ran_late() noexcept override { below_.ran_late(); }
  void report(std::exception_ptr error) noexcept override { below_.report(std::move(error)); }

 protected:
  explicit executor_layer(executor& over) : below_(over) { share_id(over); }
  ~executor_layer() override { give_up_id(); }

  [[nodiscard]] auto over() const noexcept -> executor& { return below_; }

 private:
  executor& below_;
};

/// Creates a job that is queued in place of another job, for an executor that is a layer. `free_block<Job>` destroys
/// it. Returns null if there is no memory.
template <typename Job, typename Layer>
auto try_make_proxy(Layer& layer, job& work) noexcept -> Job* {
  try {
    return std::construct_at(static_cast<Job*>(allocate_block<Job>()), layer, work);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace braid::detail
