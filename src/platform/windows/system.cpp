// src/platform/windows/system.cpp: implements the calls of system.hpp for Windows.
#include "../system.hpp"
#include "calls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <cxxabi.h>
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>

namespace braid::detail {
namespace {

/// The monotonic clock that std::chrono::steady_clock uses.
auto monotonic_now() noexcept -> std::chrono::nanoseconds {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// Converts a Windows FILETIME to its number of 100-nanosecond intervals.
auto intervals(const FILETIME& time) noexcept -> std::int64_t {
  return static_cast<std::int64_t>(std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime);
}

/// Returns when the machine started, in 100-nanosecond intervals. The value is computed once, so that later changes of
/// the wall clock do not change it.
auto boot_intervals() noexcept -> std::int64_t {
  static const std::int64_t boot = [] {
    FILETIME now{};
    ::GetSystemTimePreciseAsFileTime(&now);
    return intervals(now) - static_cast<std::int64_t>(::GetTickCount64()) * 10'000;
  }();
  return boot;
}

/// Registers an empty destructor of a thread-local object before anything else is registered. When a thread ends,
/// winpthreads calls two functions of the C++ library, in the order in which they were registered first: a function
/// that calls destructors, and a function that frees the memory of thread-local variables. Without the empty
/// destructor, the memory would usually be freed first, and a destructor that uses a thread-local variable would see a
/// newly created variable.
[[gnu::constructor(101)]] void free_thread_locals_last() noexcept {
  abi::__cxa_thread_atexit([](void*) {}, nullptr, nullptr);
}

}  // namespace

auto since_boot(const FILETIME& time) noexcept -> std::chrono::nanoseconds {
  return std::chrono::nanoseconds((intervals(time) - boot_intervals()) * 100);
}

auto to_error_code(int number) noexcept -> std::error_code { return {number, std::generic_category()}; }

auto call_at_fork(void (*)(), void (*)(), void (*)()) noexcept -> int { return 0; }

auto own_thread_id() noexcept -> ::pid_t { return static_cast<::pid_t>(::GetCurrentThreadId()); }

auto own_stack() noexcept -> stack_range {
  ULONG_PTR begin = 0;
  ULONG_PTR end = 0;
  ::GetCurrentThreadStackLimits(&begin, &end);
  return {begin, end};
}

void request_exact_wakeups() noexcept {}

auto trusted_environment(const char* name) noexcept -> const char* { return std::getenv(name); }

auto job_cpu_quota() noexcept -> std::optional<double> {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION found{};
  if (::QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &found, sizeof(found), nullptr) == 0)
    return std::nullopt;
  constexpr DWORD hard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if ((found.ControlFlags & hard) != hard || found.CpuRate == 0) return std::nullopt;
  constexpr double whole = 10'000;  // the rate is in hundredths of a percent of all processors
  return found.CpuRate / whole * ::GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

/// The result is derived from the clock that also measures the start times of threads, so that the two can be compared.
auto time_since_boot() noexcept -> std::chrono::nanoseconds {
  FILETIME now{};
  ::GetSystemTimePreciseAsFileTime(&now);
  return since_boot(now);
}

auto start_without_signals(::pthread_t& thread, void* (*entry)(void*), void* argument, int /*wanted*/) noexcept -> int {
  return ::pthread_create(&thread, nullptr, entry, argument);
}

void set_user_signal(void (* /*handler*/)(int)) noexcept {}
void restore_user_signal() noexcept {}

auto create_file(const char* path, file_access access, bool empties) noexcept -> int {
  const int flags = _O_CREAT | _O_BINARY | _O_NOINHERIT | (empties ? _O_TRUNC : 0);
  return ::_open(path, flags | (access == file_access::write ? _O_WRONLY : _O_RDWR), _S_IREAD | _S_IWRITE);
}

auto write_whole(int file, std::string_view bytes) noexcept -> bool {
  constexpr std::size_t max_part = std::size_t{1} << 30U;
  while (!bytes.empty()) {
    const int written = ::_write(file, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), max_part)));
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Locks a byte far behind the end of the file, because Windows also refuses reads and writes of a locked range.
auto lock_file(int file) noexcept -> bool {
  auto* const handle = reinterpret_cast<HANDLE>(::_get_osfhandle(file));
  OVERLAPPED range{};
  range.OffsetHigh = 0x7fff'ffff;
  return ::LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &range) != 0 ||
         ::GetLastError() != ERROR_LOCK_VIOLATION;
}

