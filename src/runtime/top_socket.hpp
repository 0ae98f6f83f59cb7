// src/runtime/top_socket.hpp: what BRAID_TOP=1 opens: a socket on which braid-doctor top asks for metrics.
#pragma once

namespace braid::detail {

/// Opens the socket with the first runtime or pool of the process, if the variable is set. Blocks: for a thread to
/// start.
void begin_top_socket() noexcept;

}  // namespace braid::detail
