// braid/runtime/runtime.hpp: the composition that programs start with: an event loop on its thread, a pool, and threads
// that may block.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/sync_wait.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/blocking_lane.hpp>
#include <braid/task/error_callback.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/pool_options.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace braid {

namespace detail {
struct runtime_end;
}

struct runtime_options {
  unsigned workers = 0;  ///< threads that compute; 0: default_worker_count()
  std::string name =
      "braid";  ///< threads are called name-loop, name-0, name-1, …, and name-b-0, … those that may block
  braid::scheduler scheduler = braid::scheduler::work_stealing;  ///< of the workers; one that has threads
  std::size_t most_blocking_threads = 64;
  /// Receives what posted jobs and spawned tasks throw; without it the message goes to stderr. Any thread.
  error_callback on_error = {};
};

/// A loop that waits and workers that compute, on threads of their own, so that neither delays the other.
/// Threads: made and destroyed on a thread that is neither; the members from any.
class BRAID_API runtime {
 public:
  /// Starts all threads. Errors: the system's; not_enough_memory.
  [[nodiscard]] static auto create(runtime_options options = {}) -> result<std::unique_ptr<runtime>>;
  /// Stops the tasks, runs what was accepted, and joins the threads.
  ~runtime();
  runtime(const runtime&) = delete;
  auto operator=(const runtime&) -> runtime& = delete;

  [[nodiscard]] auto io() noexcept -> loop& { return *loop_; }
  [[nodiscard]] auto workers() noexcept -> pool& { return *pool_; }
  /// For jobs that block. It has threads while it has jobs, and for a while after.
  [[nodiscard]] auto blocking() noexcept -> blocking_lane& { return *blocking_; }

  /// Stops the tasks of the loop, deals with accepted jobs as `mode` says, and joins the threads. Whatever comes later
  /// is refused with errc::closed. May be called again, and from several threads: all return after the threads ended.
  /// Errors: would_deadlock on a thread of this runtime.
  auto shutdown(shutdown_mode mode) -> result<void>;

  /// Runs a task on the loop and blocks until it has ended. Errors: as `sync_wait`.
  template <typename T>
  auto run(task<T> work) -> T {
    return sync_wait(*loop_, std::move(work));
  }

 private:
  runtime(runtime_options options, std::unique_ptr<loop> io);

  friend struct detail::runtime_end;
  [[nodiscard]] auto is_current() const noexcept -> bool;
  void stop_loop();

  std::unique_ptr<loop> loop_;
  std::unique_ptr<pool> pool_;
  std::unique_ptr<blocking_lane> blocking_;
  std::mutex join_mutex_;  // one thread joins the loop's
  std::thread loop_thread_;
};

namespace detail {

/// What is left of a runtime after the end of the process' static objects: workers that refuse.
struct runtime_end {
  /// Frees its loop, which has descriptors of the system. Requires that it was shut down.
  static void close(runtime& ended) noexcept { ended.loop_.reset(); }
};

}  // namespace detail
}  // namespace braid