auto map_file(int file, std::size_t offset, std::size_t bytes) noexcept -> void* {
  const std::uint64_t end = offset + bytes;
  auto* const handle = reinterpret_cast<HANDLE>(::_get_osfhandle(file));
  const owned_handle mapping(::CreateFileMappingW(handle, nullptr, PAGE_READWRITE, static_cast<DWORD>(end >> 32U),
                                                  static_cast<DWORD>(end), nullptr));
  void* const memory = mapping == nullptr ? nullptr
                                          : ::MapViewOfFile(mapping.get(), FILE_MAP_WRITE,
                                                            static_cast<DWORD>(std::uint64_t{offset} >> 32U),
                                                            static_cast<DWORD>(offset), bytes);
  if (memory == nullptr) errno = ENOSPC;
  return memory;
}

void unmap_file(void* memory, std::size_t /*bytes*/) noexcept { ::UnmapViewOfFile(memory); }

auto wait_for_word(const void* address, std::uint32_t expected, std::optional<std::chrono::nanoseconds> until) noexcept
    -> bool {
  DWORD wait_ms = INFINITE;
  if (until) {
    // Windows waits for whole milliseconds, so the timeout is rounded up. The caller checks its deadline itself.
    constexpr std::chrono::nanoseconds zero(0);
    const auto rest = std::max(std::max(*until, zero) - monotonic_now(), zero);  // the smallest time must not overflow
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(rest).count();
    wait_ms = static_cast<DWORD>(std::min<std::int64_t>(ms, INFINITE - 1));
  }
  auto* const word = const_cast<void*>(address);  // the function does not change it
  if (::WaitOnAddress(word, &expected, sizeof(expected), wait_ms) != 0) return true;
  return !until || monotonic_now() < *until;
}

void wake_word(const void* address, int count) noexcept {
  auto* const word = const_cast<void*>(address);
  if (count == 1)
    ::WakeByAddressSingle(word);
  else
    ::WakeByAddressAll(word);
}

void wait_for_latch(const std::latch& latch) noexcept {
  while (!latch.try_wait()) ::Sleep(1);
}

auto register_process_barrier() noexcept -> bool { return true; }

auto run_process_barrier() noexcept -> bool {
  ::FlushProcessWriteBuffers();
  return true;
}

auto page_bytes() noexcept -> std::size_t {
  SYSTEM_INFO facts;
  ::GetSystemInfo(&facts);
  return facts.dwPageSize;
}

auto map_memory(std::size_t bytes) noexcept -> void* {
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

auto map_stack(std::size_t guard, std::size_t bytes) noexcept -> std::byte* {
  auto* const all = static_cast<std::byte*>(::VirtualAlloc(nullptr, guard + bytes, MEM_RESERVE, PAGE_NOACCESS));
  if (all == nullptr) return nullptr;
  if (::VirtualAlloc(all + guard, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr) return all + guard;
  ::VirtualFree(all, 0, MEM_RELEASE);
  return nullptr;
}

void unmap_memory(void* memory, std::size_t /*bytes*/) noexcept { ::VirtualFree(memory, 0, MEM_RELEASE); }

void unmap_stack(std::byte* lowest, std::size_t guard, std::size_t /*bytes*/) noexcept {
  ::VirtualFree(lowest - guard, 0, MEM_RELEASE);
}

}  // namespace braid::detail
