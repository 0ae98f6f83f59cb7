// src/base/assert.cpp: reports a broken contract with a stack trace, and ends the program.
#include <braid/base/config.hpp>
#include <braid/base/detail/symbols.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include <unwind.h>

namespace braid::detail {
namespace {

/// Prints one line for each frame, with the name of the function. If there is not enough memory for the symbol tables,
/// prints addresses instead of names.
void print_stack(std::span<void* const> frames) noexcept {
  try {
    symbol_table symbols;
    for (void* const frame : frames)  // a return address is behind the call
      std::fprintf(stderr, "    %s\n", symbols.name(reinterpret_cast<std::uintptr_t>(frame) - 1).c_str());
  } catch (...) {
    for (void* const frame : frames) std::fprintf(stderr, "    %p\n", frame);
  }
}

struct call_stack {
  std::array<void*, 64> frames{};
  std::size_t count = 0;
};

auto add_return_address(_Unwind_Context* frame, void* list) -> _Unwind_Reason_Code {
  auto& stack = *static_cast<call_stack*>(list);
  if (stack.count == stack.frames.size()) return _URC_END_OF_STACK;
  stack.frames[stack.count++] = reinterpret_cast<void*>(_Unwind_GetIP(frame));
  return _URC_NO_REASON;
}

}  // namespace

void contract_failed(std::string_view sentence, std::string_view condition, std::source_location location) noexcept {
  std::fprintf(stderr, "braid: %.*s\n  condition: %.*s\n  place: %s:%u, %s\n", static_cast<int>(sentence.size()),
               sentence.data(), static_cast<int>(condition.size()), condition.data(), location.file_name(),
               static_cast<unsigned>(location.line()), location.function_name());
  call_stack stack;
  static_cast<void>(::_Unwind_Backtrace(&add_return_address, &stack));
  std::fputs("  called from:\n", stderr);
  // Does not print the frame of this function.
  print_stack(std::span(stack.frames).first(stack.count).subspan(stack.count == 0 ? 0 : 1));
  std::fflush(stderr);
  std::abort();
}

}  // namespace braid::detail
