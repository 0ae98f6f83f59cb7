// src/coro/dump_signal.hpp: starts the thread that writes a task dump to stderr for each SIGQUIT, if BRAID_DUMP=quit.
#pragma once

namespace braid::detail {

/// Starts the thread that waits for SIGQUIT, if BRAID_DUMP=quit. Called once, when the first home executor is created.
void begin_dumps_by_signal() noexcept;

}  // namespace braid::detail
