// rankd/embed/arrow_abi.hpp: the structs of the Arrow C data interface, exactly as in its specification.
#pragma once

#include <cstdint>

// NOLINTBEGIN(readability-identifier-naming,modernize-*): the names and the layout are those of the specification
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

extern "C" {

/// The type and the name of a column.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

/// The data of an array: its length and its buffers.
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
}

#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

/// A stream of arrays of the same type.
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

#endif
// NOLINTEND(readability-identifier-naming,modernize-*)

namespace rankd {

/// The flag that marks a schema whose arrays may contain nulls.
inline constexpr std::int64_t arrow_nullable = 2;

}  // namespace rankd
