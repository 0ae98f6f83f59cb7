// tests/sim/programs/ends.cpp: ends in the way that its argument names.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::mutex mutex;

void fail_to_lock() {
  mutex.lock();
  std::thread waiter([] { mutex.lock(); });
  waiter.join();
}

void spin_without_a_call() {
  static volatile bool is_over = false;
  std::thread spinner([] {
    while (!is_over) {}
  });
  spinner.join();
}

void abort_in_a_thread() {
  std::thread([] { std::abort(); }).join();
}

void fork_once() {
  if (fork() == 0) _exit(0);
}

/// Makes each run differ: reads a counter of the processor, which the simulator does not see.
void differ() {
  long word = 0;
#if defined(__x86_64__)
  asm volatile("rdtsc" : "=a"(word) : : "rdx");
#elif defined(__aarch64__)
  asm volatile("mrs %0, cntvct_el0" : "=r"(word));
#endif
  for (long at = 0; at < (word >> 4) % 64; ++at) sched_yield();
}

void refuse_io_uring() {
  if (syscall(SYS_io_uring_setup, 8, nullptr) == -1 && errno == ENOSYS) std::puts("no io_uring");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "deadlock") fail_to_lock();
  if (how == "spin") spin_without_a_call();
  if (how == "abort") abort_in_a_thread();
  if (how == "throw") throw 1;
  if (how == "fork") fork_once();
  if (how == "differ") differ();
  if (how == "io_uring") refuse_io_uring();
  return how == "status" ? 3 : 0;
}
