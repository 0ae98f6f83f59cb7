// src/thread/name.cpp: reads and sets the name of the calling thread, with pthread_setname_np.
#include <braid/thread/this_thread.hpp>

#include "thread_calls.hpp"

#include <algorithm>
#include <array>

#include <pthread.h>

namespace braid {

auto detail::indexed_thread_name(std::string_view prefix, std::size_t index) -> std::string {
  const std::string suffix = "-" + std::to_string(index);
  const std::size_t room = detail::max_thread_name - std::min(suffix.size(), detail::max_thread_name);
  return std::string(prefix.substr(0, room)) + suffix;
}

namespace this_thread {

auto set_name(std::string_view name) -> result<void> {
  if (const auto fits = detail::check_name(name); !fits) return fits;
  const std::string terminated(name);
  const int status = ::pthread_setname_np(::pthread_self(), terminated.c_str());
  if (status != 0) return fail({status, std::system_category()});
  return {};
}

auto name() -> std::string {
  std::array<char, detail::max_thread_name + 1> buffer{};
  if (::pthread_getname_np(::pthread_self(), buffer.data(), buffer.size()) != 0) return {};
  return buffer.data();
}

}  // namespace this_thread
}  // namespace braid
