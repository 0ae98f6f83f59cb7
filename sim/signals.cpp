// sim/signals.cpp: simulates signals. A handler runs when the thread that received the signal gets the token.
#include <sim/real.hpp>

#include <algorithm>
#include <climits>
#include <cstring>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

namespace sim {
namespace {

using action = struct sigaction;
std::array<action, 65> actions{};
constexpr std::array fatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
constexpr std::size_t kernel_set_size = 8;

auto is_fatal(int signal) -> bool { return std::ranges::find(fatal, signal) != fatal.end(); }

auto has_handler(int signal) -> bool {
  return actions[signal].sa_handler != SIG_DFL && actions[signal].sa_handler != SIG_IGN;
}

auto bit(int signal) -> std::uint64_t { return 1ULL << static_cast<unsigned>(signal - 1); }

void to_kernel(std::int32_t kernel_id, int signal) { kernel(SYS_tgkill, kernel(SYS_getpid), kernel_id, signal); }

void call_handler(int signal, siginfo_t* info, void* context) {
  const action chosen = actions[signal];
  if ((chosen.sa_flags & SA_RESETHAND) != 0) actions[signal].sa_handler = SIG_DFL;
  if ((chosen.sa_flags & SA_SIGINFO) != 0) return chosen.sa_sigaction(signal, info, context);
  chosen.sa_handler(signal);
}

void set_default(int signal);

void crash(int signal) {
  std::array<char, 100> sentence{};
  std::snprintf(sentence.data(), sentence.size(), "the program was ended by signal %d: %s", signal,
                ::sigdescr_np(signal));
  if (self != nullptr) write_report(sentence.data());
  set_default(signal);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  kernel_mask(SIG_UNBLOCK, &only, nullptr);
  to_kernel(static_cast<std::int32_t>(kernel(SYS_gettid)), signal);
}

#if defined(__x86_64__)

/// Emulates an instruction that reads the processor's cycle counter, and returns virtual time. The kernel reports the
/// instruction as a fault, because `trap_counter` has requested that.
auto complete_counter(void* context) -> bool {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  const bool is_rdtsc = code[0] == 0x0f && code[1] == 0x31;
  const bool is_rdtscp = code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9;
  if (!is_rdtsc && !is_rdtscp) return false;
  static std::uint64_t reads = 0;
  const std::uint64_t cycles = 3 * static_cast<std::uint64_t>(now() - start_time) + ++reads;
  registers[REG_RAX] = static_cast<greg_t>(cycles & 0xffff'ffffU);
  registers[REG_RDX] = static_cast<greg_t>(cycles >> 32U);
  if (is_rdtscp) registers[REG_RCX] = 0;
  registers[REG_RIP] += is_rdtsc ? 2 : 3;
  return true;
}

/// Makes the kernel report a fault if an instruction reads the cycle counter. New threads inherit this setting.
void trap_counter() { kernel(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV); }

#else

auto complete_counter(void* /*context*/) -> bool { return false; }
void trap_counter() {}

#endif

/// The signal handler that is registered in the kernel. The handler processes faults at once, and marks other signals
/// for the thread's next switch.
void handle(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (signal == SIGSEGV && info->si_code == SI_KERNEL && complete_counter(context)) return;
  if (is_fatal(signal)) {
    if (has_handler(signal)) {
      call_handler(signal, info, context);
    } else {
      if (self != nullptr) self->interrupted_at = instruction(context);
      crash(signal);
    }
  } else if (self != nullptr) {
    self->signals.fetch_or(bit(signal), std::memory_order_relaxed);
  }
  errno = error;
}

/// Runs the program's handler of a signal, with the signal mask of its action.
void run_handler(int signal) {
  if (!has_handler(signal)) {
    if (actions[signal].sa_handler == SIG_DFL) to_kernel(kernel_id(*self), signal);
    return;
  }
  const sigset_t before = self->mask;
  sigset_t during = actions[signal].sa_mask;
  if ((actions[signal].sa_flags & SA_NODEFER) == 0) ::sigaddset(&during, signal);
  ::sigdelset(&during, stack_signal);
  kernel_mask(SIG_BLOCK, &during, nullptr);
  ::sigorset(&self->mask, &before, &during);
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_USER;
  call_handler(signal, &info, nullptr);
  self->mask = before;
  kernel_mask(SIG_SETMASK, &before, nullptr);
}

void wait_for_signal(nanoseconds deadline, woken& end) {
  end = block({.kind = call::signal_wait, .deadline = deadline, .is_outside = true});
}

}  // namespace

#if defined(__x86_64__)

/// Returns the difference of two reads of the cycle counter, for `hwy::platform::TimerResolution()`. Each process that
/// loads the library Highway calls this function once. Highway's own function would read the counter 131 072 times.
/// Each read is a fault under the simulator, so the reads would take most of the time of a run.
extern "C" __attribute__((visibility("default"))) auto sim_timer_resolution() -> std::uint64_t
    asm("_ZN3hwy8platform15TimerResolutionEv");
extern "C" auto sim_timer_resolution() -> std::uint64_t { return 1; }

#endif

auto kernel_mask(int how, const sigset_t* set, sigset_t* old) -> int {
  if (old != nullptr) ::sigemptyset(old);
  return static_cast<int>(kernel(SYS_rt_sigprocmask, how, reinterpret_cast<long>(set), reinterpret_cast<long>(old),
                                 static_cast<long>(kernel_set_size)));
}

void run_handlers() {
  while (std::uint64_t pending = self->signals.load(std::memory_order_relaxed)) {
    const int signal = __builtin_ctzll(pending) + 1;
    self->signals.fetch_and(~bit(signal), std::memory_order_relaxed);
    if (::sigismember(&self->mask, signal) == 1) {
      to_kernel(kernel_id(*self), signal);
    } else {
      run_handler(signal);
    }
  }
}

auto send_signal(thread& target, int signal) -> int {
  if (signal == 0) return 0;
  if (has_handler(signal) && !is_fatal(signal) && ::sigismember(&target.mask, signal) == 0) {
    target.signals.fetch_or(bit(signal), std::memory_order_relaxed);
  } else {
    to_kernel(kernel_id(target), signal);
    wake(call::signal_wait, nullptr, INT_MAX);
    descriptors_changed();
  }
  return 0;
}

void send_to_process(int signal) {
  if (has_handler(signal)) {
    for (std::size_t at = 0; at < live.count; ++at) {
      if (::sigismember(&live.all[at]->mask, signal) != 0) continue;
      live.all[at]->signals.fetch_or(bit(signal), std::memory_order_relaxed);
      return;
    }
  }
  kernel(SYS_kill, kernel(SYS_getpid), signal);
  wake(call::signal_wait, nullptr, INT_MAX);
  descriptors_changed();
}

SIM_CALL(int, sigaction, int signal, const action* wanted, action* old) {
  if (!on()) return REAL(sigaction)(signal, wanted, old);
  if (signal < 1 || signal >= static_cast<int>(actions.size()) || signal == SIGKILL || signal == SIGSTOP ||
      signal == stack_signal)
    return fail(EINVAL);
  const action before = actions[signal];
  if (wanted != nullptr) {
    actions[signal] = *wanted;
    action real = *wanted;
    if (has_handler(signal) || (is_fatal(signal) && wanted->sa_handler == SIG_DFL)) {
      real.sa_sigaction = &handle;
      real.sa_flags = (wanted->sa_flags & (SA_ONSTACK | SA_NODEFER)) | SA_SIGINFO | SA_RESTART;
      if (!is_fatal(signal)) ::sigemptyset(&real.sa_mask);
    }
    if (REAL(sigaction)(signal, &real, nullptr) != 0) return -1;
  }
  if (old != nullptr) *old = before;
  return 0;
}

namespace {

void set_default(int signal) {
  action real{};
  real.sa_handler = SIG_DFL;
  REAL(sigaction)(signal, &real, nullptr);
}

}  // namespace

SIM_CALL(sighandler_t, signal, int signal, sighandler_t handler) {
  action wanted{};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  action old{};
  if (sim_sigaction(signal, &wanted, &old) != 0) return SIG_ERR;
  return old.sa_handler;
}

auto instruction(const void* context) -> void* {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<void*>(registers.gregs[REG_RIP]);
#else
  return reinterpret_cast<void*>(registers.pc);
#endif
}

void install_handlers(void (*report)(int, siginfo_t*, void*)) {
  action real{};
  real.sa_sigaction = report;
  real.sa_flags = SA_SIGINFO | SA_RESTART;
  REAL(sigaction)(stack_signal, &real, nullptr);
  real.sa_sigaction = &handle;
  for (const int signal : fatal) REAL(sigaction)(signal, &real, nullptr);
  trap_counter();
}

SIM_CALL(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* old) {
  if (!on()) return REAL(pthread_sigmask)(how, set, old);
  sigset_t wanted;
  if (set != nullptr) {
    wanted = *set;
    ::sigdelset(&wanted, stack_signal);
    ::sigdelset(&wanted, 32);  // libc reserves this signal for itself
    ::sigdelset(&wanted, 33);
  }
  if (kernel_mask(how, set == nullptr ? nullptr : &wanted, old) != 0) return errno;
  kernel_mask(SIG_SETMASK, nullptr, &self->mask);
  if (set != nullptr) point(call::signal_mask);
  return 0;
}

SIM_CALL(int, sigprocmask, int how, const sigset_t* set, sigset_t* old) {
  const int error = sim_pthread_sigmask(how, set, old);
  return error == 0 ? 0 : fail(error);
}

auto kill_process(int signal) -> int {
  if (signal < 0 || signal > 64) return fail(EINVAL);
  if (signal != 0) send_to_process(signal);
  point(call::signal_send);
  return 0;
}

SIM_CALL(int, kill, pid_t process, int signal) {
  if (!on() || (process != first_id && process != kernel(SYS_getpid))) return REAL(kill)(process, signal);
  return kill_process(signal);
}

SIM_CALL(int, raise, int signal) {
  if (!on()) return static_cast<int>(kernel(SYS_tgkill, kernel(SYS_getpid), kernel(SYS_gettid), signal));
  send_signal(*self, signal);
  point(call::signal_send);
  return 0;
}

SIM_CALL(int, pthread_kill, pthread_t handle, int signal) {
  if (!on()) return REAL(pthread_kill)(handle, signal);
  if (signal < 0 || signal > 64) return EINVAL;
  thread* target = find_thread(handle);
  if (target == nullptr) return ESRCH;
  if (target->is != state::finished) send_signal(*target, signal);
  point(call::signal_send);
  return 0;
}

SIM_CALL(int, sigtimedwait, const sigset_t* set, siginfo_t* info, const timespec* limit) {
  if (!on()) return REAL(sigtimedwait)(set, info, limit);
  const nanoseconds deadline = limit == nullptr ? never : after(*limit);
  point(call::signal_wait);
  for (woken end = woken::called;; wait_for_signal(deadline, end)) {
    const timespec none{};
    const long found = kernel(SYS_rt_sigtimedwait, reinterpret_cast<long>(set), reinterpret_cast<long>(info),
                              reinterpret_cast<long>(&none), static_cast<long>(kernel_set_size));
    if (found > 0 || errno != EAGAIN) return static_cast<int>(found);
    if (end == woken::interrupted) return fail(EINTR);
    if (now() >= deadline) return fail(EAGAIN);
  }
}

SIM_CALL(int, sigwaitinfo, const sigset_t* set, siginfo_t* info) { return sim_sigtimedwait(set, info, nullptr); }

SIM_CALL(int, sigwait, const sigset_t* set, int* signal) {
  if (!on()) return REAL(sigwait)(set, signal);
  int found = -1;
  while ((found = sim_sigtimedwait(set, nullptr, nullptr)) < 0)
    if (errno != EINTR) return errno;
  *signal = found;
  return 0;
}

SIM_CALL(int, sigsuspend, const sigset_t* set) {
  if (!on()) return REAL(sigsuspend)(set);
  sigset_t before;
  sim_pthread_sigmask(SIG_SETMASK, set, &before);
  woken end = woken::called;
  while (end != woken::interrupted) wait_for_signal(never, end);
  sim_pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return fail(EINTR);
}

SIM_CALL(int, pause, void) {
  if (!on()) return REAL(pause)();
  woken end = woken::called;
  while (end != woken::interrupted) wait_for_signal(never, end);
  return fail(EINTR);
}

// --- the process's interval timer ---

SIM_CALL(int, setitimer, int which, const itimerval* wanted, itimerval* old) {
  if (!on() || which != ITIMER_REAL) return REAL(setitimer)(which, wanted, old);
  const auto length = [](const timeval& time) { return time.tv_sec * second + time.tv_usec * 1000; };
  const auto shown = [](nanoseconds time) { return timeval{time / second, time % second / 1000}; };
  const nanoseconds interval = alarm_interval();
  const nanoseconds first = length(wanted->it_value);
  const nanoseconds before = set_alarm(first == 0 ? never : now() + first, length(wanted->it_interval));
  if (old != nullptr)
    *old = {shown(interval), shown(before == never ? 0 : std::max<nanoseconds>(before - now(), 1000))};
  return 0;
}

SIM_CALL(unsigned, alarm, unsigned seconds) {
  if (!on()) return REAL(alarm)(seconds);
  const nanoseconds before = set_alarm(seconds == 0 ? never : now() + seconds * second, 0);
  return before == never ? 0 : static_cast<unsigned>((before - now() + second - 1) / second);
}

}  // namespace sim
