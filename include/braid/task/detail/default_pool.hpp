// braid/task/detail/default_pool.hpp: the pool for code that names no pool and does not run on a worker.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/pool.hpp>

namespace braid::detail {

/// Returns the pool; may create it at its first call.
/// Errors: the reason why it cannot be created.
using default_pool_source = auto (*)() -> pool&;

/// Returns the pool for code that does not run on a worker: the workers of the runtime of the process or, if that was
/// not initialized, of the oldest runtime that the program has created, unless the program has set another source.
/// Threads: any. Blocks: the first call, until its threads run. Errors: std::system_error if it cannot be created;
/// std::errc::no_such_device_or_address if no source is set.
[[nodiscard]] BRAID_API auto default_pool() -> pool&;

/// Sets the source of the pool; returns the previous source, which may be null.
/// Threads: any. Lifetime: pools that the previous source returned stay in use.
BRAID_API auto set_default_pool(default_pool_source source) noexcept -> default_pool_source;

/// Functions that learn of each pool of the process: `made` when it has its workers, `gone` before they are destroyed.
struct pool_observer {
  void (*made)(pool&) noexcept;
  void (*gone)(pool&) noexcept;
};

/// Sets the observer of pools. For the layer that reports what pools do. Lifetime: the observer is never destroyed.
BRAID_API void observe_pools(const pool_observer& observer) noexcept;

/// Calls the observer, if there is one. If there is none, and the environment requests an observer's function, prints
/// on stderr that this program does not have it.
/// Threads: any.
void note_pool_made(pool& made) noexcept;
void note_pool_gone(pool& gone) noexcept;

}  // namespace braid::detail
