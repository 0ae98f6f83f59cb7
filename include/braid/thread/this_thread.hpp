// braid/thread/this_thread.hpp: name, settings and facts of the calling thread and of others.
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

/// One thread of this or another process: its id, and when it started. A value; it owns nothing and keeps nothing
/// alive.
///
/// Threads: any. Blocks: never; most calls read a file of /proc.
/// Errors: no_such_process once the thread has ended, also when its id belongs to another thread by then; otherwise the
/// system's own codes (docs/design/threads.md).
class BRAID_API thread_info {
 public:
  /// Returns the thread that has this id now.
  [[nodiscard]] static auto of(::pid_t id) -> result<thread_info>;

  /// Returns the threads of this process that run now, the oldest first. Threads: any. Errors: the system's own codes.
  /// Cost: a read of a file of /proc for each thread; so also the next two.
  [[nodiscard]] static auto all() -> result<std::vector<thread_info>>;
  /// Returns all threads of the process with this name.
  [[nodiscard]] static auto find_all(std::string_view name) -> result<std::vector<thread_info>>;
  /// Returns the oldest thread of the process with this name.
  /// Errors: no_such_process if no thread has it.
  [[nodiscard]] static auto find(std::string_view name) -> result<thread_info>;

  /// A thread that was seen before; `start_ticks` is what `start_ticks()` gave then.
  constexpr thread_info(::pid_t id, std::uint64_t start_ticks) noexcept : id_(id), start_ticks_(start_ticks) {}

  [[nodiscard]] constexpr auto id() const noexcept -> ::pid_t { return id_; }

  /// When it started, in ticks of the system since it was booted.
  [[nodiscard]] constexpr auto start_ticks() const noexcept -> std::uint64_t { return start_ticks_; }

  /// False once it has ended, and so after it was joined.
  [[nodiscard]] auto is_alive() const -> bool;

  [[nodiscard]] auto name() const -> result<std::string>;

  /// Errors: invalid_argument for more than 15 bytes, for a zero byte, and for threads of other processes.
  [[nodiscard]] auto set_name(std::string_view name) const -> result<void>;

  [[nodiscard]] auto affinity() const -> result<cpu_set>;

  /// Restricts the thread to these CPUs. CPUs that do not exist or are not granted are left out.
  /// Errors: invalid_argument if no CPU is left.
  [[nodiscard]] auto set_affinity(const cpu_set& cpus) const -> result<void>;

  /// Errors: operation_not_supported for a policy that `braid::scheduling` does not know.
  [[nodiscard]] auto scheduling() const -> result<braid::scheduling>;

  /// Replaces the policy and its numbers. Whether children of the thread inherit them stays as it was.
  [[nodiscard]] auto set_scheduling(const braid::scheduling& wanted) const -> result<void>;

  /// Every thread has one, whatever its policy.
  [[nodiscard]] auto nice() const -> result<nice_value>;

  /// Keeps the policy.
  [[nodiscard]] auto set_nice(nice_value wanted) const -> result<void>;

  /// Errors: invalid_argument when its policy has no priority.
  [[nodiscard]] auto priority() const -> result<realtime_priority>;

  /// Keeps the policy. Errors: invalid_argument when the policy has no priority.
  [[nodiscard]] auto set_priority(realtime_priority wanted) const -> result<void>;

  auto operator==(const thread_info&) const -> bool = default;

 private:
  ::pid_t id_;
  std::uint64_t start_ticks_;
};

namespace this_thread {

/// Returns the calling thread, for others to control. Errors: the system's own codes. Cost: a read of a file of /proc;
/// keep the answer.
[[nodiscard]] BRAID_API auto info() -> result<thread_info>;

}  // namespace this_thread

namespace detail {

/// The longest name that the system keeps, in bytes.
inline constexpr std::size_t max_thread_name = 15;

/// `prefix-index`, with the prefix cut so that the whole index fits in a thread's name. Threads: any.
BRAID_API auto indexed_thread_name(std::string_view prefix, std::size_t index) -> std::string;

}  // namespace detail

namespace this_thread {

/// Names the calling thread. Errors: invalid_argument for more than 15 bytes or a zero byte; the system's codes.
[[nodiscard]] BRAID_API auto set_name(std::string_view name) -> result<void>;

/// Returns the name of the calling thread.
BRAID_API auto name() -> std::string;

}  // namespace this_thread
}  // namespace braid

/// Each does for the calling thread what the member of `thread_info` of the same name does; `name`, `set_name` and
/// `info` come from the headers above. Threads: any. Blocks: never. Errors: the system's own codes.
namespace braid::this_thread {

/// Returns the CPUs that the calling thread may run on.
[[nodiscard]] BRAID_API auto affinity() -> result<cpu_set>;
/// Lets the calling thread run on these CPUs only.
[[nodiscard]] BRAID_API auto set_affinity(const cpu_set& cpus) -> result<void>;
/// Returns the policy and priority by which the system schedules the calling thread.
[[nodiscard]] BRAID_API auto scheduling() -> result<braid::scheduling>;
/// Sets the policy and priority of the calling thread.
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
