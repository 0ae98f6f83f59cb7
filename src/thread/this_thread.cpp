// src/thread/this_thread.cpp: settings of the calling thread, whose id is 0 in every such system call.
#include <braid/thread/this_thread.hpp>

#include "thread_calls.hpp"

namespace braid::this_thread {

namespace {

constexpr ::pid_t caller = 0;

}  // namespace

auto affinity() -> result<cpu_set> { return detail::affinity_of(caller); }

auto set_affinity(const cpu_set& cpus) -> result<void> { return detail::set_affinity_of(caller, cpus); }

auto scheduling() -> result<braid::scheduling> { return detail::scheduling_of(caller); }

auto set_scheduling(const braid::scheduling& wanted) -> result<void> {
  return detail::set_scheduling_of(caller, wanted);
}

auto nice() -> result<nice_value> { return detail::nice_of(caller); }

auto set_nice(nice_value wanted) -> result<void> { return detail::set_nice_of(caller, wanted); }

auto priority() -> result<realtime_priority> { return detail::priority_of(caller); }

auto set_priority(realtime_priority wanted) -> result<void> { return detail::set_priority_of(caller, wanted); }

}  // namespace braid::this_thread
