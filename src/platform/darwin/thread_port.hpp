// src/platform/darwin/thread_port.hpp: finds the threads of this process by their ids.
#pragma once

#include <braid/base/error.hpp>

#include <cstdint>
#include <system_error>
#include <utility>

#include <mach/mach.h>
#include <sys/types.h>

namespace braid::detail {

/// The right to use the port of a thread. The destructor returns the right to the system. While this object exists, the
/// system does not reuse the port for another thread, even if the thread has ended.
class thread_port {
 public:
  explicit thread_port(::thread_t port) noexcept : port_(port) {}
  thread_port(thread_port&& other) noexcept : port_(std::exchange(other.port_, MACH_PORT_NULL)) {}
  auto operator=(thread_port&&) -> thread_port& = delete;
  ~thread_port() {
    if (port_ != MACH_PORT_NULL) ::mach_port_deallocate(::mach_task_self(), port_);
  }

  [[nodiscard]] auto port() const noexcept -> ::thread_t { return port_; }

  /// Returns the id that own_thread_id() returns on that thread, or 0 if the thread has ended.
  [[nodiscard]] auto id() const noexcept -> ::pid_t {
    ::thread_identifier_info_data_t facts{};
    ::mach_msg_type_number_t size = THREAD_IDENTIFIER_INFO_COUNT;
    if (::thread_info(port_, THREAD_IDENTIFIER_INFO, reinterpret_cast<::thread_info_t>(&facts), &size) != KERN_SUCCESS)
      return 0;
    return static_cast<::pid_t>(facts.thread_id);
  }

 private:
  ::thread_t port_;
};

/// Calls `each(thread_port)` for the threads of this process, until a call returns true. Errors: not_enough_memory.
template <typename Each>
auto for_each_thread(Each each) -> result<void> {
  ::thread_act_array_t ports = nullptr;
  ::mach_msg_type_number_t count = 0;
  if (::task_threads(::mach_task_self(), &ports, &count) != KERN_SUCCESS)
    return fail(std::make_error_code(std::errc::not_enough_memory));
  bool is_done = false;
  for (::mach_msg_type_number_t at = 0; at < count; ++at) {
    thread_port thread(ports[at]);  // also returns the rights to threads that are not asked for
    is_done = is_done || each(std::move(thread));
  }
  ::vm_deallocate(::mach_task_self(), reinterpret_cast<::vm_address_t>(ports), count * sizeof(*ports));
  return {};
}

/// Finds a thread of this process by its id; the id 0 means the calling thread. Errors: no_such_process;
/// not_enough_memory.
inline auto find_thread_port(::pid_t id) -> result<thread_port> {
  if (id == 0) return thread_port(::mach_thread_self());
  result<thread_port> found = fail(std::make_error_code(std::errc::no_such_process));
  const auto look = [&found, id](thread_port thread) {
    if (thread.id() != id) return false;
    found.emplace(std::move(thread));
    return true;
  };
  if (const auto looked = for_each_thread(look); !looked) return fail(looked.error());
  return found;
}

}  // namespace braid::detail
