// braid/task/detail/context_hooks.hpp: the hooks that schedulers with a queue and an inbox per worker share.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <concepts>

namespace braid::detail {

/// The hooks of the policies whose jobs are in the contexts of workers, so that callables can be posted there as they
/// are. A worker context is the queue and the inbox of a worker. A policy with contexts adds the choice of one, and
/// what a worker without jobs of its own takes from the others.
class BRAID_API context_hooks : public scheduling_hooks {
 public:
  explicit context_hooks(const worker_list& workers) : contexts_(workers) {}

  /// Returns the worker in whose context a job of `poster` is queued.
  [[nodiscard]] virtual auto worker_for(worker* poster) noexcept -> worker& = 0;

  /// Returns the variable that holds `worker_for(nullptr)`, if one worker is kept busy with jobs from elsewhere.
  [[nodiscard]] virtual auto busy_worker() const noexcept -> const atomic<worker*>* { return nullptr; }

  /// Returns the contexts, if jobs that a worker posts always go to its own one.
  [[nodiscard]] virtual auto own_queues() noexcept -> local_queues* { return nullptr; }

  [[nodiscard]] auto take_own(worker& self) noexcept -> found_job { return contexts_.take_own(self); }

  [[nodiscard]] auto tick(worker& self) noexcept -> found_job final { return contexts_.take_posted(self); }
  [[nodiscard]] auto try_take(worker& self, const job& awaited) noexcept -> bool final {
    return contexts_.try_take(self, awaited);
  }
  [[nodiscard]] auto may_park(worker& self) noexcept -> bool final { return contexts_.may_park(self); }
  [[nodiscard]] auto empty() noexcept -> bool final { return contexts_.empty(); }
  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return true; }
  [[nodiscard]] auto is_quiescent() noexcept -> bool final { return contexts_.is_quiescent(); }
  void close() noexcept final { contexts_.close(); }
  void drop_all() noexcept final { contexts_.drop_all(); }

 protected:
  local_queues contexts_;
};

/// A scheduler whose jobs are in the contexts of workers.
template <typename P>
concept context_policy = scheduling_policy<P> && std::derived_from<P, context_hooks>;

}  // namespace braid::detail
