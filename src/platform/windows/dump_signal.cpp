// src/platform/windows/dump_signal.cpp: reports that BRAID_DUMP has no effect, because Windows has no SIGQUIT.
#include "../../coro/dump_signal.hpp"
#include "../system.hpp"

#include <cstdio>

namespace braid::detail {

void begin_dumps_by_signal() noexcept {
  const char* const value = trusted_environment("BRAID_DUMP");
  if (value == nullptr || value[0] == 0) return;
  std::fputs("braid: BRAID_DUMP is ignored: Windows has no signal for it; call braid::dump instead\n", stderr);
}

}  // namespace braid::detail
