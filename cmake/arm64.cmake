# Compiles for arm64 (AArch64 Linux) on another machine, with the headers and libraries that tools/arm64_root has unpacked,
# and runs programs by qemu-user: docs/arm64.md.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH braid_sources)
set(CMAKE_SYSROOT ${braid_sources}/build/arm64-root)
set(CMAKE_EXE_LINKER_FLAGS_INIT -fuse-ld=lld)  # the machine's own linker knows its own processor
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
