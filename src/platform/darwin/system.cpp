// src/platform/darwin/system.cpp: implements, for macOS, the calls of system.hpp that posix/system.cpp does not
// implement.
#include "../system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <mach/mach.h>
#include <mach/task_policy.h>
#include <mach/thread_policy.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// macOS 14.4 and later has these functions. Older headers do not declare them.
extern "C" {
int os_sync_wait_on_address(void* address, std::uint64_t value, std::size_t size, std::uint32_t flags);
int os_sync_wait_on_address_with_timeout(void* address, std::uint64_t value, std::size_t size, std::uint32_t flags,
                                         std::uint32_t clock, std::uint64_t timeout_ns);
int os_sync_wake_by_address_any(void* address, std::size_t size, std::uint32_t flags);
int os_sync_wake_by_address_all(void* address, std::size_t size, std::uint32_t flags);
}

namespace braid::detail {
namespace {

constexpr std::uint32_t mach_absolute_clock = 32;  // OS_CLOCK_MACH_ABSOLUTE_TIME

}  // namespace

/// The system's id has 64 bits, and is not used again until the machine restarts. The lower half of the id is unique
/// unless the machine starts more than 4 billion threads.
auto own_thread_id() noexcept -> ::pid_t {
  std::uint64_t id = 0;
  ::pthread_threadid_np(nullptr, &id);
  return static_cast<::pid_t>(id);
}

auto own_stack() noexcept -> stack_range {
  const ::pthread_t self = ::pthread_self();
  const auto end = reinterpret_cast<std::uintptr_t>(::pthread_get_stackaddr_np(self));
  return {end - ::pthread_get_stacksize_np(self), end};
}

/// By default, macOS may wake a thread late, in order to combine wake-ups. Threads in the first latency tier are woken
/// without this delay.
void request_exact_wakeups() noexcept {
  ::thread_latency_qos_policy_data_t wanted{LATENCY_QOS_TIER_0};
  const ::mach_port_t self = ::mach_thread_self();
  ::thread_policy_set(self, THREAD_LATENCY_QOS_POLICY, reinterpret_cast<::thread_policy_t>(&wanted),
                      THREAD_LATENCY_QOS_POLICY_COUNT);
  ::mach_port_deallocate(::mach_task_self(), self);
}

auto trusted_environment(const char* name) noexcept -> const char* {
  return ::issetugid() != 0 ? nullptr : std::getenv(name);
}

auto time_since_boot() noexcept -> std::chrono::nanoseconds {
  return std::chrono::nanoseconds(::clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW));
}

/// macOS has no posix_fallocate. Space is allocated behind the end of the file.
auto map_file(int file, std::size_t offset, std::size_t bytes) noexcept -> void* {
  struct ::stat facts{};
  if (::fstat(file, &facts) != 0) return nullptr;
  const auto end = static_cast<::off_t>(offset + bytes);
  if (facts.st_size < end) {
    ::fstore_t wanted{};
    wanted.fst_flags = F_ALLOCATEALL;
    wanted.fst_posmode = F_PEOFPOSMODE;
    wanted.fst_length = end - facts.st_size;
    if (::fcntl(file, F_PREALLOCATE, &wanted) == -1 || ::ftruncate(file, end) != 0) return nullptr;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<::off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

auto wait_for_word(const void* address, std::uint32_t expected, std::optional<std::chrono::nanoseconds> until) noexcept
    -> bool {
  auto* const word = const_cast<void*>(address);  // the function does not change it
  if (!until) {
    static_cast<void>(::os_sync_wait_on_address(word, expected, sizeof(expected), 0));
    return true;
  }
  constexpr std::chrono::nanoseconds zero(0);
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  const auto rest = std::max(*until, zero) - now;  // the smallest time must not overflow
  if (rest <= zero) return false;                  // the function refuses a timeout of 0
  const int status = ::os_sync_wait_on_address_with_timeout(word, expected, sizeof(expected), 0, mach_absolute_clock,
                                                            static_cast<std::uint64_t>(rest.count()));
  return status != -1 || errno != ETIMEDOUT;
}

void wake_word(const void* address, int count) noexcept {
  auto* const word = const_cast<void*>(address);
  if (count == 1)
    static_cast<void>(::os_sync_wake_by_address_any(word, sizeof(std::uint32_t), 0));
  else
    static_cast<void>(::os_sync_wake_by_address_all(word, sizeof(std::uint32_t), 0));
}

/// macOS has no call that runs a fence in all threads, so the library executes a fence at each fork (of fork and join).
auto register_process_barrier() noexcept -> bool { return false; }

auto run_process_barrier() noexcept -> bool { return false; }

}  // namespace braid::detail
