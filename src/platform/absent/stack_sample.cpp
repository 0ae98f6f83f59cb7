// src/platform/absent/stack_sample.cpp: reports no stacks of other threads on systems where they are not read.
#include "../../runtime/stack_sample.hpp"

namespace braid::detail {

auto sample_stack(::pid_t /*thread*/, duration /*limit*/) -> std::vector<std::uintptr_t> { return {}; }

}  // namespace braid::detail
