// tests/sim/programs/calls.cpp: uses calls that the simulator replaces, each in a way that can be checked in one
// process.
#include <atomic>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}

auto elapsed(auto&& call) -> std::chrono::milliseconds {
  const auto start = clock_type::now();
  call();
  return std::chrono::floor<std::chrono::milliseconds>(clock_type::now() - start);
}

void mutexes() {
  std::timed_mutex timed;
  timed.lock();
  std::thread([&] {
    check(elapsed([&] { check(!timed.try_lock_for(3s), "a held mutex is not locked"); }) == 3000ms,
          "a timed lock waits 3 s");
  }).join();
  std::recursive_mutex again;
  again.lock();
  again.lock();
  std::thread([&] { check(!again.try_lock(), "a recursive mutex belongs to its thread"); }).join();
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &kind);
  check(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK,
        "a mutex that checks says EDEADLK");
  check(pthread_mutex_unlock(&checked) == 0 && pthread_mutex_unlock(&checked) == EPERM,
        "a mutex that checks says EPERM");
  pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t robust;
  pthread_mutex_init(&robust, &kind);
  std::thread([&] { pthread_mutex_lock(&robust); }).join();
  check(pthread_mutex_lock(&robust) == EOWNERDEAD, "a robust mutex says that its owner is dead");
  std::shared_timed_mutex shared;
  shared.lock_shared();
  std::thread([&] {
    check(shared.try_lock_shared_for(1s), "readers share");
    shared.unlock_shared();
    check(!shared.try_lock_for(1s), "a writer does not");
  }).join();
}

void conditions() {
  std::mutex mutex;
  std::condition_variable changed;
  int next = 0;
  std::vector<std::thread> all;
  for (int mine = 0; mine < 4; ++mine) {
    all.emplace_back([&, mine] {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return next == mine; });
      ++next;
      changed.notify_all();
    });
  }
  for (std::thread& each : all) each.join();
  check(next == 4, "each thread was next once");
  std::unique_lock lock(mutex);
  check(elapsed([&] { check(changed.wait_for(lock, 90s) == std::cv_status::timeout, "a condition times out"); }) ==
            90'000ms,
        "a condition waits 90 s");
  check(changed.wait_until(lock, std::chrono::system_clock::now() + 2s) == std::cv_status::timeout,
        "a condition times out by the clock of the calendar");
}

void semaphores() {
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  check(sem_wait(&semaphore) == 0 && sem_trywait(&semaphore) == -1 && errno == EAGAIN, "a semaphore counts");
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 5;
  check(sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT, "a semaphore times out");
  std::thread([&] { sem_post(&semaphore); }).join();
  check(sem_wait(&semaphore) == 0, "a semaphore is posted");
  std::counting_semaphore<> counted(0);
  std::thread poster([&] { counted.release(2); });
  counted.acquire();
  counted.acquire();
  poster.join();
  check(!counted.try_acquire_for(1s), "an atomic wait times out");
  std::atomic<int> word = 0;
  std::thread setter([&] {
    word = 1;
    word.notify_all();
  });
  word.wait(0);
  setter.join();
}

void barriers() {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 3);
  std::atomic<int> serial = 0;
  std::vector<std::thread> all;
  for (int at = 0; at < 3; ++at) {
    all.emplace_back([&] {
      for (int round = 0; round < 5; ++round)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
    });
  }
  for (std::thread& each : all) each.join();
  check(serial == 5, "one thread of a barrier is the serial one");
  pthread_barrier_destroy(&barrier);
  static std::once_flag flag;
  static int calls = 0;
  try {
    std::call_once(flag, [] { throw std::runtime_error("first"); });
  } catch (const std::runtime_error&) {
    ++calls;
  }
  std::thread one([] { std::call_once(flag, [] { std::this_thread::sleep_for(1s), ++calls; }); });
  std::thread other([] { std::call_once(flag, [] { std::this_thread::sleep_for(1s), ++calls; }); });
  one.join();
  other.join();
  check(calls == 2, "call_once repeats what threw, and nothing else");
  pthread_spinlock_t spin;
  pthread_spin_init(&spin, 0);
  pthread_spin_lock(&spin);
  std::thread spinner([&] { pthread_spin_lock(&spin), pthread_spin_unlock(&spin); });
  std::this_thread::sleep_for(1s);
  pthread_spin_unlock(&spin);
  spinner.join();
}

