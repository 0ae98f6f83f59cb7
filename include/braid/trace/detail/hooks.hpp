// braid/trace/detail/hooks.hpp: the functions that the library calls at each event that a trace records.
#pragma once

#include <braid/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace braid::detail {

/// The kinds of records of a trace. A record contains one number. If an event has two numbers, a record of the kind
/// `subject` with the first number precedes the record of the event. Programs and libraries of different versions
/// exchange the values of this enumeration, so add new kinds at the end.
enum class trace_kind : std::uint8_t {
  subject = 1,      ///< the first number of the event in the next record
  job_begin,        ///< code of the job; subject: the job
  slice_begin,      ///< name
  coroutine_begin,  ///< code of the coroutine that is resumed; subject: the wait that is over
  slice_end,        ///< the end of the newest open slice of the thread
  mark,             ///< name
  counter,          ///< value; subject: name
  posted,           ///< job
  wakes,            ///< worker that is woken
  woken,            ///< worker that has been woken
  task_begin,       ///< number of a task
  task_waits,       ///< the name of the task's wait; subject: the task
  task_ready,       ///< number of a task
  task_runs,        ///< number of a task
  task_end,         ///< number of a task
  wait_begin,       ///< the name of a coroutine's wait; subject: the wait
  wait_due,         ///< nanoseconds until a timer ends the wait; subject: the wait
  wait_ready,       ///< the wait whose coroutine was queued at its home; recorded by the thread that made it ready
  wait_end,         ///< the wait that has ended without a slice of its coroutine
};

/// The groups of records that can be enabled in a trace. Each group is one bit.
enum class trace_group : std::uint8_t { jobs = 1, tasks = 2, io = 4, nodes = 8, user = 128 };

/// True in a traced process, from the time at which the library is loaded until the trace is complete. It is written by
/// the thread that loads the library, by the thread that ends the process, and by the child process after a fork. It is
/// not a braid::atomic, because the explorer of interleavings would then treat it as a part of every protocol that
/// contains a hook.
extern BRAID_API constinit std::atomic<bool> trace_is_on;

/// Returns whether the process is traced.
/// Cost: a load of a cache line that is never written.
[[nodiscard]] inline auto is_traced() noexcept -> bool {
#if defined(BRAID_NO_TRACE_HOOKS)
  return false;
#else
  return trace_is_on.load(std::memory_order_relaxed);
#endif
}

/// Adds a record to the ring of the calling thread. The first record of a thread creates the ring. Returns false if the
/// ring is full, if the group is disabled, or if the process is not traced. In these cases the trace does not contain
/// the record. Once a slice has begun, there is always room for the record of its end.
/// Threads: any. Blocks: never, after the first record of the thread.
BRAID_API auto trace_note(trace_group group, trace_kind kind, std::uint64_t number) noexcept -> bool;
BRAID_API auto trace_note(trace_group group, trace_kind kind, std::uint64_t subject, std::uint64_t number) noexcept
    -> bool;

/// Records the end of a slice that has begun on this thread.
BRAID_API void trace_note_end() noexcept;

/// Records that a task begins. `name` may be empty.
BRAID_API void trace_task_begin(std::uint64_t number, std::string_view name) noexcept;

/// The smallest number of an activity. `trace_activity_begin` begins an activity, which may extend over waits and
/// threads. It returns a number for the activity, which you can use in records like the number of a task. It returns 0
/// if the process is not traced.
inline constexpr std::uint64_t first_activity = std::uint64_t{1} << 40U;
[[nodiscard]] BRAID_API auto trace_activity_begin(std::string_view name) noexcept -> std::uint64_t;

/// If a flight recorder (a trace of the last seconds) is active, requests that its records are written to a file.
BRAID_API auto trace_save(std::string_view reason) noexcept -> bool;

[[nodiscard]] inline auto trace_number(const void* address) noexcept -> std::uint64_t {
  return reinterpret_cast<std::uintptr_t>(address);
}

/// Returns the number of a coroutine's wait. The number is odd, because the awaiter is also a job, and the even number
/// identifies the posts of that job.
[[nodiscard]] inline auto trace_wait_number(const void* awaiter) noexcept -> std::uint64_t {
  return trace_number(awaiter) | 1U;
}

/// A slice of the calling thread. It lasts from the construction to the destruction of the object.
class trace_slice {
 public:
  trace_slice(trace_group group, const char* literal) noexcept {
    if (is_traced()) [[unlikely]]
      begun_ = trace_note(group, trace_kind::slice_begin, trace_number(literal));
  }
  trace_slice(trace_group group, trace_kind kind, std::uint64_t number) noexcept {
    if (is_traced()) [[unlikely]]
      begun_ = trace_note(group, kind, number);
  }
  trace_slice(trace_group group, trace_kind kind, std::uint64_t subject, std::uint64_t number) noexcept {
    if (is_traced()) [[unlikely]]
      begun_ = trace_note(group, kind, subject, number);
  }
  trace_slice(const trace_slice&) = delete;
  auto operator=(const trace_slice&) -> trace_slice& = delete;
  ~trace_slice() {
    if (begun_) [[unlikely]]
      trace_note_end();
  }

 private:
  bool begun_ = false;
};

/// Runs a job as a slice. The slice has the name of the job's code, and an arrow leads from the job's post to the
/// slice.
template <typename Job>
void run_traced(Job& work) {
  const trace_slice slice(trace_group::jobs, trace_kind::job_begin, trace_number(&work),
                          reinterpret_cast<std::uintptr_t>(work.code()));
  work.run();
}
template <typename Job>
void run_job(Job& work) {
  if (is_traced()) [[unlikely]]
    return run_traced(work);
  work.run();
}

/// Records a mark on the calling thread.
inline void trace_mark(trace_group group, const char* literal) noexcept {
  if (is_traced()) [[unlikely]]
    trace_note(group, trace_kind::mark, trace_number(literal));
}

/// Called before a job is posted. The trace shows an arrow from this call to the point at which the job runs.
inline void trace_post(const void* work) noexcept {
  if (is_traced()) [[unlikely]]
    trace_note(trace_group::jobs, trace_kind::posted, trace_number(work));
}

}  // namespace braid::detail
