// src/thread/thread_calls.hpp: the system calls that read and change one thread, by its bare id; 0 is the caller.
#pragma once

#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/scheduling.hpp>

#include <string_view>

#include <sys/types.h>

namespace braid::detail {

/// Errors: invalid_argument for more than 15 bytes and for a zero byte, which the system would cut off in silence.
auto check_name(std::string_view name) -> result<void>;

auto affinity_of(::pid_t id) -> result<cpu_set>;
auto set_affinity_of(::pid_t id, const cpu_set& cpus) -> result<void>;
auto scheduling_of(::pid_t id) -> result<scheduling>;
auto set_scheduling_of(::pid_t id, const scheduling& wanted) -> result<void>;
auto nice_of(::pid_t id) -> result<nice_value>;
auto set_nice_of(::pid_t id, nice_value wanted) -> result<void>;
auto priority_of(::pid_t id) -> result<realtime_priority>;
auto set_priority_of(::pid_t id, realtime_priority wanted) -> result<void>;

}  // namespace braid::detail
