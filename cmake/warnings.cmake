# Warnings are errors for everything that is ours; libraries from elsewhere are SYSTEM headers.

add_library(braid_warnings INTERFACE)
target_compile_options(braid_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(braid_warnings INTERFACE -Wshadow)
else()
  # The sources name what g++ 12 would destroy twice (docs/cookbook.md).
  target_compile_definitions(braid_warnings INTERFACE BRAID_QUIET_GXX12)
  # g++ also means a parameter that is called as a member function, which is how constructors are written here.
  target_compile_options(braid_warnings INTERFACE -Wshadow=local)
  # g++ 12 reports these for correct code once coroutines and std::expected are inlined.
  target_compile_options(braid_warnings INTERFACE
    -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict
    -Wno-dangling-pointer)
  # It takes a failed exchange that orders more than one that succeeds for a fault, which it is not since C++17.
  target_compile_options(braid_warnings INTERFACE -Wno-invalid-memory-model)
endif()
