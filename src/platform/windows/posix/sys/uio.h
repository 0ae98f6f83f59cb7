// src/platform/windows/posix/sys/uio.h: declares `iovec` of POSIX for Windows.
#pragma once

#include <cstddef>

/// A part of a buffer that one call reads or writes.
struct iovec {
  void* iov_base;
  std::size_t iov_len;
};
