// src/platform/linux/thread_calls.cpp: makes the system calls that read and change the affinity, policy, nice value and
// priority of a thread.
#include "../../thread/thread_calls.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <string>
#include <system_error>
#include <variant>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::detail {
namespace {

/// The kernel's `sched_attr` in its first version, which all kernels accept. It is declared here because the system
/// headers that contain it conflict with each other.
struct attributes {
  std::uint32_t size = sizeof(attributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime_ns = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t period_ns = 0;
};
static_assert(sizeof(attributes) == 48);

constexpr std::uint32_t deadline_policy = 6;    // SCHED_DEADLINE
constexpr std::uint64_t reset_on_fork_bit = 1;  // SCHED_FLAG_RESET_ON_FORK

/// Converts the status of a system call without a return value to a result.
auto status_result(long status) -> result<void> {
  if (status != 0) return fail(last_system_error());
  return {};
}

auto read_attributes(::pid_t id) -> result<attributes> {
  attributes found;
  if (::syscall(SYS_sched_getattr, id, &found, sizeof(found), 0) != 0) return fail(last_system_error());
  return found;
}

auto as_nanoseconds(std::uint64_t count) { return std::chrono::nanoseconds(static_cast<std::int64_t>(count)); }
auto count(std::chrono::nanoseconds span) { return static_cast<std::uint64_t>(span.count()); }

/// A visitor that converts a policy to the kernel's attributes. `nice` is the current nice value of the thread.
struct writer {
  auto operator()(const scheduling::other& wanted) const -> attributes {
    return {.policy = SCHED_OTHER, .nice = wanted.nice.value()};
  }
  auto operator()(const scheduling::batch& wanted) const -> attributes {
    return {.policy = SCHED_BATCH, .nice = wanted.nice.value()};
  }
  auto operator()(const scheduling::idle& /*wanted*/) const -> attributes {
    return {.policy = SCHED_IDLE, .nice = nice.value()};
  }
  auto operator()(const scheduling::fifo& wanted) const -> attributes {
    return {.policy = SCHED_FIFO, .priority = static_cast<std::uint32_t>(wanted.priority.value())};
  }
  auto operator()(const scheduling::round_robin& wanted) const -> attributes {
    return {.policy = SCHED_RR, .priority = static_cast<std::uint32_t>(wanted.priority.value())};
  }
  auto operator()(const scheduling::deadline& wanted) const -> attributes {
    return {.policy = deadline_policy,
            .runtime_ns = count(wanted.runtime),
            .deadline_ns = count(wanted.deadline),
            .period_ns = count(wanted.period)};
  }

  nice_value nice;
};

/// Builds a policy from a nice value or priority, or returns the error if that number could not be read.
template <typename Policy, typename Number>
auto policy_with(result<Number> number) -> result<scheduling> {
  if (!number) return fail(number.error());
  return Policy{*number};
}

constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
using cpu_mask = std::array<unsigned long, cpu_set::limit / word_bits>;

}  // namespace

auto write_own_name(std::string_view name) -> result<void> {
  const std::string terminated(name);
  const int status = ::pthread_setname_np(::pthread_self(), terminated.c_str());
  if (status != 0) return fail({status, std::system_category()});
  return {};
}

auto read_affinity(::pid_t id) -> result<cpu_set> {
  cpu_mask mask{};
  if (::syscall(SYS_sched_getaffinity, id, sizeof(mask), mask.data()) < 0) return fail(last_system_error());
  cpu_set cpus;
  for (unsigned cpu = 0; cpu < cpu_set::limit; ++cpu)
    if (((mask[cpu / word_bits] >> (cpu % word_bits)) & 1U) != 0) cpus.add(cpu);
  return cpus;
}

/// Reads the affinity mask of the process's first thread, whose id is the id of the process.
auto read_process_affinity() -> result<cpu_set> { return read_affinity(::getpid()); }

auto write_affinity(::pid_t id, const cpu_set& cpus) -> result<void> {
  cpu_mask mask{};
  for (const unsigned cpu : cpus) mask[cpu / word_bits] |= 1UL << (cpu % word_bits);
  return status_result(::syscall(SYS_sched_setaffinity, id, sizeof(mask), mask.data()));
}

auto read_scheduling(::pid_t id) -> result<scheduling> {
  const auto found = read_attributes(id);
  if (!found) return fail(found.error());
  switch (found->policy) {
    case SCHED_OTHER: return policy_with<scheduling::other>(nice_value::from(found->nice));
    case SCHED_BATCH: return policy_with<scheduling::batch>(nice_value::from(found->nice));
    case SCHED_IDLE: return scheduling::idle{};
    case SCHED_FIFO: return policy_with<scheduling::fifo>(realtime_priority::from(static_cast<int>(found->priority)));
    case SCHED_RR:
      return policy_with<scheduling::round_robin>(realtime_priority::from(static_cast<int>(found->priority)));
    case deadline_policy:
      return scheduling::deadline{.runtime = as_nanoseconds(found->runtime_ns),
                                  .deadline = as_nanoseconds(found->deadline_ns),
                                  .period = as_nanoseconds(found->period_ns)};
    default: return fail(std::make_error_code(std::errc::operation_not_supported));
  }
}

auto write_scheduling(::pid_t id, const scheduling& wanted) -> result<void> {
  const auto before = read_attributes(id);
  if (!before) return fail(before.error());
  const auto nice = read_nice(id);
  if (!nice) return fail(nice.error());
  attributes after = std::visit(writer{*nice}, wanted.policy());
  after.flags = before->flags & reset_on_fork_bit;  // it must not be removed without privileges
  return status_result(::syscall(SYS_sched_setattr, id, &after, 0));
}

/// Reads the nice value of a thread with getpriority(2). The kernel's attributes contain the nice value only for
/// threads with a fair policy.
auto read_nice(::pid_t id) -> result<nice_value> {
  errno = 0;  // -1 is also a nice value
  const int value = ::getpriority(PRIO_PROCESS, static_cast<::id_t>(id));
  if (value == -1 && errno != 0) return fail(last_system_error());
  return nice_value::from(value);
}

auto write_nice(::pid_t id, nice_value wanted) -> result<void> {
  return status_result(::setpriority(PRIO_PROCESS, static_cast<::id_t>(id), wanted.value()));
}

auto read_priority(::pid_t id) -> result<realtime_priority> {
  const auto found = read_attributes(id);
  if (!found) return fail(found.error());
  return realtime_priority::from(static_cast<int>(found->priority));  // 0 if the policy has no priority
}

/// Changes only the priority of a thread, in one call. The kernel refuses this for policies without a priority. The
/// system call is made directly, because sched_setparam is missing in some C libraries.
auto write_priority(::pid_t id, realtime_priority wanted) -> result<void> {
  const ::sched_param number{.sched_priority = wanted.value()};
  return status_result(::syscall(SYS_sched_setparam, id, &number));
}

/// Returns the id of a thread from the id of its CPU-time clock: the kernel stores the complement of the thread id
/// above three bits. Returns nothing for a thread that has ended, because the C library has set the id of such a thread
/// to 0.
auto find_thread_id(::pthread_t thread) -> std::optional<::pid_t> {
  constexpr int kind_bits = 3;
  ::clockid_t clock = 0;
  if (::pthread_getcpuclockid(thread, &clock) != 0) return std::nullopt;
  const ::pid_t id = ~(clock >> kind_bits);
  if (id <= 0) return std::nullopt;
  return id;
}

auto start_ticks_per_second() noexcept -> std::uint64_t { return static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)); }

}  // namespace braid::detail
