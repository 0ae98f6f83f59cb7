// src/platform/posix/system.cpp: implements those calls of system.hpp that are the same on all POSIX systems.
#include "../system.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

namespace braid::detail {

auto to_error_code(int number) noexcept -> std::error_code { return {number, std::system_category()}; }

auto call_at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept -> int {
  return ::pthread_atfork(before, in_parent, in_child);
}

void copy_own_name(char* text, std::size_t size) noexcept { ::pthread_getname_np(::pthread_self(), text, size); }

/// The new thread inherits the signal mask of its creator. So the creator blocks the signals while it creates the
/// thread.
auto start_without_signals(::pthread_t& thread, void* (*entry)(void*), void* argument, int wanted) noexcept -> int {
  ::sigset_t all;
  ::sigset_t before;
  sigfillset(&all);  // a macro on macOS
  if (wanted != 0) sigdelset(&all, wanted);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = ::pthread_create(&thread, nullptr, entry, argument);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error;
}

auto job_cpu_quota() noexcept -> std::optional<double> { return std::nullopt; }

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

void unmap_file(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

void wait_for_latch(const std::latch& latch) noexcept { latch.wait(); }

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
