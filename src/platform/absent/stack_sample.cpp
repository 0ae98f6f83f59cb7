// src/platform/absent/stack_sample.cpp: returns no stack for another thread, on systems for which reading such stacks
// is not implemented.
#include "../../runtime/stack_sample.hpp"

namespace braid::detail {

auto sample_stack(::pid_t /*thread*/, duration /*limit*/) -> std::vector<std::uintptr_t> { return {}; }

}  // namespace braid::detail
