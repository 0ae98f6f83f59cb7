// braid/task/detail/context_hooks.hpp: the hooks shared by schedulers that have a queue and an inbox for each worker.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/local_queues.hpp>
#include <braid/task/job.hpp>
#include <braid/task/scheduling_policy.hpp>
#include <braid/task/worker.hpp>

#include <concepts>

namespace braid::detail {

/// The hooks of policies that keep jobs in the contexts of workers. A worker context consists of the queue and the
/// inbox of a worker; callables can be posted to the inbox without a job object. A derived policy decides which context
/// gets a job, and what an idle worker steals from other contexts.
class BRAID_API context_hooks : public scheduling_hooks {
 public:
  explicit context_hooks(const worker_list& workers) : contexts_(workers) {}

  /// Returns the worker that gets a job posted by `poster`.
  [[nodiscard]] virtual auto worker_for(worker* poster) noexcept -> worker& = 0;

  /// If the policy keeps one worker busy with remote jobs, returns the variable that holds the result of
  /// `worker_for(nullptr)`. Otherwise returns null.
  [[nodiscard]] virtual auto busy_worker() const noexcept -> const atomic<worker*>* { return nullptr; }

  /// If jobs that a worker posts always go to its own context, returns the contexts. Otherwise returns null.
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

/// A scheduling policy that keeps jobs in the contexts of workers.
template <typename P>
concept context_policy = scheduling_policy<P> && std::derived_from<P, context_hooks>;

}  // namespace braid::detail
