// braid/coro/dump.hpp: task dump: what each suspended task of the process waits for, as a tree.
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

/// The waits of the tasks of several homes.
struct task_dump {
  /// A task in a dump: its coroutines, and what the innermost of them waits for.
  struct entry {
    unsigned depth = 0;                       ///< 0: of the home; else one more than the task above that it belongs to
    task_id id = {};                          ///< of a task with a future; else 0
    std::string name = {};                    ///< as given to `spawn`
    std::vector<std::string> functions = {};  ///< each awaits the next one; empty if the task itself does not wait
    std::vector<std::string> places = {};     ///< of the `co_await` in each, such as "server.cpp:41"
    std::string waits_for = {};               ///< such as "sleep, 3.2 s left", or "I/O, read of fd 9"
    std::optional<duration> time_left = {};   ///< until the deadline of its scope; negative once that has passed
    std::optional<errc> stopped_for = {};     ///< why its scope was stopped
    std::size_t others = 0;  ///< not 0: no task, but so many that are ready, or run on another executor
  };

  /// The tasks of one home.
  struct home {
    enum class answer : std::uint8_t {
      whole,        ///< `tasks` are all
      part,         ///< there was no memory for more
      late,         ///< no answer within the limit: its thread is busy, or blocked
      not_running,  ///< a loop that does not run, or an executor that is closed
    };

    answer how = answer::whole;
    bool is_loop = false;
    std::string thread;        ///< that answered, or that did not
    std::vector<entry> tasks;  ///< each before those that belong to it
  };

  std::vector<home> homes;  ///< loops first

  /// Tasks that wait for each other in a cycle, each as a sentence: by locks, futures of tasks, and tasks of scopes.
  std::vector<std::string> deadlocks = {};

  [[nodiscard]] BRAID_API auto to_text() const -> std::string;
};

/// Asks each loop of the process, and each `serial_executor` on which a task has waited, what its tasks wait for. Each
/// answers on its own thread, between two steps of its tasks; the homes of the calling thread answer at once. It waits
/// for answers for at most `limit`; homes that have not answered by then are reported as late.
/// Threads: any. Blocks: until all have answered, at most for `limit`, and then for names of functions, which are read
/// from files. A worker that calls this answers for no serial executor meanwhile. Errors: std::bad_alloc. Cost: a home
/// runs no task while it answers, for a time that grows with the number of its tasks; nothing while there is no dump.
[[nodiscard]] BRAID_API auto dump(duration limit = 1s) -> task_dump;

namespace detail {

/// Does the same for homes that run on one of these executors, or are one of them.
[[nodiscard]] BRAID_API auto dump_of(std::span<const executor_id> where, duration limit) -> task_dump;

/// Counts the tasks of the process by what they wait for, largest number first; tasks that are ready or away are
/// counted as `none of these`. As `dump`, without names of functions.
[[nodiscard]] BRAID_API auto count_waits(duration limit) -> std::vector<std::pair<std::string, std::size_t>>;

}  // namespace detail
}  // namespace braid
