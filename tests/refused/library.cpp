// tests/refused/library.cpp: another C++ library gives one sentence. Its macro stands for it, which is not installed.
// flags: -D_LIBCPP_VERSION=220000
// errors: exactly
// says: braid needs libstdc++, the C++ library of GCC: compile without -stdlib=libc++
// says: braid/needs_libstdcpp
#include <braid/braid.hpp>
