// braid/task/detail/default_pool.hpp: the default pool, for code that specifies no pool and does not run on a worker.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/pool.hpp>

namespace braid::detail {

/// A function that returns the default pool. Its first call may create the pool. Errors: exceptions, if the pool cannot
/// be created.
using default_pool_source = auto (*)() -> pool&;

/// Returns the default pool, for code that does not run on a worker. It is the worker pool of the process's runtime. If
/// that runtime was not initialized, it is the worker pool of the oldest runtime that the program has created. The
/// program can set another source.
/// Threads: any. Blocks: the first call blocks until the threads of the pool run. Errors: std::system_error if the pool
/// cannot be created; std::errc::no_such_device_or_address if no source is set.
[[nodiscard]] BRAID_API auto default_pool() -> pool&;

/// Sets the source of the default pool. Returns the previous source, which may be null.
/// Threads: any. Lifetime: pools that the previous source returned stay in use.
BRAID_API auto set_default_pool(default_pool_source source) noexcept -> default_pool_source;

/// Callbacks for each pool of the process: `made` is called when the workers of a pool have started, and `gone` is
/// called when they have ended, before they are destroyed.
struct pool_observer {
  void (*made)(pool&) noexcept;
  void (*gone)(pool&) noexcept;
};

/// Sets the observer of pools. Used by the layer that reports the activity of pools. Lifetime: the observer must never
/// be destroyed.
BRAID_API void observe_pools(const pool_observer& observer) noexcept;

/// Calls the observer, if there is one. If environment variables request reports but there is no observer, prints on
/// stderr that this program cannot produce the reports.
/// Threads: any.
void note_pool_made(pool& made) noexcept;
void note_pool_gone(pool& gone) noexcept;

}  // namespace braid::detail
