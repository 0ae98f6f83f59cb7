// src/runtime/top_socket.hpp: what BRAID_TOP=1 opens: a socket on which braid-doctor top asks for metrics.
#pragma once

namespace braid::detail {

/// With the first runtime of the process. Opens nothing where the variable is not set. Blocks: for a thread to start.
void begin_top_socket() noexcept;

}  // namespace braid::detail
