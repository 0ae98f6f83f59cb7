// src/runtime/top_socket.hpp: opens the socket of BRAID_TOP=1, from which `braid-doctor top` reads metrics.
#pragma once

namespace braid::detail {

/// Opens the socket if BRAID_TOP is set. Called when the first runtime or pool of the process is created. Blocks: until
/// a thread is started.
void begin_top_socket() noexcept;

}  // namespace braid::detail
