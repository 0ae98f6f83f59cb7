// braid/coro/dump.hpp: task dumps, which show what each suspended task of the process waits for, as a tree.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace braid {

/// A report of what the tasks of several homes wait for.
struct task_dump {
  /// A task in a dump: its coroutines, and what the innermost coroutine waits for.
  struct entry {
    unsigned depth = 0;     ///< 0 for a task of the home, otherwise one more than the depth of the task above
    task_id id = {};        ///< the id of a task with a future; otherwise 0
    std::string name = {};  ///< the name that was passed to `spawn`
    std::vector<std::string> functions = {};  ///< each awaits the next one; empty if the task itself does not wait
    std::vector<std::string> places = {};     ///< the place of the `co_await` in each function, such as "server.cpp:41"
    std::string waits_for = {};               ///< such as "sleep, 3.2 s left", or "I/O, read of fd 9"
    std::optional<duration> time_left = {};   ///< the time until the deadline of its scope; negative after the deadline
    std::optional<errc> stopped_for = {};     ///< the reason for which its scope was stopped
    std::size_t others = 0;  ///< if not 0, this is not a task: the number of tasks that are ready or run elsewhere
  };

  /// The tasks of one home.
  struct home {
    enum class answer : std::uint8_t {
      whole,        ///< `tasks` contains all tasks
      part,         ///< there was no memory for more tasks
      late,         ///< no answer within the limit: its thread is busy, or blocked
      not_running,  ///< a loop that does not run, or an executor that is closed
    };

    answer how = answer::whole;
    bool is_loop = false;
    std::string thread;        ///< the thread that answered or did not answer
    std::vector<entry> tasks;  ///< each task precedes the tasks that belong to it
  };

  std::vector<home> homes;  ///< loops first

  /// One sentence for each cycle of tasks that wait for each other. A cycle can contain waits for locks, for futures of
  /// tasks, and for the ends of scopes.
  std::vector<std::string> deadlocks = {};

  [[nodiscard]] BRAID_API auto to_text() const -> std::string;
};

/// Reports what each task waits for. The report covers the tasks of each loop of the process, and of each
/// `serial_executor` on which a task has ever waited. Each of these executors, the homes of the tasks, collects its
/// report on its own thread, between two steps of its tasks; the homes of the calling thread report at once. A home
/// that has not reported within `limit` is listed as late.
/// Threads: any. Blocks: until all homes have reported, for at most `limit`. After this wait, it reads the names of
/// functions from files. While a worker blocks in this call, the serial executors that need the worker cannot report.
/// Errors: std::bad_alloc. Cost: while a home collects its report, it runs no task. The time grows with the number of
/// tasks of the home. Without a call of `dump` there is no cost.
[[nodiscard]] BRAID_API auto dump(duration limit = 1s) -> task_dump;

namespace detail {

/// Reports as `dump` does, but only for homes that run on one of the given executors or are among the given executors.
[[nodiscard]] BRAID_API auto dump_of(std::span<const executor_id> executors, duration limit) -> task_dump;

/// Counts the tasks of the process by what they wait for. The result begins with the largest number. Tasks that are
/// ready, or run on another executor, are counted as `none of these`. Works like `dump`, but does not look up names of
/// functions.
[[nodiscard]] BRAID_API auto count_waits(duration limit) -> std::vector<std::pair<std::string, std::size_t>>;

}  // namespace detail
}  // namespace braid
