// tests/sim/programs/ends.cpp: ends in the way that its argument names.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
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

/// Spins in the first instruction of a function.
[[gnu::naked, gnu::noinline]] void spin_at_once() {
#if defined(__x86_64__)
  asm volatile("1: jmp 1b");
#else
  asm volatile("1: b 1b");
#endif
}

void spin_without_a_call(void (*spin)()) {
  std::thread([spin] { spin(); }).join();
}

void spin_in_a_loop() {
  static volatile bool is_over = false;
  while (!is_over) {}
}

void abort_in_a_thread() {
  std::thread([] { std::abort(); }).join();
}

void fork_once() {
  if (fork() == 0) _exit(0);
}

/// Makes each run differ: reads a file of the system that has another text each time.
void differ() {
  std::FILE* file = std::fopen("/proc/sys/kernel/random/uuid", "r");
  const int digit = file == nullptr ? 0 : std::fgetc(file);
  for (int at = 0; at < digit % 16; ++at) sched_yield();
}

/// Prints what the processor's counter of cycles shows, and a value of a device that may ask the processor.
void ask_processor() {
  unsigned long first = 0;
  unsigned long second = 0;
#if defined(__x86_64__)
  unsigned high = 0;
  unsigned low = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  first = std::uint64_t{high} << 32U | low;
  asm volatile("rdtscp" : "=a"(low), "=d"(high) : : "rcx");
  second = std::uint64_t{high} << 32U | low;
#else
  second = 1;
#endif
  std::printf("%d %lu %u\n", first < second ? 1 : 0, second, std::random_device()());
}

/// Sleeps until another thread has ended. Nothing is called after that.
void sleep_beside_a_thread() {
  std::thread([] {}).detach();
  sleep(7);
}

void refuse_io_uring() {
  if (syscall(SYS_io_uring_setup, 8, nullptr) == -1 && errno == ENOSYS) std::puts("no io_uring");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "deadlock") fail_to_lock();
  if (how == "spin") spin_without_a_call(&spin_in_a_loop);
  if (how == "spin_at_once") spin_without_a_call(&spin_at_once);
  if (how == "abort") abort_in_a_thread();
  if (how == "throw") throw 1;
  if (how == "fork") fork_once();
  if (how == "differ") differ();
  if (how == "sleep") sleep(5);
  if (how == "sleep_beside") sleep_beside_a_thread();
  if (how == "processor") ask_processor();
  if (how == "io_uring") refuse_io_uring();
  return how == "status" ? 3 : 0;
}
