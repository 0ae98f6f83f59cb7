// src/platform/darwin/thread_info.cpp: finds the threads of this process. macOS never reuses the id of a thread.
#include <braid/thread/this_thread.hpp>

#include "../../thread/thread_calls.hpp"
#include "../system.hpp"
#include "thread_port.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <mach/thread_info.h>

namespace braid {
namespace {

auto no_such_thread() { return fail(std::make_error_code(std::errc::no_such_process)); }

}  // namespace

/// The start time of a thread is 0 here: macOS does not report it, and it is not needed, because macOS never reuses
/// ids.
auto thread_info::of(::pid_t id) -> result<thread_info> {
  if (id <= 0) return no_such_thread();
  if (const auto thread = detail::find_thread_port(id); !thread) return fail(thread.error());
  return thread_info(id, 0);
}

auto thread_info::is_alive() const -> bool { return of(id()) == result<thread_info>(*this); }

auto thread_info::name() const -> result<std::string> {
  if (!is_alive()) return no_such_thread();
  const auto thread = detail::find_thread_port(id());
  if (!thread) return fail(thread.error());
  ::thread_extended_info_data_t facts{};
  ::mach_msg_type_number_t size = THREAD_EXTENDED_INFO_COUNT;
  auto* const place = reinterpret_cast<::thread_info_t>(&facts);
  if (::thread_info(thread->port(), THREAD_EXTENDED_INFO, place, &size) != KERN_SUCCESS) return no_such_thread();
  return std::string(facts.pth_name, ::strnlen(facts.pth_name, sizeof(facts.pth_name)));
}

/// Sets the name of the calling thread. macOS cannot set the names of other threads.
auto thread_info::set_name(std::string_view name) const -> result<void> {
  if (const auto fits = detail::check_name(name); !fits) return fits;
  if (!is_alive()) return no_such_thread();
  if (id() != detail::own_thread_id()) return fail(std::make_error_code(std::errc::operation_not_supported));
  return detail::write_own_name(name);
}

auto thread_info::affinity() const -> result<cpu_set> {
  if (!is_alive()) return no_such_thread();
  return detail::read_affinity(id());
}

auto thread_info::set_affinity(const cpu_set& cpus) const -> result<void> {
  if (!is_alive()) return no_such_thread();
  return detail::write_affinity(id(), cpus);
}

auto thread_info::scheduling() const -> result<braid::scheduling> {
  if (!is_alive()) return no_such_thread();
  return detail::read_scheduling(id());
}

auto thread_info::set_scheduling(const braid::scheduling& wanted) const -> result<void> {
  if (!is_alive()) return no_such_thread();
  return detail::write_scheduling(id(), wanted);
}

auto thread_info::nice() const -> result<nice_value> {
  if (!is_alive()) return no_such_thread();
  return detail::read_nice(id());
}

auto thread_info::set_nice(nice_value wanted) const -> result<void> {
  if (!is_alive()) return no_such_thread();
  return detail::write_nice(id(), wanted);
}

auto thread_info::priority() const -> result<realtime_priority> {
  if (!is_alive()) return no_such_thread();
  return detail::read_priority(id());
}

auto thread_info::set_priority(realtime_priority wanted) const -> result<void> {
  if (!is_alive()) return no_such_thread();
  return detail::write_priority(id(), wanted);
}

auto thread_info::all() -> result<std::vector<thread_info>> {
  std::vector<thread_info> threads;
  const auto add = [&threads](const detail::thread_port& thread) {
    if (const ::pid_t id = thread.id(); id != 0) threads.emplace_back(id, 0);  // the others have ended meanwhile
    return false;
  };
  if (const auto looked = detail::for_each_thread(add); !looked) return fail(looked.error());
  std::ranges::sort(threads, {}, &thread_info::id);  // later threads have larger ids
  return threads;
}

auto this_thread::info() -> result<thread_info> { return thread_info(detail::own_thread_id(), 0); }

}  // namespace braid
