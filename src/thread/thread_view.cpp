// src/thread/thread_view.cpp: finds the kernel's id of a thread from the handles of the C and C++ libraries.
#include <braid/thread/thread.hpp>

#include <optional>
#include <system_error>

#include <ctime>

namespace braid {
namespace {

/// Returns the kernel's id of a thread, which is read from the id of its CPU-time clock. The clock id contains the
/// complement of the thread id, shifted left by three bits. Returns nothing for a thread that has ended, because the C
/// library has set its id to 0.
auto kernel_id(::pthread_t thread) -> std::optional<::pid_t> {
  constexpr int kind_bits = 3;
  ::clockid_t clock = 0;
  if (::pthread_getcpuclockid(thread, &clock) != 0) return std::nullopt;
  const ::pid_t id = ~(clock >> kind_bits);
  if (id <= 0) return std::nullopt;
  return id;
}

template <typename Thread>
auto info_of_standard(const Thread& thread) -> result<thread_info> {
  if (!thread.joinable()) return fail(std::make_error_code(std::errc::no_such_process));
  return info_of(const_cast<Thread&>(thread).native_handle());  // `native_handle` is not const, but changes nothing
}

auto would_wait_for_itself() { return fail(errc::would_deadlock); }

template <typename Thread>
auto join_standard(Thread& thread) -> result<void> {
  if (!thread.joinable()) return fail(errc::invalid_argument);
  if (thread.get_id() == std::this_thread::get_id()) return would_wait_for_itself();
  thread.join();
  return {};
}

}  // namespace

auto info_of(const std::thread& thread) -> result<thread_info> { return info_of_standard(thread); }

auto info_of(const std::jthread& thread) -> result<thread_info> { return info_of_standard(thread); }

auto info_of(::pthread_t thread) -> result<thread_info> {
  if (const auto id = kernel_id(thread)) {
    auto found = thread_info::of(*id);
    // The thread still has its id. So it had the id while the start time was read, and the result does not belong to a
    // later thread.
    if (!found || kernel_id(thread) == id) return found;
  }
  return fail(std::make_error_code(std::errc::no_such_process));
}

auto join(std::thread& thread) -> result<void> { return join_standard(thread); }

auto join(std::jthread& thread) -> result<void> { return join_standard(thread); }

auto join(::pthread_t thread) -> result<void> {
  if (::pthread_equal(thread, ::pthread_self()) != 0) return would_wait_for_itself();  // not every C library checks
  if (const int status = ::pthread_join(thread, nullptr); status != 0) return fail({status, std::system_category()});
  return {};
}

}  // namespace braid
