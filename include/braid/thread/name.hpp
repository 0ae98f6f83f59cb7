// braid/thread/name.hpp: the name of the calling thread, as the system shows it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace braid {

/// The longest name that the system keeps, in bytes.
inline constexpr std::size_t max_thread_name = 15;

/// `prefix-index`, with the prefix cut so that the whole index fits in a thread's name. Threads: any.
BRAID_API auto indexed_thread_name(std::string_view prefix, std::size_t index) -> std::string;

namespace this_thread {

/// Names the calling thread. Errors: invalid_argument for more than 15 bytes or a zero byte; the system's codes.
[[nodiscard]] BRAID_API auto set_name(std::string_view name) -> result<void>;

/// The name of the calling thread.
BRAID_API auto name() -> std::string;

}  // namespace this_thread
}  // namespace braid
