// src/base/assert.cpp: how a broken contract is reported.
#include <braid/base/config.hpp>
#include <braid/base/detail/symbols.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include <execinfo.h>

namespace braid::detail {
namespace {

/// Prints one line for each frame: the name of its function from the symbol tables of the program and its libraries, or
/// its address if there is no memory for the tables.
void print_stack(std::span<void* const> frames) noexcept {
  try {
    symbol_table symbols;
    for (void* const frame : frames)  // a return address: the call is before it
      std::fprintf(stderr, "    %s\n", symbols.name(reinterpret_cast<std::uintptr_t>(frame) - 1).c_str());
  } catch (...) {
    ::backtrace_symbols_fd(frames.data(), static_cast<int>(frames.size()), 2);
  }
}

}  // namespace

void contract_failed(std::string_view sentence, std::string_view condition, std::source_location location) noexcept {
  std::fprintf(stderr, "braid: %.*s\n  condition: %.*s\n  place: %s:%u, %s\n", static_cast<int>(sentence.size()),
               sentence.data(), static_cast<int>(condition.size()), condition.data(), location.file_name(),
               static_cast<unsigned>(location.line()), location.function_name());
  void* frames[64];
  const auto count = static_cast<std::size_t>(::backtrace(frames, 64));
  std::fputs("  called from:\n", stderr);
  print_stack(std::span(frames).first(count).subspan(count == 0 ? 0 : 1));  // without this function
  std::fflush(stderr);
  std::abort();
}

}  // namespace braid::detail
