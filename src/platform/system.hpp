// src/platform/system.hpp: declares what the library needs from the operating system and C++ does not provide. Each
// system has a folder with an implementation.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <optional>
#include <string_view>
#include <system_error>

#include <pthread.h>
#include <sys/types.h>

namespace braid::detail {

/// The address range of a stack.
struct stack_range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // equal to `begin` if the range is unknown
};

// --- errors ---

/// Converts an error number of `errno` to an error code. The category differs between systems, because only on POSIX do
/// the numbers of std::system_category() equal those of `errno`.
auto to_error_code(int number) noexcept -> std::error_code;

// --- forks ---

/// Registers functions that are called at each fork of the process: before the fork, after it in the parent, and after
/// it in the child. Null pointers are skipped. Returns 0, or an error number. A system without forks never calls these
/// functions.
auto call_at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept -> int;

// --- threads ---

/// Returns the system's id of the calling thread.
auto own_thread_id() noexcept -> ::pid_t;

/// Returns the range of the calling thread's stack.
auto own_stack() noexcept -> stack_range;

/// Copies the name of the calling thread to `text`, with a final zero byte. Truncates the name if it does not fit into
/// `size` bytes.
void copy_own_name(char* text, std::size_t size) noexcept;

/// Starts a thread that receives no signals of the process, except the signal `wanted` if it is not 0. Returns 0, or an
/// error number.
auto start_without_signals(::pthread_t& thread, void* (*entry)(void*), void* argument, int wanted = 0) noexcept -> int;

/// Asks the system to wake the calling thread on time. By default, Linux may wake a thread 50 µs late, in order to
/// combine wake-ups.
void request_exact_wakeups() noexcept;

// --- the process ---

/// Returns an environment variable, or null if it is not set, or if the process has more rights than the process that
/// started it (a setuid program).
auto trusted_environment(const char* name) noexcept -> const char*;

/// Returns the CPU time that a job object of Windows grants the process, in units of CPUs, or nothing if the time is
/// not limited. Only Windows has job objects; Linux has cgroups (cgroup.hpp).
auto job_cpu_quota() noexcept -> std::optional<double>;

/// Returns the time since the machine started, including the time when it was suspended.
auto time_since_boot() noexcept -> std::chrono::nanoseconds;

/// Installs a handler for SIGUSR2, the signal with which users request a trace file. `restore_user_signal` restores the
/// previous handler. Does nothing on a system without such a signal.
void set_user_signal(void (*handler)(int)) noexcept;
void restore_user_signal() noexcept;

// --- files ---

enum class file_access : std::uint8_t { write, read_and_write };

/// Opens a file, and creates it if it does not exist. Child processes do not inherit the descriptor. A file that is
/// created with `read_and_write` can be read only by its owner. If `empties`, removes the previous content. Returns the
/// descriptor, or -1 with `errno`.
auto create_file(const char* path, file_access access, bool empties) noexcept -> int;

/// Writes all bytes to a file. Returns false if the file accepts only a part of the bytes.
[[nodiscard]] auto write_whole(int file, std::string_view bytes) noexcept -> bool;

/// Locks the file until it is closed. Returns false if another process has locked it. Returns true if the system does
/// not support locks.
auto lock_file(int file) noexcept -> bool;

/// Maps a part of a file, and returns the address, or null with `errno`. Extends the file if it is too short. Disk
/// space is allocated first, because a store to a page without space on a full disk would end the program.
auto map_file(int file, std::size_t offset, std::size_t bytes) noexcept -> void*;

/// Unmaps memory that `map_file` has returned.
void unmap_file(void* memory, std::size_t bytes) noexcept;

// --- waiting for a word ---

/// Blocks while the 32-bit word at `address` has the value `expected`, until a wake-up or until the monotonic clock
/// reaches `until`. May return earlier without a reason. Returns false if `until` has passed.
auto wait_for_word(const void* address, std::uint32_t expected, std::optional<std::chrono::nanoseconds> until) noexcept
    -> bool;

/// Wakes at most `count` threads that wait for the word.
void wake_word(const void* address, int count) noexcept;

/// Waits until the latch has counted down. On Windows, polls the latch, because there std::latch::wait of libstdc++ 12
/// can miss the wake-up and wait for ever.
void wait_for_latch(const std::latch& latch) noexcept;

// --- barriers in all threads ---

/// Prepares `run_process_barrier`. Returns false if the system has no such barrier or refuses it. Must be called again
/// in the child of a fork.
auto register_process_barrier() noexcept -> bool;

/// Executes a full fence in each running thread of the process. Returns false if the system refuses it.
auto run_process_barrier() noexcept -> bool;

// --- memory ---

auto page_bytes() noexcept -> std::size_t;

/// Returns zeroed memory whose pages the system provides at their first use, or null.
auto map_memory(std::size_t bytes) noexcept -> void*;

/// Returns memory for a stack, above `guard` bytes that cannot be accessed, or null. `guard` and `bytes` are multiples
/// of the page size. The result points to the lowest usable byte.
auto map_stack(std::size_t guard, std::size_t bytes) noexcept -> std::byte*;

/// Frees memory that `map_memory` has returned.
void unmap_memory(void* memory, std::size_t bytes) noexcept;

/// Frees memory that `map_stack` has returned.
void unmap_stack(std::byte* lowest, std::size_t guard, std::size_t bytes) noexcept;

}  // namespace braid::detail
