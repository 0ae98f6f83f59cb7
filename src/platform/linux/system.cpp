// src/platform/linux/system.cpp: implements the calls of system.hpp for Linux.
#include "../system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::detail {

auto own_thread_id() noexcept -> ::pid_t { return static_cast<::pid_t>(::syscall(SYS_gettid)); }

auto own_stack() noexcept -> stack_range {
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return {};
  void* lowest = nullptr;
  std::size_t size = 0;
  const bool known = ::pthread_attr_getstack(&attributes, &lowest, &size) == 0;
  ::pthread_attr_destroy(&attributes);
  if (!known) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(lowest);
  return {begin, begin + size};
}

void request_exact_wakeups() noexcept { static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL)); }

auto trusted_environment(const char* name) noexcept -> const char* { return ::secure_getenv(name); }

auto time_since_boot() noexcept -> std::chrono::nanoseconds {
  ::timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

auto map_file(int file, std::size_t offset, std::size_t bytes) noexcept -> void* {
  const int error = ::posix_fallocate(file, static_cast<::off_t>(offset), static_cast<::off_t>(bytes));
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<::off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

auto wait_for_word(const void* address, std::uint32_t expected, std::optional<std::chrono::nanoseconds> until) noexcept
    -> bool {
  timespec limit{};
  if (until) {
    // The kernel refuses a negative time. The caller would mistake that error for a wake-up, and retry for ever.
    const auto ns = std::max<std::chrono::nanoseconds::rep>(until->count(), 0);
    limit.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    limit.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  }
  // FUTEX_WAIT_BITSET is used because its timeout is an absolute time of the monotonic clock.
  const long status = ::syscall(SYS_futex, address, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                until ? &limit : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  return status != -1 || errno != ETIMEDOUT;
}

void wake_word(const void* address, int count) noexcept {
  ::syscall(SYS_futex, address, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
}

auto register_process_barrier() noexcept -> bool {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

auto run_process_barrier() noexcept -> bool {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace braid::detail
