// tests/sim/programs/begins.cpp: an allocator and a library that measure the machine when they begin. The first
// argument chooses one.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int cpus = 0;
timespec first_call{};

auto read_clock() -> std::int64_t {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

/// Reads the number of CPUs and the clock with its first call. It locks a mutex before, as jemalloc does: this may be
/// the first call of the process that the simulator replaces.
void begin_allocator() {
  ::pthread_mutex_lock(&lock);
  if (cpus == 0) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    cpus = ::sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : -1;
    ::clock_gettime(CLOCK_MONOTONIC, &first_call);
  }
  ::pthread_mutex_unlock(&lock);
}

/// Loads the library of Highway. Prints how often this has read the cycle counter. Virtual time has three cycles per
/// nanosecond, and each read adds one.
auto load_highway() -> int {
#if defined(__x86_64__)
  const std::int64_t begin = read_clock();
  const std::uint64_t first = __rdtsc();
  if (::dlopen("libhwy.so.1", RTLD_NOW) == nullptr) return 2;
  const std::uint64_t last = __rdtsc();
  const std::int64_t passed = read_clock() - begin - 1000;  // the second of these calls takes 1 µs
  std::printf("%lld reads\n", static_cast<long long>(last - first) - 3 * static_cast<long long>(passed) - 1);
#else
  std::printf("0 reads\n");
#endif
  return 0;
}

}  // namespace

extern "C" {
auto __libc_malloc(std::size_t size) -> void*;
auto __libc_calloc(std::size_t count, std::size_t size) -> void*;

__attribute__((visibility("default"))) auto malloc(std::size_t size) -> void* {
  begin_allocator();
  return __libc_malloc(size);
}
__attribute__((visibility("default"))) auto calloc(std::size_t count, std::size_t size) -> void* {
  begin_allocator();
  return __libc_calloc(count, size);
}
}

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "highway") return load_highway();
  std::printf("%d CPUs at %lld s\n", cpus, static_cast<long long>(first_call.tv_sec));
  return 0;
}
