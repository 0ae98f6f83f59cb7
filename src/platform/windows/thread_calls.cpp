// src/platform/windows/thread_calls.cpp: reads and changes the affinity and priority of a thread.
#include "../../thread/thread_calls.hpp"
#include "../system.hpp"
#include "calls.hpp"

#include <array>
#include <optional>
#include <utility>
#include <variant>

#include <pthread.h>

namespace braid::detail {
namespace {

/// Opens a thread by its id; the id 0 means the calling thread.
auto open(::pid_t id) -> result<owned_handle> {
  return open_thread(THREAD_QUERY_INFORMATION | THREAD_SET_INFORMATION, id == 0 ? own_thread_id() : id);
}

auto unsupported() { return fail(std::make_error_code(std::errc::operation_not_supported)); }

/// A range of nice values, and the Windows priority that such a range is mapped to. `shown` is the nice value that such
/// a thread reports.
struct level {
  int last;  // nice value
  int priority;
  int shown;
};
constexpr std::array<level, 5> levels{{{-11, THREAD_PRIORITY_HIGHEST, -20},
                                       {-1, THREAD_PRIORITY_ABOVE_NORMAL, -10},
                                       {0, THREAD_PRIORITY_NORMAL, 0},
                                       {10, THREAD_PRIORITY_BELOW_NORMAL, 10},
                                       {19, THREAD_PRIORITY_LOWEST, 19}}};

auto priority_for(nice_value nice) noexcept -> int {
  for (const level& each : levels)
    if (nice.value() <= each.last) return each.priority;
  return THREAD_PRIORITY_LOWEST;
}

auto nice_for(int priority) -> result<nice_value> {
  for (const level& each : levels)
    if (priority == each.priority) return nice_value::from(each.shown);
  return nice_value::from(0);
}

auto read_level(::pid_t id) -> result<int> {
  const auto thread = open(id);
  if (!thread) return fail(thread.error());
  const int found = ::GetThreadPriority(thread->get());
  if (found == THREAD_PRIORITY_ERROR_RETURN) return fail(last_windows_error());
  return found;
}

auto write_level(::pid_t id, int wanted) -> result<void> {
  const auto thread = open(id);
  if (!thread) return fail(thread.error());
  if (::SetThreadPriority(thread->get(), wanted) == 0) return fail(last_windows_error());
  return {};
}

}  // namespace

auto read_affinity(::pid_t id) -> result<cpu_set> {
  const auto thread = open(id);
  if (!thread) return fail(thread.error());
  GROUP_AFFINITY found{};
  if (::GetThreadGroupAffinity(thread->get(), &found) == 0) return fail(last_windows_error());
  cpu_set cpus;
  add_group(cpus, found.Group, found.Mask);
  return cpus;
}

auto read_process_affinity() -> result<cpu_set> {
  DWORD_PTR process = 0;
  DWORD_PTR system = 0;
  if (::GetProcessAffinityMask(::GetCurrentProcess(), &process, &system) == 0) return fail(last_windows_error());
  cpu_set cpus;
  add_group(cpus, 0, process);
  return cpus;
}

/// Restricts a thread to the CPUs of one group, because a thread of Windows belongs to only one group. Chooses the
/// group of the first CPU that the process may use.
auto write_affinity(::pid_t id, const cpu_set& cpus) -> result<void> {
  auto allowed = read_process_affinity();
  if (!allowed) return fail(allowed.error());
  const cpu_set both = *allowed & cpus;
  const auto first = both.first();
  if (!first) return fail(errc::invalid_argument);
  GROUP_AFFINITY wanted{};
  wanted.Group = static_cast<WORD>(*first / group_cpus);
  for (const unsigned cpu : both)
    if (cpu / group_cpus == wanted.Group) wanted.Mask |= KAFFINITY{1} << (cpu % group_cpus);
  const auto thread = open(id);
  if (!thread) return fail(thread.error());
  if (::SetThreadGroupAffinity(thread->get(), &wanted, nullptr) == 0) return fail(last_windows_error());
  return {};
}

/// Reads the policy. A thread with the policy `batch` reports `other`, because Windows has only one fair policy with
/// five levels, an idle level, and a level for urgent threads. The urgent level is reported as `round_robin` with the
/// highest priority.
auto read_scheduling(::pid_t id) -> result<scheduling> {
  const auto found = read_level(id);
  if (!found) return fail(found.error());
  if (*found == THREAD_PRIORITY_IDLE) return scheduling::idle{};
  if (*found == THREAD_PRIORITY_TIME_CRITICAL) return scheduling::round_robin{realtime_priority::largest};
  const auto nice = nice_for(*found);
  if (!nice) return fail(nice.error());
  return scheduling::other{*nice};
}

auto write_scheduling(::pid_t id, const scheduling& wanted) -> result<void> {
  if (const auto* fair = std::get_if<scheduling::other>(&wanted.policy())) return write_nice(id, fair->nice);
  if (const auto* patient = std::get_if<scheduling::batch>(&wanted.policy())) return write_nice(id, patient->nice);
  if (wanted.is<scheduling::idle>()) return write_level(id, THREAD_PRIORITY_IDLE);
  if (wanted.is<scheduling::round_robin>()) return write_level(id, THREAD_PRIORITY_TIME_CRITICAL);
  return unsupported();
}

auto read_nice(::pid_t id) -> result<nice_value> {
  const auto found = read_level(id);
  if (!found) return fail(found.error());
  return nice_for(*found);
}

auto write_nice(::pid_t id, nice_value wanted) -> result<void> { return write_level(id, priority_for(wanted)); }

auto read_priority(::pid_t id) -> result<realtime_priority> {
  const auto found = read_level(id);
  if (!found) return fail(found.error());
  if (*found != THREAD_PRIORITY_TIME_CRITICAL) return fail(errc::invalid_argument);
  return realtime_priority(realtime_priority::largest);
}

auto write_priority(::pid_t id, realtime_priority /*wanted*/) -> result<void> {
  const auto found = read_level(id);
  if (!found) return fail(found.error());
  if (*found != THREAD_PRIORITY_TIME_CRITICAL) return fail(errc::invalid_argument);
  return {};
}

auto find_thread_id(::pthread_t thread) -> std::optional<::pid_t> {
  const DWORD id = ::GetThreadId(::pthread_gethandle(thread));
  if (id == 0) return std::nullopt;
  return static_cast<::pid_t>(id);
}

auto start_ticks_per_second() noexcept -> std::uint64_t { return 10'000'000; }

}  // namespace braid::detail
