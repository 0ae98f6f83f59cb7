// src/platform/absent/top_socket.cpp: reports that BRAID_TOP has no effect, because only Linux has the socket.
#include "../../runtime/top_socket.hpp"
#include "../system.hpp"

#include <braid/sync/atomic.hpp>

#include <cstdio>

namespace braid::detail {

void begin_top_socket() noexcept {
  constinit static atomic<bool> has_begun{false};
  const char* const value = trusted_environment("BRAID_TOP");
  if (value == nullptr || value[0] == 0) return;
  if (has_begun.exchange(true, relaxed)) return;
  std::fputs("braid: BRAID_TOP is ignored: only Linux has the socket for it; call braid::metrics instead\n", stderr);
}

}  // namespace braid::detail
