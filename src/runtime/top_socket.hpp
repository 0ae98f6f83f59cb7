// src/runtime/top_socket.hpp: the socket that BRAID_TOP=1 opens; `braid-doctor top` reads metrics from it.
#pragma once

namespace braid::detail {

/// Opens the socket if BRAID_TOP is set. Called when the first runtime or pool of the process is created. Blocks: until
/// a thread is started.
void begin_top_socket() noexcept;

}  // namespace braid::detail
