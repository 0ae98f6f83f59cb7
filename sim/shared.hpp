// sim/shared.hpp: declares the memory that the command braid-sim shares with its library in the simulated process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sim {

/// The kinds of calls at which a thread may lose the token. The record of a run contains the numbers of these kinds, so
/// a change of their order changes the hash of a run.
enum class call : std::uint16_t {
  thread_begin,
  thread_end,
  thread_create,
  thread_join,
  mutex_lock,
  mutex_unlock,
  condition_wait,
  condition_signal,
  rwlock_lock,
  rwlock_unlock,
  semaphore_wait,
  semaphore_post,
  barrier_wait,
  once,
  spin_lock,
  futex_wait,
  futex_wake,
  sleep,
  yield,
  clock,
  membarrier,
  entropy,
  read,
  write,
  connect,
  accept,
  poll,
  close,
  file_lock,
  signal_send,
  signal_wait,
  signal_mask,
  bind,
  descriptor,
  names,
  file_sync,
  file_change,
  count
};

/// The names of the kinds of calls, as reports print them.
inline constexpr std::array call_names = {"begin of the thread",
                                          "end of the thread",
                                          "pthread_create",
                                          "join",
                                          "mutex lock",
                                          "mutex unlock",
                                          "condition wait",
                                          "condition signal",
                                          "rwlock lock",
                                          "rwlock unlock",
                                          "semaphore wait",
                                          "semaphore post",
                                          "barrier wait",
                                          "once",
                                          "spin lock",
                                          "futex wait",
                                          "futex wake",
                                          "sleep",
                                          "yield",
                                          "clock",
                                          "membarrier",
                                          "entropy",
                                          "read",
                                          "write",
                                          "connect",
                                          "accept",
                                          "poll",
                                          "close",
                                          "file lock",
                                          "signal sent",
                                          "signal wait",
                                          "signal mask",
                                          "bind",
                                          "descriptor",
                                          "getaddrinfo",
                                          "fsync",
                                          "change of a folder"};

static_assert(call_names.size() == static_cast<std::size_t>(call::count));

constexpr auto name(call kind) -> const char* { return call_names[static_cast<std::size_t>(kind)]; }

/// Says how the next thread is chosen: uniformly among the runnable threads, or by priorities that change at random
/// points (probabilistic concurrency testing).
enum class order : std::uint32_t { uniform, pct };

/// The kinds of network faults that a seed may inject. Each kind has a budget.
enum class fault : std::uint8_t { split, delay, reset, refusal, loss, partition, count };
inline constexpr std::size_t fault_count = static_cast<std::size_t>(fault::count);

/// The names of the faults, as the command line and reports use them.
inline constexpr std::array fault_names = {"splits", "delays", "resets", "refusals", "losses", "partitions"};
static_assert(fault_names.size() == fault_count);

/// The settings of a run, which braid-sim passes to the library.
struct settings {
  std::uint64_t seed = 1;
  order kind = order::uniform;
  std::uint32_t changes = 3;       ///< the number of points at which PCT lowers the priority of the running thread
  std::uint64_t reach = 10'000;    ///< the number of switches among which PCT chooses these points
  std::uint64_t every = 1;         ///< the average number of calls after which a thread may lose the token
  std::uint64_t max_switches = 0;  ///< the number of switches after which the run ends; 0: no limit
  std::uint32_t cpus = 4;
  std::uint32_t keeps_stacks = 0;
  std::uint64_t min_latency_ns = 10'000;  ///< the minimum latency of a packet between internet sockets
  std::uint64_t max_latency_ns = 200'000;
  std::uint64_t bandwidth = 0;  ///< bytes per second from one machine of a world to another; 0: no limit
  std::array<std::uint32_t, fault_count> budgets{};  ///< the most faults of each kind
  std::uint32_t fault_rate = 20;                     ///< one of so many packets has a fault, on average
  std::uint64_t calm_from_ns = 0;                    ///< no faults begin after it; 0: no limit
  std::array<char, 4096> names{};                    ///< host names: NAME=ADDRESS lines
  std::uint32_t is_machine = 0;                      ///< 1 if a coordinator passes a token among several processes
  std::int32_t clock_drift_ppm = 0;                  ///< the drift of the machine's clock, in millionths
  std::int64_t clock_offset_ns = 0;                  ///< the offset of the machine's real-time clock
  std::int64_t start_ns = 0;                         ///< the time of the world at which the process starts
  std::array<std::uint8_t, 16> ip{};                 ///< the address of the machine
  std::array<char, 64> machine_name{};
  std::array<char, 256> disk{};  ///< the folder whose files are on the simulated disk; empty: there is none
  std::uint64_t records = 0;     ///< the number of records for which the file has memory
  std::uint32_t keeps_last = 0;  ///< 1 if a record replaces the oldest one once the memory is full
};

/// The reason why braid-sim requests a report from a process.
enum class question : std::uint32_t { stuck, end_of_world };

/// One switch: a call at which another thread may have been chosen.
struct record {
  std::int64_t time = 0;  ///< virtual nanoseconds since the start of the run
  std::uint32_t thread = 0;
  call kind = call::thread_begin;
  std::uint16_t is_wait = 0;  ///< 1 if the thread waits from here on

  friend auto operator==(const record&, const record&) -> bool = default;
};

inline constexpr std::size_t named_threads = 256;  ///< the threads whose names a trace shows

/// The start of the shared file. The records of all switches follow if `settings.records` is not 0.
struct shared_page {
  settings wanted;
  std::atomic<std::uint32_t> started = 0;
  std::atomic<std::uint64_t> switches = 0;
  std::uint64_t hash = 0;
  std::int64_t time = 0;
  std::uint32_t threads = 0;
  std::atomic<std::int32_t> runner = 0;  ///< the kernel's number of the thread that holds the token
  std::atomic<question> asked = question::stuck;
  std::atomic<std::uint32_t> idle = 0;              ///< 1 while all threads wait for something outside of the process
  std::array<std::uint32_t, fault_count> faults{};  ///< the number of injected faults of each kind
  std::uint64_t next_connection = 0;                ///< the number of the next connection to another machine
  std::array<std::array<char, 16>, named_threads> thread_names{};  ///< by the number of the thread, from 1
  std::uint32_t report_size = 0;
  std::array<char, 256 * 1024> report{};  ///< text; a frame is \1 FILE \2 OFFSET (hexadecimal) \n
};

/// The offset of the first record in the file.
inline constexpr std::size_t records_offset = (sizeof(shared_page) + 4095) / 4096 * 4096;

/// The exit status of a process that the simulator ended. braid-sim then exits with the same status.
inline constexpr int ended_status = 70;

/// The signal with which braid-sim requests the stack of a thread.
inline constexpr int stack_signal = 64;

/// The environment variable that contains the path of the shared file, `/proc/PID/fd/FD`. The value always has the same
/// length, because a longer environment would move the program's stack.
inline constexpr const char* file_variable = "BRAID_SIM_FILE";

}  // namespace sim
