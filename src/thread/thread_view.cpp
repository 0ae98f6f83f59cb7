// src/thread/thread_view.cpp: finds threads by the handles of the C and C++ libraries, and joins them.
#include <braid/thread/thread.hpp>

#include "../platform/system.hpp"
#include "thread_calls.hpp"

#include <system_error>

namespace braid {
namespace {

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
  if (const auto id = detail::find_thread_id(thread)) {
    auto found = thread_info::of(*id);
    // If the thread still has its id, it also had this id while the start time was read. So the result does not belong
    // to a later thread with the same id.
    if (!found || detail::find_thread_id(thread) == id) return found;
  }
  return fail(std::make_error_code(std::errc::no_such_process));
}

auto join(std::thread& thread) -> result<void> { return join_standard(thread); }

auto join(std::jthread& thread) -> result<void> { return join_standard(thread); }

auto join(::pthread_t thread) -> result<void> {
  if (::pthread_equal(thread, ::pthread_self()) != 0) return would_wait_for_itself();  // not every C library checks
  if (const int status = ::pthread_join(thread, nullptr); status != 0) return fail(detail::to_error_code(status));
  return {};
}

}  // namespace braid
