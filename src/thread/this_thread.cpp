// src/thread/this_thread.cpp: changes settings of the calling thread. The functions of thread_calls.hpp interpret the
// id 0 as the calling thread.
#include <braid/thread/this_thread.hpp>

#include "thread_calls.hpp"

namespace braid::this_thread {

namespace {

constexpr ::pid_t caller = 0;

}  // namespace

auto affinity() -> result<cpu_set> { return detail::read_affinity(caller); }

auto set_affinity(const cpu_set& cpus) -> result<void> { return detail::write_affinity(caller, cpus); }

auto scheduling() -> result<braid::scheduling> { return detail::read_scheduling(caller); }

auto set_scheduling(const braid::scheduling& wanted) -> result<void> {
  return detail::write_scheduling(caller, wanted);
}

auto nice() -> result<nice_value> { return detail::read_nice(caller); }

auto set_nice(nice_value wanted) -> result<void> { return detail::write_nice(caller, wanted); }

auto priority() -> result<realtime_priority> { return detail::read_priority(caller); }

auto set_priority(realtime_priority wanted) -> result<void> { return detail::write_priority(caller, wanted); }

}  // namespace braid::this_thread
