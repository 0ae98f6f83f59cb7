# How the whole tree is compiled: language, output folders, sanitizers, the model build.

set(programs_by_default ${PROJECT_IS_TOP_LEVEL})
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(programs_by_default OFF)
endif()
option(BRAID_PROGRAMS "Build rankd and braid-doctor, which need clang and more libraries than braid" ${programs_by_default})
if(BRAID_PROGRAMS AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "rankd and braid-doctor are built by clang only, and CMAKE_CXX_COMPILER is ${CMAKE_CXX_COMPILER}: "
                      "use -DCMAKE_CXX_COMPILER=clang++-19, or -DBRAID_PROGRAMS=OFF to build the library alone")
endif()
option(BRAID_SHARED "Build braid as a shared library: one runtime per process" ON)
option(BRAID_CHECKED "Keep the checks that cost time (BRAID_ASSERT)" OFF)
option(BRAID_MODEL "Replace braid::atomic by the type that the explorer of interleavings drives" OFF)
option(BRAID_BENCH "Build the measuring programs of bench/" OFF)
option(BRAID_FUZZ "Link tests/fuzz with libFuzzer; clang only" OFF)
option(BRAID_PRECOMPILE "Precompile the headers that most sources include" ${PROJECT_IS_TOP_LEVEL})
option(BRAID_TRACE_HOOKS "Keep the hooks of traces, which cost a load where they are not wanted; OFF only to measure that" ON)
option(BRAID_UNITY "Compile sources together that are not being worked on, and test files into one program a folder" ${PROJECT_IS_TOP_LEVEL})
set(BRAID_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, such as thread or address,undefined")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

find_program(BRAID_CCACHE ccache)
if(BRAID_CCACHE)
  # ccache caches precompiled headers only with this sloppiness. Without NOHASHDIR, a build with lines for debuggers never
  # hits what another clone of the repository has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
                                  ${BRAID_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")  # the same text gives the same precompiled header, for ccache
endif()

# A product and a sum that are fused into one instruction round once: answers of rankd would differ from those of another
# processor (docs/decisions/0013-arithmetic.md). x86-64 has that instruction only where -march= allows it, as the preset
# bench does.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-ffp-contract=off)
endif()

find_program(BRAID_LLD NAMES ld.lld-22 ld.lld-19 ld.lld)
if(BRAID_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(--ld-path=${BRAID_LLD})
elseif(BRAID_LLD)  # g++ takes no path, and looks for one name
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/linker)
  file(CREATE_LINK ${BRAID_LLD} ${CMAKE_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  add_link_options(-fuse-ld=lld -B${CMAKE_BINARY_DIR}/linker)
endif()

if(BRAID_SANITIZE)
  add_compile_options(-fsanitize=${BRAID_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BRAID_SANITIZE})
  set(BRAID_LIBRARY_OPTIONS -O1)  # the presets compile at -O0, which makes tests of the library take four times as long
endif()

if(BRAID_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Whether the flags of the compiler choose libc++. Its programs cannot use a library that is built with libstdc++.
include(CheckCXXSymbolExists)
check_cxx_symbol_exists(_LIBCPP_VERSION version BRAID_LIBCXX)

# Of whoever includes the headers, too.
set(BRAID_DEFINITIONS
    $<$<BOOL:${BRAID_LIBCXX}>:BRAID_LIBCXX>
    $<$<NOT:$<BOOL:${BRAID_SHARED}>>:BRAID_STATIC>
    $<$<BOOL:${BRAID_CHECKED}>:BRAID_CHECKED>
    $<$<BOOL:${BRAID_MODEL}>:BRAID_MODEL>
    $<$<NOT:$<BOOL:${BRAID_TRACE_HOOKS}>>:BRAID_NO_TRACE_HOOKS>)
add_compile_definitions(${BRAID_DEFINITIONS})
if(WIN32)
  add_compile_definitions(_WIN32_WINNT=0x0A00)  # Windows 10
  # g++ for Windows assumes that an inline function is linked in the form in which it compiled it, and keeps values in
  # registers that this form does not use. The linker may choose a form that was compiled with other options.
  list(APPEND BRAID_LIBRARY_OPTIONS -fno-ipa-ra)
endif()

find_package(Threads REQUIRED)
find_path(BRAID_HWLOC_INCLUDE_DIR hwloc.h)
find_path(BRAID_NGHTTP2_INCLUDE_DIR nghttp2/nghttp2.h)
find_path(BRAID_URING_INCLUDE_DIR liburing.h)
find_library(BRAID_URING_LIBRARY uring)
if(NOT WIN32)
  find_package(OpenSSL 3.0 REQUIRED)
endif()
find_path(BRAID_FIBER_INCLUDE_DIR boost/context/detail/fcontext.hpp)
find_library(BRAID_FIBER_LIBRARY boost_context)
