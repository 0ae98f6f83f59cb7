// braid/task/detail/default_pool.hpp: the pool for code that was given none and runs on no worker.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/pool.hpp>

namespace braid::detail {

/// Gives the pool; may make it at its first call. Errors: whatever keeps it from being made.
using default_pool_source = auto (*)() -> pool&;

/// The pool for code that runs on no worker: the workers of the runtime of the process, or of the oldest that the
/// program has made where that was not initialized, unless the program has set another source. Threads: any. Blocks:
/// the first call, until its threads run. Errors: std::system_error where it cannot be made;
/// std::errc::no_such_device_or_address where no source is set.
[[nodiscard]] BRAID_API auto default_pool() -> pool&;

/// Sets the source of the pool; gives back the source before, which may be null.
/// Threads: any. Lifetime: pools that were given stay in use where they are.
BRAID_API auto set_default_pool(default_pool_source source) noexcept -> default_pool_source;

/// Functions that learn of each pool of the process: `made` when it has its workers, `gone` before they are destroyed.
struct pool_observer {
  void (*made)(pool&) noexcept;
  void (*gone)(pool&) noexcept;
};

/// Sets the observer of pools. For the layer that reports what pools do. Lifetime: the observer is never destroyed.
BRAID_API void observe_pools(const pool_observer& observer) noexcept;

/// Calls the observer, if there is one. If there is none, and the environment asks for what it does, says on stderr
/// that this program cannot do it. Threads: any.
void note_pool_made(pool& made) noexcept;
void note_pool_gone(pool& gone) noexcept;

}  // namespace braid::detail
