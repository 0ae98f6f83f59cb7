// src/platform/darwin/thread_calls.cpp: reads and changes the importance of a thread. macOS cannot bind a thread to
// CPUs.
#include "../../thread/thread_calls.hpp"
#include "thread_port.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <variant>

#include <mach/thread_policy.h>
#include <pthread.h>

namespace braid::detail {
namespace {

auto unsupported() { return fail(std::make_error_code(std::errc::operation_not_supported)); }

/// Returns an error if the thread does not exist.
auto must_exist(::pid_t id) -> result<void> {
  if (const auto thread = find_thread_port(id); !thread) return fail(thread.error());
  return {};
}

}  // namespace

auto write_own_name(std::string_view name) -> result<void> {
  const std::string terminated(name);
  if (::pthread_setname_np(terminated.c_str()) != 0) return fail(last_system_error());
  return {};
}

/// Returns all CPUs, because macOS may run every thread on any CPU.
auto read_affinity(::pid_t id) -> result<cpu_set> {
  if (const auto exists = must_exist(id); !exists) return fail(exists.error());
  return read_process_affinity();
}

auto read_process_affinity() -> result<cpu_set> {
  return cpu_set::range(0, std::clamp(std::thread::hardware_concurrency(), 1U, cpu_set::limit) - 1);
}

auto write_affinity(::pid_t id, const cpu_set& /*cpus*/) -> result<void> {
  if (const auto exists = must_exist(id); !exists) return exists;
  return unsupported();
}

auto read_scheduling(::pid_t id) -> result<scheduling> {
  const auto nice = read_nice(id);
  if (!nice) return fail(nice.error());
  return scheduling::other{*nice};
}

auto write_scheduling(::pid_t id, const scheduling& wanted) -> result<void> {
  if (const auto* fair = std::get_if<scheduling::other>(&wanted.policy())) return write_nice(id, fair->nice);
  if (const auto* patient = std::get_if<scheduling::batch>(&wanted.policy())) return write_nice(id, patient->nice);
  if (const auto exists = must_exist(id); !exists) return exists;
  return unsupported();
}

/// The nice value of a thread is its negated importance, relative to the other threads of the process.
auto read_nice(::pid_t id) -> result<nice_value> {
  const auto thread = find_thread_port(id);
  if (!thread) return fail(thread.error());
  ::thread_precedence_policy_data_t found{};
  ::mach_msg_type_number_t size = THREAD_PRECEDENCE_POLICY_COUNT;
  ::boolean_t is_default = 0;
  if (::thread_policy_get(thread->port(), THREAD_PRECEDENCE_POLICY, reinterpret_cast<::thread_policy_t>(&found), &size,
                          &is_default) != KERN_SUCCESS)
    return fail(std::make_error_code(std::errc::no_such_process));
  return nice_value::from(std::clamp(-found.importance, nice_value::smallest, nice_value::largest));
}

auto write_nice(::pid_t id, nice_value wanted) -> result<void> {
  const auto thread = find_thread_port(id);
  if (!thread) return fail(thread.error());
  ::thread_precedence_policy_data_t value{-wanted.value()};
  if (::thread_policy_set(thread->port(), THREAD_PRECEDENCE_POLICY, reinterpret_cast<::thread_policy_t>(&value),
                          THREAD_PRECEDENCE_POLICY_COUNT) != KERN_SUCCESS)
    return fail(std::make_error_code(std::errc::no_such_process));
  return {};
}

/// read_scheduling() never returns a policy that has a priority.
auto read_priority(::pid_t id) -> result<realtime_priority> {
  if (const auto exists = must_exist(id); !exists) return fail(exists.error());
  return fail(errc::invalid_argument);
}

auto write_priority(::pid_t id, realtime_priority /*wanted*/) -> result<void> {
  if (const auto exists = must_exist(id); !exists) return exists;
  return fail(errc::invalid_argument);
}

auto find_thread_id(::pthread_t thread) -> std::optional<::pid_t> {
  std::uint64_t id = 0;
  if (::pthread_threadid_np(thread, &id) != 0) return std::nullopt;
  return static_cast<::pid_t>(id);
}

auto start_ticks_per_second() noexcept -> std::uint64_t { return 1'000'000'000; }

}  // namespace braid::detail
