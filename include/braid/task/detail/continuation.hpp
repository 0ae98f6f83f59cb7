// braid/task/detail/continuation.hpp: continuations, which are notified when a future settles, without recursion.
#pragma once

#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/task/job.hpp>

namespace braid::detail {

class cascade;

/// A job that is attached to a future until the future settles. A continuation is notified once. Until then, the future
/// uses the job's link for its list of continuations.
class continuation : public job {
 public:
  using job::job;

  /// Called when the future has settled. The function adds further continuations to `more` and must not notify them
  /// itself.
  virtual void fire(cascade& more) noexcept = 0;

 protected:
  ~continuation() = default;
};

/// A queue of continuations that are still to be notified (a trampoline). The thread that settles a future creates a
/// cascade, and notifies the continuations from its own stack frame. So a chain of any length needs the stack of only
/// one continuation.
/// Threads: one.
class cascade {
 public:
  void add(continuation& next) noexcept { queue_.push(next); }

  void run() noexcept {
    while (job* next = queue_.pop()) static_cast<continuation*>(next)->fire(*this);
  }

 private:
  intrusive_queue<job> queue_;
};

}  // namespace braid::detail
