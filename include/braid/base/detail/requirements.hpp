// braid/base/detail/requirements.hpp: checks that the compiler is sufficient, with one clear message if it is not.
#pragma once

#include <cstddef>

// A compiler that cannot build braid prints one clear message. The #include after the message names a file that does
// not exist. This ends the compilation, so that no further errors follow.
#if !defined(__cplusplus) || __cplusplus <= 202002L
#error "braid needs C++23: compile with -std=c++23 or later (CMake: target_compile_features(app PRIVATE cxx_std_23))"
#define BRAID_STOP_HERE <braid/needs_cpp23>
#include BRAID_STOP_HERE
#elif !defined(__cpp_exceptions)
#error "braid needs exceptions: compile without -fno-exceptions"
#define BRAID_STOP_HERE <braid/needs_exceptions>
#include BRAID_STOP_HERE
#elif defined(_LIBCPP_VERSION) && !defined(BRAID_LIBCXX)
#error "braid needs libstdc++, the C++ library of GCC: compile without -stdlib=libc++"
#define BRAID_STOP_HERE <braid/needs_libstdcpp>
#include BRAID_STOP_HERE
#endif
