// src/platform/linux/system.cpp: implements the calls of system.hpp for Linux.
#include "../system.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::detail {

auto to_error_code(int number) noexcept -> std::error_code { return {number, std::system_category()}; }

auto call_at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept -> int {
  return ::pthread_atfork(before, in_parent, in_child);
}

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

void copy_own_name(char* text, std::size_t size) noexcept { ::pthread_getname_np(::pthread_self(), text, size); }

/// The new thread inherits the signal mask of its creator, which blocks the signals during the call.
auto start_without_signals(::pthread_t& thread, void* (*entry)(void*), void* argument, int wanted) noexcept -> int {
  ::sigset_t all;
  ::sigset_t before;
  ::sigfillset(&all);
  if (wanted != 0) ::sigdelset(&all, wanted);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(&thread, nullptr, entry, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

void request_exact_wakeups() noexcept { static_cast<void>(::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL)); }

auto trusted_environment(const char* name) noexcept -> const char* { return ::secure_getenv(name); }

auto job_cpu_quota() noexcept -> std::optional<double> { return std::nullopt; }

auto time_since_boot() noexcept -> std::chrono::nanoseconds {
  ::timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

namespace {

struct sigaction before_set{};  // the action of the signal before `set_user_signal`

}  // namespace

void set_user_signal(void (*handler)(int)) noexcept {
  struct sigaction action{};
  action.sa_flags = SA_RESTART;
  action.sa_handler = handler;
  ::sigaction(SIGUSR2, &action, &before_set);
}

void restore_user_signal() noexcept { ::sigaction(SIGUSR2, &before_set, nullptr); }

auto create_file(const char* path, file_access access, bool empties) noexcept -> int {
  const int flags = O_CREAT | O_CLOEXEC | (empties ? O_TRUNC : 0);
  if (access == file_access::write) return ::open(path, flags | O_WRONLY, 0644);
  return ::open(path, flags | O_RDWR, 0600);
}

auto write_whole(int file, std::string_view bytes) noexcept -> bool {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

auto lock_file(int file) noexcept -> bool { return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

auto map_file(int file, std::size_t offset, std::size_t bytes) noexcept -> void* {
  const int error = ::posix_fallocate(file, static_cast<::off_t>(offset), static_cast<::off_t>(bytes));
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<::off_t>(offset));
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_file(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

auto wait_for_word(const void* address, std::uint32_t expected, std::optional<std::chrono::nanoseconds> until) noexcept
    -> bool {
  timespec limit{};
  if (until) {
    // The kernel refuses a negative time, and the caller would take the error for a wake-up and retry for ever.
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

void wait_for_latch(const std::latch& latch) noexcept { latch.wait(); }

auto register_process_barrier() noexcept -> bool {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

auto run_process_barrier() noexcept -> bool {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

auto page_bytes() noexcept -> std::size_t { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

auto map_memory(std::size_t bytes) noexcept -> void* {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

auto map_stack(std::size_t guard, std::size_t bytes) noexcept -> std::byte* {
  void* const all = ::mmap(nullptr, guard + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* const lowest = static_cast<std::byte*>(all) + guard;
  if (::mprotect(lowest, bytes, PROT_READ | PROT_WRITE) == 0) return lowest;
  ::munmap(all, guard + bytes);
  return nullptr;
}

void unmap_memory(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

void unmap_stack(std::byte* lowest, std::size_t guard, std::size_t bytes) noexcept {
  ::munmap(lowest - guard, guard + bytes);
}

}  // namespace braid::detail