/// Waits in its destructor, which is the end of its thread.
struct slow_end {
  ~slow_end() {
    std::this_thread::sleep_for(1s);
    ++count;
  }
  static inline std::atomic<int> count = 0;
};
thread_local slow_end at_end;

void threads() {
  std::thread([] { static_cast<void>(&at_end); }).join();
  check(slow_end::count == 1, "a join waits for thread_local objects");
  std::thread detached([] { static_cast<void>(&at_end); });
  detached.detach();
  while (slow_end::count < 2) std::this_thread::sleep_for(100ms);
  pthread_t made{};
  pthread_create(
      &made, nullptr,
      [](void*) -> void* {
        std::this_thread::sleep_for(2s);
        pthread_exit(nullptr);
      },
      nullptr);
  check(pthread_tryjoin_np(made, nullptr) == EBUSY, "a running thread is not joined");
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  check(pthread_timedjoin_np(made, nullptr, &until) == ETIMEDOUT, "a timed join ends");
  check(pthread_join(made, nullptr) == 0, "a thread that exits is joined");
  check(pthread_join(pthread_self(), nullptr) == EDEADLK, "a thread cannot join itself");
  thrd_t plain{};
  int value = 0;
  thrd_create(&plain, [](void*) { return 42; }, nullptr);
  check(thrd_join(plain, &value) == thrd_success && value == 42, "a thread of C11 has a value");
}

/// The state that the system shows for a thread.
auto find_state(int id) -> char {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos ? '?' : text[end + 2];
}

void clocks() {
  const auto year =
      std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())).year();
  check(year == std::chrono::year(2026), "the clock begins in 2026");
  check(elapsed([] { std::this_thread::sleep_for(1h); }) == 3'600'000ms, "an hour passes");
  check(elapsed([] { usleep(1500), sleep(2); }) == 2001ms, "sleeps add up");
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 7;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  timespec reached{};
  clock_gettime(CLOCK_MONOTONIC, &reached);
  check(reached.tv_sec == until.tv_sec && reached.tv_nsec - until.tv_nsec < 10'000, "a sleep ends at its time");
  const auto start = clock_type::now();
  while (clock_type::now() < start + 5ms) {}
  timespec booted{};
  struct sysinfo machine{};
  check(clock_gettime(CLOCK_BOOTTIME, &booted) == 0 && sysinfo(&machine) == 0 && machine.uptime == booted.tv_sec,
        "the machine has been up since its clock began");
  check(std::thread::hardware_concurrency() == 4, "the program has four CPUs");
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  check(CPU_COUNT(&set) == 4 && sysconf(_SC_NPROCESSORS_ONLN) == 4, "the program may use four CPUs");
  check(getpid() == 100 && gettid() == 100, "the main thread is 100");
  std::atomic<int> id = 0;
  std::thread sleeper([&] {
    id = gettid();
    std::this_thread::sleep_for(1s);
  });
  while (id == 0 || find_state(id) == 'R') std::this_thread::yield();
  check(find_state(id) == 'S' && find_state(gettid()) == 'R', "a thread sleeps in the simulation");
  clockid_t clock{};
  timespec used{-1, -1};
  check(pthread_getcpuclockid(sleeper.native_handle(), &clock) == 0 && ~(clock >> 3) == id, "a clock names its thread");
  check(clock_gettime(clock, &used) == 0 && used.tv_sec == 0, "the clock of a thread shows its CPU time");
  sleeper.join();
}

