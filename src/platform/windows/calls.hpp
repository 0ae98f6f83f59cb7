// src/platform/windows/calls.hpp: includes the functions of Windows, and helps to use handles and errors.
#pragma once

#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>

#include <chrono>
#include <memory>
#include <system_error>

#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace braid::detail {

struct handle_closer {
  void operator()(void* handle) const noexcept { ::CloseHandle(handle); }
};

/// An open handle, or null if opening has failed.
using owned_handle = std::unique_ptr<void, handle_closer>;

/// Returns the POSIX error that other systems would report for the error of the last function of Windows that failed.
inline auto last_windows_error() noexcept -> std::error_code {
  switch (const DWORD code = ::GetLastError(); code) {
    case ERROR_INVALID_PARAMETER: return errc::invalid_argument;
    case ERROR_ACCESS_DENIED: return std::make_error_code(std::errc::permission_denied);
    case ERROR_NOT_ENOUGH_MEMORY: return std::make_error_code(std::errc::not_enough_memory);
    default: return {static_cast<int>(code), std::system_category()};
  }
}

/// Opens a thread by its id. Errors: no_such_process if there is no such thread; permission_denied.
inline auto open_thread(DWORD rights, ::pid_t id) -> result<owned_handle> {
  owned_handle thread(id > 0 ? ::OpenThread(rights, FALSE, static_cast<DWORD>(id)) : nullptr);
  if (thread != nullptr) return thread;
  if (id <= 0 || ::GetLastError() == ERROR_INVALID_PARAMETER)
    return fail(std::make_error_code(std::errc::no_such_process));
  return fail(last_windows_error());
}

inline constexpr unsigned group_cpus = 64;  // each group of Windows has room for as many CPUs

/// Adds the CPUs that are set in the mask of a processor group.
inline void add_group(cpu_set& cpus, unsigned group, KAFFINITY mask) {
  for (unsigned bit = 0; bit < group_cpus; ++bit)
    if (((mask >> bit) & 1U) != 0) cpus.add(group * group_cpus + bit);
}

/// Converts a Windows FILETIME to the time since the machine started.
auto since_boot(const FILETIME& time) noexcept -> std::chrono::nanoseconds;

}  // namespace braid::detail
