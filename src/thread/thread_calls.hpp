// src/thread/thread_calls.hpp: declares functions that read and change the settings of a thread by its id. The id 0
// means the calling thread.
#pragma once

#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/scheduling.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

#include <pthread.h>
#include <sys/types.h>

namespace braid::detail {

/// Checks the name of a thread.
/// Errors: invalid_argument for a name with more than 15 bytes or a zero byte, because the system would truncate such a
/// name without an error.
auto check_name(std::string_view name) -> result<void>;

/// Sets the name of the calling thread.
auto write_own_name(std::string_view name) -> result<void>;

auto read_affinity(::pid_t id) -> result<cpu_set>;
/// Returns the CPUs that new threads and child processes may use, if nothing else restricts them.
auto read_process_affinity() -> result<cpu_set>;
auto write_affinity(::pid_t id, const cpu_set& cpus) -> result<void>;
auto read_scheduling(::pid_t id) -> result<scheduling>;
auto write_scheduling(::pid_t id, const scheduling& wanted) -> result<void>;
auto read_nice(::pid_t id) -> result<nice_value>;
auto write_nice(::pid_t id, nice_value wanted) -> result<void>;
auto read_priority(::pid_t id) -> result<realtime_priority>;
auto write_priority(::pid_t id, realtime_priority wanted) -> result<void>;

/// Returns the system's id of a thread, or nothing if the thread has ended.
auto find_thread_id(::pthread_t thread) -> std::optional<::pid_t>;

/// Returns the unit of `thread_info::start_ticks`.
auto start_ticks_per_second() noexcept -> std::uint64_t;

}  // namespace braid::detail
