// src/thread/name.cpp: reads and sets the name of the calling thread.
#include <braid/thread/this_thread.hpp>

#include "../platform/system.hpp"
#include "thread_calls.hpp"

#include <algorithm>
#include <array>

namespace braid {

auto detail::check_name(std::string_view name) -> result<void> {
  if (name.size() > detail::max_thread_name || name.find('\0') != std::string_view::npos)
    return fail(errc::invalid_argument);
  return {};
}

auto detail::indexed_thread_name(std::string_view prefix, std::size_t index) -> std::string {
  const std::string suffix = "-" + std::to_string(index);
  const std::size_t room = detail::max_thread_name - std::min(suffix.size(), detail::max_thread_name);
  return std::string(prefix.substr(0, room)) + suffix;
}

namespace this_thread {

auto set_name(std::string_view name) -> result<void> {
  if (const auto fits = detail::check_name(name); !fits) return fits;
  return detail::write_own_name(name);
}

auto name() -> std::string {
  std::array<char, detail::max_thread_name + 1> buffer{};
  detail::copy_own_name(buffer.data(), buffer.size());
  return buffer.data();
}

}  // namespace this_thread
}  // namespace braid
