// braid/runtime/runtime.hpp: the composition that programs start with: an event loop on its thread, and a pool.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/sync_wait.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/error_callback.hpp>
#include <braid/task/pool.hpp>

#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace braid {

struct runtime_options {
  unsigned workers = 0;        ///< threads that compute; 0: default_worker_count()
  std::string name = "braid";  ///< threads are called name-loop, name-0, name-1, …
  /// Receives what posted jobs and spawned tasks throw; without it the message goes to stderr. Any thread.
  error_callback on_error = {};
};

/// A loop that waits and workers that compute, on threads of their own, so that neither delays the other.
/// Threads: made and destroyed on a thread that is neither; the members from any.
class BRAID_API runtime {
 public:
  /// Starts all threads. Errors: the system's.
  [[nodiscard]] static auto create(runtime_options options = {}) -> result<std::unique_ptr<runtime>>;
  /// Stops the tasks, runs what was accepted, and joins the threads.
  ~runtime();
  runtime(const runtime&) = delete;
  auto operator=(const runtime&) -> runtime& = delete;

  [[nodiscard]] auto io() noexcept -> loop& { return *loop_; }
  [[nodiscard]] auto workers() noexcept -> pool& { return *pool_; }

  /// Runs a task on the loop and blocks until it has ended. Errors: as `sync_wait`.
  template <typename T>
  auto run(task<T> work) -> T {
    return sync_wait(*loop_, std::move(work));
  }

 private:
  runtime(runtime_options options, std::unique_ptr<loop> io);

  std::unique_ptr<loop> loop_;
  std::unique_ptr<pool> pool_;
  std::thread loop_thread_;
};

}  // namespace braid
