// braid/base/detail/build_match.hpp: makes linking fail if a program was compiled with options that do not match the
// library's.
#pragma once

// The library defines symbols whose names state its build options. Each object file of a program refers to the symbols
// for the options of that file. If the options differ, the linker or dlopen reports an undefined symbol. docs/using.md
// lists what may differ.
#if defined(_GLIBCXX_DEBUG)
#define BRAID_BUILD_CONTAINERS library_is_built_with_GLIBCXX_DEBUG
#else
#define BRAID_BUILD_CONTAINERS library_is_built_without_GLIBCXX_DEBUG
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRAID_BUILD_ADDRESS library_is_built_with_address_sanitizer
#endif
#if __has_feature(thread_sanitizer)
#define BRAID_BUILD_THREAD library_is_built_with_thread_sanitizer
#endif
#endif
#if !defined(BRAID_BUILD_ADDRESS)
#if defined(__SANITIZE_ADDRESS__)
#define BRAID_BUILD_ADDRESS library_is_built_with_address_sanitizer
#else
#define BRAID_BUILD_ADDRESS library_is_built_without_address_sanitizer
#endif
#endif
#if !defined(BRAID_BUILD_THREAD)
#if defined(__SANITIZE_THREAD__)
#define BRAID_BUILD_THREAD library_is_built_with_thread_sanitizer
#else
#define BRAID_BUILD_THREAD library_is_built_without_thread_sanitizer
#endif
#endif

namespace braid::detail {

// These symbols are exported without BRAID_API, because the header that defines BRAID_API includes this header.
extern __attribute__((visibility("default"))) const char BRAID_BUILD_CONTAINERS;
extern __attribute__((visibility("default"))) const char BRAID_BUILD_ADDRESS;
extern __attribute__((visibility("default"))) const char BRAID_BUILD_THREAD;

/// References to the symbols, so that each object file needs the symbols. A program contains one copy of these
/// references.
[[gnu::used]] inline const char* const build_of_program[] = {&BRAID_BUILD_CONTAINERS, &BRAID_BUILD_ADDRESS,
                                                             &BRAID_BUILD_THREAD};

}  // namespace braid::detail
