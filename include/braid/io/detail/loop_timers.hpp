// braid/io/detail/loop_timers.hpp: timers that any thread can arm, served by an event loop.
#pragma once

#include <braid/base/config.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/detail/shared_timers.hpp>

#include <memory>

namespace braid::detail {

/// Timers that any thread can arm. They work like a `timer_thread` but without a thread of their own: they fire on the
/// thread of a loop, together with the loop's timers. Use them for `post_at`, `post_after` and `post_every` on a pool:
/// `post_after(workers, timers, 5ms, fn)`. After the loop has stopped, no timer fires; the destructor drops pending
/// timers.
/// Threads: create the object on the loop's own thread while the loop runs; destroy it on the same thread, or after the
/// loop has stopped. For all other calls, the rules of `shared_timers` apply. Lifetime: must be destroyed before its
/// loop. Cost: the same as for `shared_timers`, and a post to the loop if a new timer is due before all others.
class BRAID_API loop_timers final : public shared_timers {
 public:
  /// Constructs timers that use the clock of the loop.
  /// Errors: std::bad_alloc.
  explicit loop_timers(loop& loop);
  ~loop_timers() override;

 private:
  class server;
  static auto serve_on(loop& loop) -> std::unique_ptr<server>;
  explicit loop_timers(std::unique_ptr<server> service);

  server* server_;
};

}  // namespace braid::detail
