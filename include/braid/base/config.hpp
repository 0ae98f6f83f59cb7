// braid/base/config.hpp: common definitions: symbol visibility, cache line size, contract checks.
#pragma once

#include <braid/base/detail/requirements.hpp>
#include <braid/base/detail/lifetimes.hpp>

#include <cstddef>
#include <source_location>
#include <string_view>

/// Marks symbols that the shared library exports.
#if defined(BRAID_STATIC)
#define BRAID_API
#else
#define BRAID_API __attribute__((visibility("default")))
#endif

#include <braid/base/detail/build_match.hpp>

namespace braid {

/// The minimum distance in bytes between two objects that must not share a cache line. At this distance, they are not
/// in a pair of lines that the prefetcher fetches together, either.
inline constexpr std::size_t cache_line = 128;

}  // namespace braid

namespace braid::detail {

/// True if a std::mutex can be constructed at compile time. On Windows, its constructor runs when the program starts.
#if defined(_WIN32)
inline constexpr bool has_constant_mutex = false;
#else
inline constexpr bool has_constant_mutex = true;
#endif

/// Prints the message, the condition, the source location and the call stack, then terminates.
[[noreturn]] BRAID_API void contract_failed(std::string_view sentence, std::string_view condition,
                                            std::source_location location = std::source_location::current()) noexcept;

}  // namespace braid::detail

/// Checks a precondition of a call in every build.
#define BRAID_EXPECTS(condition, sentence) \
  ((condition) ? static_cast<void>(0) : ::braid::detail::contract_failed(sentence, #condition))

/// Checks an invariant of the library, or a precondition that is too costly to check in every build. The check is
/// active only if BRAID_CHECKED is defined.
#if defined(BRAID_CHECKED)
#define BRAID_ASSERT(condition, sentence) BRAID_EXPECTS(condition, sentence)
#else
#define BRAID_ASSERT(condition, sentence) static_cast<void>(0)
#endif
