// rankd/store/detail/lmdb.hpp: the common parts of reading and writing LMDB.
#pragma once

#include <rankd/store/error.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <system_error>

#include <lmdb.h>

namespace rankd::lmdb {

/// The flags of an LMDB environment. The lock file and the reader table are disabled. They are not needed, because one
/// process writes a data file before any reader opens it, and no process writes it afterwards.
inline constexpr unsigned environment_flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS;

/// The longest key that LMDB accepts.
inline constexpr std::size_t max_key = 511;

/// Converts the status of a failed call to an error: the system's own error, store_errc::full, or store_errc::corrupt.
inline auto error_of(int status) noexcept -> std::error_code {
  if (status > 0) return {status, std::system_category()};
  if (status == MDB_MAP_FULL) return store_errc::full;
  return store_errc::corrupt;
}

inline auto value_of(std::string_view text) noexcept -> MDB_val {
  return {text.size(),
          const_cast<char*>(text.data())};  // LMDB uses the same struct for reading and writing, so it is not const
}

inline auto text_of(const MDB_val& value) noexcept -> std::string_view {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

inline auto bytes_of(const MDB_val& value) noexcept -> std::span<const std::byte> {
  return {static_cast<const std::byte*>(value.mv_data), value.mv_size};
}

}  // namespace rankd::lmdb
