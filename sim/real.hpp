// sim/real.hpp: declares macros that replace a function of libc, and macros that call libc's original function.
#pragma once

#include <sim/scheduler.hpp>

#include <cerrno>

#include <dlfcn.h>

/// Begins the definition of a function that replaces libc's. The definition has a different C++ name, so that it need
/// not match the exception specification and attributes of libc's declaration.
#define SIM_CALL(result, name, ...)                                                                  \
  extern "C" __attribute__((visibility("default"))) auto sim_##name(__VA_ARGS__)->result asm(#name); \
  auto sim_##name(__VA_ARGS__)->result

/// Returns libc's original function of that name. Only the thread that holds the token may use it, because the cached
/// pointer has no lock.
#define REAL(name)                                                           \
  ([] {                                                                      \
    static void* real_function = nullptr;                                    \
    if (real_function == nullptr) real_function = ::dlsym(RTLD_NEXT, #name); \
    return reinterpret_cast<decltype(&sim_##name)>(real_function);           \
  }())

namespace sim {

/// Sets errno and returns -1.
inline auto fail(int error) -> int {
  errno = error;
  return -1;
}

constexpr auto to_nanoseconds(const timespec& time) -> nanoseconds {
  constexpr std::int64_t largest = never / second - 1;
  if (time.tv_sec >= largest) return never;
  return time.tv_sec * second + time.tv_nsec;
}

constexpr auto to_timespec(nanoseconds time) -> timespec { return {time / second, time % second}; }

constexpr auto is_valid(const timespec& time) -> bool { return time.tv_nsec >= 0 && time.tv_nsec < second; }

/// Converts a time on this clock to virtual time.
inline auto moment(clockid_t clock, const timespec& time) -> nanoseconds {
  const nanoseconds at = to_nanoseconds(time);
  if (at == never) return never;
  return clock == CLOCK_REALTIME ? at - epoch() : at;
}

/// Returns the virtual time at the end of a duration that begins now.
inline auto after(const timespec& duration) -> nanoseconds {
  const nanoseconds length = to_nanoseconds(duration);
  return length > never - now() ? never : now() + length;
}

/// Makes a system call directly, without libc's functions.
auto kernel(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) -> long;

// The functions below are shared by several of the functions that replace libc's functions.
auto lock_mutex(pthread_mutex_t* mutex, nanoseconds deadline) -> int;
auto clock_time(clockid_t clock) -> nanoseconds;
auto sleep_until(nanoseconds deadline) -> woken;
auto kernel_mask(int how, const sigset_t* set, sigset_t* old) -> int;
void fill_with_entropy(void* memory, std::size_t size);
auto send_signal(thread& target, int signal) -> int;
auto kill_process(int signal) -> int;
auto futex(const long* words) -> long;
/// If `number` is the number of a system call on descriptors, calls libc's function for it, and stores the result.
/// Otherwise returns false.
auto call_on_descriptor(long number, const long* words, long& result) -> bool;

}  // namespace sim
