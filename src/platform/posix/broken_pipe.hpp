// src/platform/posix/broken_pipe.hpp: declares a function for SIGPIPE whose implementation differs between POSIX
// systems.
#pragma once

namespace braid::detail {

/// Discards a SIGPIPE that is pending for the calling thread, which has blocked the signal.
void discard_broken_pipe_signal() noexcept;

}  // namespace braid::detail
