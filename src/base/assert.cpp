// src/base/assert.cpp: how a broken contract is reported.
#include <braid/base/config.hpp>

#include <cstdio>
#include <cstdlib>

#include <execinfo.h>

namespace braid::detail {

void contract_failed(std::string_view sentence, std::string_view condition, std::source_location where) noexcept {
  std::fprintf(stderr, "braid: %.*s\n  condition: %.*s\n  place: %s:%u, %s\n", static_cast<int>(sentence.size()),
               sentence.data(), static_cast<int>(condition.size()), condition.data(), where.file_name(),
               static_cast<unsigned>(where.line()), where.function_name());
  void* frames[64];
  const int count = ::backtrace(frames, 64);
  std::fflush(stderr);
  ::backtrace_symbols_fd(frames, count, 2);
  std::abort();
}

}  // namespace braid::detail
