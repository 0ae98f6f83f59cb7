# Compiles for Windows (x86-64) on Linux with mingw-w64, and runs programs by wine: docs/platforms.md.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH braid_sources)
set(CMAKE_CROSSCOMPILING_EMULATOR ${braid_sources}/tools/wine)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)  # a program needs no libraries of the compiler

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
