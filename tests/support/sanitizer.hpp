// tests/support/sanitizer.hpp: which sanitizer this program is built with, for tests of what a sanitizer replaces.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define BRAID_TEST_ADDRESS 1
#endif
#if defined(__SANITIZE_THREAD__)
#define BRAID_TEST_THREAD 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRAID_TEST_ADDRESS 1
#endif
#if __has_feature(thread_sanitizer)
#define BRAID_TEST_THREAD 1
#endif
#endif

namespace braid::testing {

#if defined(BRAID_TEST_ADDRESS)
inline constexpr bool under_address_sanitizer = true;
#else
inline constexpr bool under_address_sanitizer = false;
#endif

#if defined(BRAID_TEST_THREAD)
inline constexpr bool under_thread_sanitizer = true;
#else
inline constexpr bool under_thread_sanitizer = false;
#endif

}  // namespace braid::testing