void descriptors() {
  std::array<int, 2> pipe_ends{};
  check(pipe(pipe_ends.data()) == 0, "a pipe is made");
  std::thread writer([&] {
    std::this_thread::sleep_for(10s);
    check(write(pipe_ends[1], "x", 1) == 1, "a byte is written");
  });
  char byte = 0;
  check(elapsed([&] { check(read(pipe_ends[0], &byte, 1) == 1 && byte == 'x', "the byte is read"); }) == 10'000ms,
        "a read waits 10 s");
  writer.join();
  pollfd polled{pipe_ends[0], POLLIN, 0};
  check(elapsed([&] { check(poll(&polled, 1, 1234) == 0, "a poll times out"); }) == 1234ms, "a poll waits");
  timeval limit{1, 500'000};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pipe_ends[0], &set);
  check(elapsed([&] { check(select(pipe_ends[0] + 1, &set, nullptr, nullptr, &limit) == 0, "a select times out"); }) ==
            1500ms,
        "a select waits");
  const int event = eventfd(0, EFD_CLOEXEC);
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{.events = EPOLLIN, .data = {.u64 = 7}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
  std::thread signaller([&] {
    std::this_thread::sleep_for(3s);
    eventfd_write(event, 1);
  });
  epoll_event found{};
  check(epoll_wait(epoll, &found, 1, 1000) == 0, "an epoll times out");
  check(epoll_wait(epoll, &found, 1, -1) == 1 && found.data.u64 == 7, "an epoll finds the event");
  signaller.join();
  std::array<int, 2> ends{};
  check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0, "a pair of sockets is made");
  std::thread peer([&] {
    std::array<char, 5> text{};
    check(recv(ends[1], text.data(), text.size(), MSG_WAITALL) == 5, "five bytes are received");
  });
  std::this_thread::sleep_for(1s);
  check(send(ends[0], "hello", 5, 0) == 5, "five bytes are sent");
  peer.join();
}

void entropy() {
  std::array<unsigned char, 16> bytes{};
  check(getrandom(bytes.data(), bytes.size(), 0) == 16, "16 bytes are random");
  const int file = open("/dev/urandom", O_RDONLY);
  std::array<unsigned char, 16> others{};
  check(read(file, others.data(), others.size()) == 16 && bytes != others, "16 bytes are read");
  close(file);
  FILE* device = std::fopen("/dev/urandom", "r");
  check(std::fread(bytes.data(), 1, bytes.size(), device) == 16 && bytes != others, "16 bytes are read by a FILE");
  std::fclose(device);
  for (const unsigned char each : bytes) std::printf("%02x", each);
  std::printf("\n");
}

volatile std::sig_atomic_t handled = 0;
volatile std::sig_atomic_t handled_on = 0;

void on_signal(int /*signal*/) {
  handled = handled + 1;
  handled_on = gettid();
}

void signals() {
  struct sigaction action{};
  action.sa_handler = &on_signal;
  sigaction(SIGUSR1, &action, nullptr);
  std::raise(SIGUSR1);
  check(handled == 1 && handled_on == 100, "raise runs the handler");
  std::atomic<bool> is_interrupted = false;
  std::thread sleeper([&] {
    timespec length{100, 0};
    timespec rest{};
    is_interrupted = nanosleep(&length, &rest) == -1 && errno == EINTR && rest.tv_sec >= 89;
  });
  std::this_thread::sleep_for(10s);
  pthread_kill(sleeper.native_handle(), SIGUSR1);
  sleeper.join();
  check(is_interrupted && handled == 2 && handled_on != 100, "a signal interrupts a sleep");
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  kill(getpid(), SIGUSR1);
  check(handled == 2, "a blocked signal waits");
  const timespec none{};
  check(sigtimedwait(&set, nullptr, &none) == SIGUSR1, "sigtimedwait takes it");
  const timespec limit{4, 0};
  check(elapsed([&] {
          check(sigtimedwait(&set, nullptr, &limit) == -1 && errno == EAGAIN, "sigtimedwait times out");
        }) == 4000ms,
        "sigtimedwait waits");
  kill(getpid(), SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  check(handled == 3, "an unblocked signal is handled");
  sigaction(SIGALRM, &action, nullptr);
  alarm(20);
  check(elapsed([] { pause(); }) == 20'000ms && handled == 4, "the alarm rings after 20 s");
  const itimerval often{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &often, nullptr);
  while (handled < 7) pause();
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
}

const std::map<std::string_view, void (*)()> parts = {
    {"mutexes", &mutexes},   {"conditions", &conditions},   {"semaphores", &semaphores},
    {"barriers", &barriers}, {"threads", &threads},         {"clocks", &clocks},
    {"entropy", &entropy},   {"descriptors", &descriptors}, {"signals", &signals},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& [name, part] : parts)
    if (argc < 2 || name == argv[1]) part();
  return failures == 0 ? 0 : 1;
}
