// braid/base/config.hpp: what depends on the compiler: symbol visibility, size of a cache line.
#pragma once

#include <cstddef>

/// Marks what the shared library exports.
#if defined(BRAID_STATIC)
#define BRAID_API
#else
#define BRAID_API __attribute__((visibility("default")))
#endif

namespace braid {

/// Two objects this many bytes apart never share a cache line, nor a pair of lines that the prefetcher fetches
/// together.
inline constexpr std::size_t cache_line = 128;

}  // namespace braid
