// src/thread/find_thread.cpp: finds threads of this process by their names.
#include <braid/thread/this_thread.hpp>

namespace braid {

auto thread_info::find_all(std::string_view name) -> result<std::vector<thread_info>> {
  auto threads = all();
  if (!threads) return threads;
  std::erase_if(*threads, [name](const thread_info& thread) { return thread.name() != result<std::string>(name); });
  return threads;
}

auto thread_info::find(std::string_view name) -> result<thread_info> {
  const auto threads = find_all(name);
  if (!threads) return fail(threads.error());
  if (threads->empty()) return fail(std::make_error_code(std::errc::no_such_process));
  return threads->front();
}

}  // namespace braid
