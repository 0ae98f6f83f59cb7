// braid/runtime/default_runtime.hpp: the runtime of the process, for code that was given none.
#pragma once

#include <braid/base/config.hpp>
#include <braid/runtime/runtime.hpp>

namespace braid {

/// The runtime of the process: made with default options by the first call, and the same for everybody, shared objects
/// included, as long as braid is a shared library. It ends, and joins its threads, with the static objects of the
/// process, before those that were made before it. The child of a fork has none of its threads and must not use it.
/// Threads: any. Blocks: the first call, until its threads run.
/// Errors: std::system_error where the system gives no threads; the next call tries again.
[[nodiscard]] BRAID_API auto default_runtime() -> runtime&;

}  // namespace braid
