// src/coro/dump_signal.hpp: BRAID_DUMP=quit: a dump on stderr for each SIGQUIT.
#pragma once

namespace braid::detail {

/// Starts the thread that waits for the signal, if the variable asks for it. Called once, with the first home.
void begin_dumps_by_signal() noexcept;

}  // namespace braid::detail
