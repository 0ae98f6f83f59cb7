// sim/scheduler.hpp: declares the threads of the simulated process, the token (only the thread that holds it runs), and
// virtual time.
#pragma once

#include <sim/shared.hpp>
#include <sim/wire.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <limits>

#include <poll.h>
#include <pthread.h>
#include <time.h>

namespace sim {

using nanoseconds = std::int64_t;
inline constexpr nanoseconds never = std::numeric_limits<nanoseconds>::max();
inline constexpr nanoseconds second = 1'000'000'000;

/// Says how a wait ended. A caller whose wait was interrupted checks its condition again.
enum class woken { called, timed_out, interrupted };

/// The reason why a thread waits. `address` identifies the lock, futex or other object that the thread waits for.
struct wait {
  call kind = call::sleep;
  const void* address = nullptr;
  nanoseconds deadline = never;
  std::uint32_t bits = ~0U;       ///< the bits of FUTEX_WAIT_BITSET
  pollfd* descriptors = nullptr;  ///< real descriptors, any of which ends the wait when it is ready
  nfds_t descriptor_count = 0;
  bool is_outside = false;  ///< something outside of the process can end the wait; the caller then tries again
};

enum class state : std::uint8_t { unused, runnable, blocked, finished };

inline constexpr std::size_t max_frames = 24;
inline constexpr std::uint32_t max_cpus = 1024;

/// A thread of the program. Only the thread that holds the token accesses these fields, except for `token` itself.
struct thread {
  std::atomic<std::uint32_t> token = 0;
  state is = state::unused;
  std::uint32_t id = 0;  ///< 1 is the main thread; numbers are not reused
  wait waits;
  woken end = woken::called;
  std::uint64_t priority = 0;
  std::uint64_t hold_length = 0;  ///< switches since another thread ran
  nanoseconds cpu_time = 0;
  pthread_t handle{};
  std::atomic<std::int32_t> kernel_id = 0;
  bool is_joined = false;  ///< it was joined or detached: its result is not needed
  void* (*start)(void*) = nullptr;
  void* argument = nullptr;
  std::array<char, 16> name{};
  sigset_t mask{};                                  ///< signals that the program has blocked
  std::atomic<std::uint64_t> signals = 0;           ///< the signals that the thread handles at its next switch
  std::array<std::uint64_t, max_cpus / 64> cpus{};  ///< the CPUs on which the program lets it run
  int depth = 0;                                    ///< calls of the simulator itself, which are not simulated
  int end_rounds = 0;                               ///< rounds of destructors of thread-specific data
  std::array<void*, max_frames> frames{};
  std::atomic<int> frame_count = -1;
  void* interrupted_at = nullptr;  ///< while a signal handler runs: the instruction that the signal interrupted
};

inline constexpr std::size_t max_threads = 2048;

/// Points to the calling thread, or is null if the process is not simulated or the thread does not belong to the
/// program.
extern constinit thread_local thread* self __attribute__((tls_model("initial-exec")));
extern shared_page* page;

/// Returns whether calls of this thread are simulated. The first call starts the simulation.
auto on() -> bool;

/// A guard. While it exists, calls of this thread are not simulated, because the simulator itself makes them.
class inside {
 public:
  inside() {
    if (self != nullptr) ++self->depth;
  }
  inside(const inside&) = delete;
  auto operator=(const inside&) -> inside& = delete;
  ~inside() {
    if (self != nullptr) --self->depth;
  }
};

/// Records a possible switch, and lets the seed choose the thread that runs next. Preserves errno.
void point(call kind);
/// Does the same as point(call::yield). With the option `--order pct`, also gives this thread the lowest priority.
void yield();
/// Blocks the calling thread until the wait ends. Preserves errno.
auto block(const wait& reason) -> woken;
/// Makes up to `count` threads runnable that wait for this kind of call and this address. The seed chooses the threads.
/// Returns the number of threads that it has made runnable.
auto wake(call kind, const void* address, int count, std::uint32_t bits = ~0U) -> int;
/// Records that a call may have made descriptors ready.
void descriptors_changed();

/// Returns the virtual time of the monotonic clock.
auto now() -> nanoseconds;
/// Returns the difference between the real-time clock and the monotonic clock. On the real-time clock, a run starts on
/// 2026-01-01.
inline auto epoch() -> nanoseconds { return 1'767'225'600 * second - start_time + page->wanted.clock_offset_ns; }

/// Sets or clears the timer that sends SIGALRM. Returns the expiry time of the previous timer.
auto set_alarm(nanoseconds time, nanoseconds interval) -> nanoseconds;
auto alarm_interval() -> nanoseconds;

/// Returns the next random number that the program gets in place of the system's entropy.
auto entropy() -> std::uint64_t;

// The threads of the program.
auto add_thread() -> thread*;                   // null if there are too many
void remove_thread(thread& gone);               // removes a thread that could not be started
void begin_thread(thread& started);             // called by itself: waits for the token
void end_thread();                              // called by itself, at the end of its last destructor
auto find_thread(pthread_t handle) -> thread*;  // null if there is no such thread
/// Finds a thread by the number that the program or the kernel uses for it; the number 0 means the calling thread.
auto find_thread(std::int32_t id) -> thread*;
template <typename Fn>
void for_each_thread(Fn&& fn);

/// The number that the program sees for its first thread, in place of the kernel's number. Numbers that belong to no
/// thread are not converted.
inline constexpr std::int32_t first_id = 100;
/// Returns the kernel's number of a thread. Waits until a new thread has stored its number.
auto kernel_id(const thread& thread) -> std::int32_t;
constexpr auto program_id(const thread& shown) -> std::int32_t {
  return first_id + static_cast<std::int32_t>(shown.id) - 1;
}
auto to_kernel_id(std::int32_t id) -> std::int32_t;

/// Runs the handlers of the signals that are pending for the calling thread.
void run_handlers();
/// Sends a signal to the first thread that does not block the signal.
void send_to_process(int signal);
/// Installs handlers for signals that would end the process, and for the signal with which braid-sim requests a report.
void install_handlers(void (*report)(int, siginfo_t*, void*));

/// Returns the address of the instruction that a signal interrupted. `context` is the third argument of the signal
/// handler.
auto instruction(const void* context) -> void*;

// The functions below write reports about the simulated process.
void report_and_exit(const char* sentence);
void write_report(const char* sentence);
void refuse(const char* call_name, const char* reason);
void prepare_reports();
/// Loads the library that unwinds stacks. This allocates memory of the program.
void prepare_stacks();

struct live_threads {
  std::array<thread*, max_threads> all;
  std::size_t count;
};
extern live_threads live;

template <typename Fn>
void for_each_thread(Fn&& fn) {
  for (std::size_t at = 0; at < live.count; ++at) fn(*live.all[at]);
}

/// A record of one of the last switches, with the stack of the thread if stacks are recorded.
struct last_switch {
  record what;
  int frame_count;
  std::array<void*, max_frames> frames;
};
inline constexpr std::size_t last_switch_count = 12;
extern std::array<last_switch, last_switch_count> last_switches;

}  // namespace sim
