// braid/io/detail/loop_timers.hpp: timers for threads of any kind, served by an event loop.
#pragma once

#include <braid/base/config.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <memory>

namespace braid::detail {

/// Timers that any thread can arm, like a `timer_thread` but without a thread: they fire on the thread of a loop,
/// together with its own. For `post_at`, `post_after` and `post_every` on a pool: `post_after(workers, timers, 5ms,
/// fn)`. After the loop has stopped, nothing fires; the destructor drops pending timers.
/// Threads: created on the loop's own thread, while the loop runs; destroyed there, or after the loop has stopped. The
/// rest as `shared_timers`. Lifetime: ends before its loop. Cost: as `shared_timers`; a post to the loop if a timer is
/// due before all others.
class BRAID_API loop_timers final : public shared_timers {
 public:
  /// Uses the clock of the loop.
  /// Errors: std::bad_alloc.
  explicit loop_timers(loop& loop);
  ~loop_timers() override;

 private:
  class server;
  static auto serve_on(loop& loop) -> std::unique_ptr<server>;
  explicit loop_timers(std::unique_ptr<server> by);

  server* server_;
};

}  // namespace braid::detail
