// sim/time.cpp: implements clocks and sleeps in virtual time.
#include <sim/real.hpp>

#include <algorithm>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

namespace sim {
namespace {

auto process_time() -> nanoseconds { return now() - start_time; }

/// Returns the thread whose CPU time a clock shows, or null. libc encodes the number of the thread in a negative id.
auto find_thread_of(clockid_t clock) -> thread* {
  thread* found = nullptr;
  if (clock >= 0) return found;
  for_each_thread([&](thread& each) {
    if (program_id(each) == ~(clock >> 3)) found = &each;
  });
  return found;
}

/// Returns the virtual CPU time of a thread: the time of the switches at which it held the token.
auto thread_time(clockid_t clock) -> nanoseconds {
  if (clock == CLOCK_THREAD_CPUTIME_ID) return self->cpu_time;
  const thread* found = find_thread_of(clock);
  return found == nullptr ? process_time() : found->cpu_time;
}

auto remaining_time(nanoseconds deadline) -> timespec {
  return to_timespec(std::max<nanoseconds>(deadline - now(), 0));
}

}  // namespace

auto clock_time(clockid_t clock) -> nanoseconds {
  if (clock < 0 || clock == CLOCK_THREAD_CPUTIME_ID) return thread_time(clock);
  if (clock == CLOCK_PROCESS_CPUTIME_ID) return process_time();
  const bool is_real = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  return is_real ? now() + epoch() : now();
}

auto sleep_until(nanoseconds deadline) -> woken {
  if (deadline <= now()) {
    yield();
    return woken::timed_out;
  }
  return block({.kind = call::sleep, .address = self, .deadline = deadline});
}

SIM_CALL(int, clock_gettime, clockid_t clock, timespec* time) {
  if (!on()) return REAL(clock_gettime)(clock, time);
  timespec ignored{};
  const bool is_known =
      find_thread_of(clock) != nullptr || kernel(SYS_clock_getres, clock, reinterpret_cast<long>(&ignored)) == 0;
  if (!is_known) return -1;
  point(call::clock);
  *time = to_timespec(clock_time(clock));
  return 0;
}

/// Returns the id of a thread's CPU-time clock. The id contains the thread number that the program sees, which `gettid`
/// also returns.
SIM_CALL(int, pthread_getcpuclockid, pthread_t handle, clockid_t* clock) {
  if (!on()) return REAL(pthread_getcpuclockid)(handle, clock);
  const thread* found = find_thread(handle);
  if (found == nullptr || found->is == state::finished) return ESRCH;
  constexpr unsigned cpu_time_of_thread = 6;
  *clock = static_cast<clockid_t>(~static_cast<unsigned>(program_id(*found)) << 3U | cpu_time_of_thread);
  return 0;
}

SIM_CALL(int, gettimeofday, timeval* time, void* zone) {
  if (!on()) return REAL(gettimeofday)(time, zone);
  point(call::clock);
  const timespec found = to_timespec(clock_time(CLOCK_REALTIME));
  *time = {found.tv_sec, found.tv_nsec / 1000};
  return 0;
}

SIM_CALL(time_t, time, time_t* time) {
  if (!on()) return REAL(time)(time);
  point(call::clock);
  const time_t found = clock_time(CLOCK_REALTIME) / second;
  if (time != nullptr) *time = found;
  return found;
}

SIM_CALL(int, timespec_get, timespec* time, int base) {
  if (!on()) return REAL(timespec_get)(time, base);
  if (base != TIME_UTC) return 0;
  sim_clock_gettime(CLOCK_REALTIME, time);
  return base;
}

SIM_CALL(clock_t, clock, void) {
  if (!on()) return REAL(clock)();
  point(call::clock);
  return process_time() / 1000;
}

SIM_CALL(clock_t, times, tms* found) {
  if (!on()) return REAL(times)(found);
  const clock_t ticks = process_time() / (second / 100);
  if (found != nullptr) *found = {.tms_utime = ticks, .tms_stime = 0, .tms_cutime = 0, .tms_cstime = 0};
  return now() / (second / 100);
}

SIM_CALL(int, sysinfo, struct sysinfo* found) {
  const int status = REAL(sysinfo)(found);
  if (!on() || status != 0) return status;
  found->uptime = now() / second;
  std::ranges::fill(found->loads, 0);
  return 0;
}

SIM_CALL(int, getrusage, int of, rusage* found) {
  const int status = REAL(getrusage)(of, found);
  if (!on() || status != 0) return status;
  const timespec used = to_timespec(of == RUSAGE_THREAD ? self->cpu_time : process_time());
  const long memory = found->ru_maxrss;
  *found = {};
  found->ru_maxrss = memory;
  found->ru_utime = {used.tv_sec, used.tv_nsec / 1000};
  return 0;
}

SIM_CALL(int, clock_nanosleep, clockid_t clock, int flags, const timespec* wanted, timespec* rest) {
  if (!on()) return REAL(clock_nanosleep)(clock, flags, wanted, rest);
  if (!is_valid(*wanted) || wanted->tv_sec < 0) return EINVAL;
  const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
  const nanoseconds deadline = is_absolute ? moment(clock, *wanted) : after(*wanted);
  if (sleep_until(deadline) != woken::interrupted) return 0;
  if (!is_absolute && rest != nullptr) *rest = remaining_time(deadline);
  return EINTR;
}

SIM_CALL(int, nanosleep, const timespec* wanted, timespec* rest) {
  if (!on()) return REAL(nanosleep)(wanted, rest);
  const int error = sim_clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, rest);
  return error == 0 ? 0 : fail(error);
}

SIM_CALL(int, usleep, useconds_t length) {
  if (!on()) return REAL(usleep)(length);
  const timespec wanted = to_timespec(nanoseconds{length} * 1000);
  return sim_nanosleep(&wanted, nullptr);
}

SIM_CALL(unsigned, sleep, unsigned length) {
  if (!on()) return REAL(sleep)(length);
  timespec rest{};
  const timespec wanted{length, 0};
  return sim_nanosleep(&wanted, &rest) == 0 ? 0 : static_cast<unsigned>(rest.tv_sec);
}

SIM_CALL(int, thrd_sleep, const timespec* wanted, timespec* rest) { return sim_nanosleep(wanted, rest) == 0 ? 0 : -1; }

SIM_CALL(int, sched_yield, void) {
  if (!on()) return REAL(sched_yield)();
  yield();
  return 0;
}

SIM_CALL(void, thrd_yield, void) { sim_sched_yield(); }

// --- POSIX timers, which are not simulated ---

SIM_CALL(int, timer_create, clockid_t clock, sigevent* event, timer_t* made) {
  if (on())
    refuse("timer_create",
           "the signals of this timer would arrive in real time; use setitimer or a sleeping thread instead");
  return REAL(timer_create)(clock, event, made);
}

}  // namespace sim
