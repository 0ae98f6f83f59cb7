// braid/thread/this_thread.hpp: the name, settings and identity of the calling thread and of other threads.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/scheduling.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

/// A reference to one thread of this or another process. It consists of the id of the thread and the time at which the
/// thread started. It is a value, and does not keep the thread alive.
///
/// Threads: any. Blocks: never; most calls read a file of /proc.
/// Errors: no_such_process once the thread has ended, even if a new thread has the same id; otherwise system errors
/// (docs/design/threads.md).
class BRAID_API thread_info {
 public:
  /// Returns the thread that currently has this id.
  [[nodiscard]] static auto of(::pid_t id) -> result<thread_info>;

  /// Returns the current threads of this process, oldest first. Threads: any. Errors: system errors.
  /// Cost: reads a file of /proc for each thread, like the next two functions.
  [[nodiscard]] static auto all() -> result<std::vector<thread_info>>;
  /// Returns all threads of the process with this name.
  [[nodiscard]] static auto find_all(std::string_view name) -> result<std::vector<thread_info>>;
  /// Returns the oldest thread of the process with this name.
  /// Errors: no_such_process if there is no such thread.
  [[nodiscard]] static auto find(std::string_view name) -> result<thread_info>;

  /// Constructs a reference to a thread whose `start_ticks()` was read before.
  constexpr thread_info(::pid_t id, std::uint64_t start_ticks) noexcept : id_(id), start_ticks_(start_ticks) {}

  [[nodiscard]] constexpr auto id() const noexcept -> ::pid_t { return id_; }

  /// Returns the time at which the thread started, in clock ticks since the system was booted.
  [[nodiscard]] constexpr auto start_ticks() const noexcept -> std::uint64_t { return start_ticks_; }

  /// Returns whether the thread still exists. The result is false after the thread has ended or was joined.
  [[nodiscard]] auto is_alive() const -> bool;

  [[nodiscard]] auto name() const -> result<std::string>;

  /// Sets the name of the thread. Errors: invalid_argument for more than 15 bytes, for a zero byte, and for threads of
  /// other processes.
  [[nodiscard]] auto set_name(std::string_view name) const -> result<void>;

  [[nodiscard]] auto affinity() const -> result<cpu_set>;

  /// Restricts the thread to these CPUs. CPUs that do not exist or are not allowed are ignored.
  /// Errors: invalid_argument if no CPU is left.
  [[nodiscard]] auto set_affinity(const cpu_set& cpus) const -> result<void>;

  /// Returns the policy and its parameters. Errors: operation_not_supported for a policy that `braid::scheduling` does
  /// not support.
  [[nodiscard]] auto scheduling() const -> result<braid::scheduling>;

  /// Replaces the policy and its parameters. Does not change whether threads that this thread creates inherit the
  /// policy.
  [[nodiscard]] auto set_scheduling(const braid::scheduling& wanted) const -> result<void>;

  /// Returns the nice value. Every thread has a nice value, regardless of its policy.
  [[nodiscard]] auto nice() const -> result<nice_value>;

  /// Sets the nice value, and keeps the policy.
  [[nodiscard]] auto set_nice(nice_value wanted) const -> result<void>;

  /// Returns the real-time priority. Errors: invalid_argument if the policy has no priority.
  [[nodiscard]] auto priority() const -> result<realtime_priority>;

  /// Sets the real-time priority, and keeps the policy. Errors: invalid_argument if the policy has no priority.
  [[nodiscard]] auto set_priority(realtime_priority wanted) const -> result<void>;

  auto operator==(const thread_info&) const -> bool = default;

 private:
  ::pid_t id_;
  std::uint64_t start_ticks_;
};

namespace this_thread {

/// Returns the calling thread, so that other threads can control it. Errors: system errors. Cost: reads a file of
/// /proc, so keep the result.
[[nodiscard]] BRAID_API auto info() -> result<thread_info>;

}  // namespace this_thread

namespace detail {

/// The maximum length of a thread's name in bytes.
inline constexpr std::size_t max_thread_name = 15;

/// Returns a name of the form `prefix-index`. The prefix is truncated so that the whole index fits in a thread's name.
/// Threads: any.
BRAID_API auto indexed_thread_name(std::string_view prefix, std::size_t index) -> std::string;

}  // namespace detail

namespace this_thread {

/// Names the calling thread. Errors: invalid_argument for more than 15 bytes or a zero byte; system errors.
[[nodiscard]] BRAID_API auto set_name(std::string_view name) -> result<void>;

/// Returns the name of the calling thread.
BRAID_API auto name() -> std::string;

}  // namespace this_thread
}  // namespace braid

/// The following functions apply the functions of `thread_info` with the same names to the calling thread. `name`,
/// `set_name` and `info` are declared above. Threads: any. Blocks: never. Errors: system errors.
namespace braid::this_thread {

/// Returns the CPUs on which the calling thread may run.
[[nodiscard]] BRAID_API auto affinity() -> result<cpu_set>;
/// Restricts the calling thread to these CPUs.
[[nodiscard]] BRAID_API auto set_affinity(const cpu_set& cpus) -> result<void>;
/// Returns the scheduling policy and parameters of the calling thread.
[[nodiscard]] BRAID_API auto scheduling() -> result<braid::scheduling>;
/// Sets the scheduling policy and parameters of the calling thread.
[[nodiscard]] BRAID_API auto set_scheduling(const braid::scheduling& wanted) -> result<void>;
/// Returns the nice value of the calling thread.
[[nodiscard]] BRAID_API auto nice() -> result<nice_value>;
/// Sets the nice value of the calling thread.
[[nodiscard]] BRAID_API auto set_nice(nice_value wanted) -> result<void>;
/// Returns the real-time priority of the calling thread.
[[nodiscard]] BRAID_API auto priority() -> result<realtime_priority>;
/// Sets the real-time priority of the calling thread.
[[nodiscard]] BRAID_API auto set_priority(realtime_priority wanted) -> result<void>;

}  // namespace braid::this_thread
