// rankd/registry/file.hpp: reading a whole file that a person wrote, with a bound on its size.
#pragma once

#include <braid/base/diagnostics.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

namespace rankd {

inline constexpr std::size_t largest_document = std::size_t{16} << 20U;  ///< bytes of a plan or registry file

/// The bytes of a regular file.
/// Blocks: on the disk.
/// Errors: unreadable_file, file_too_large; `source` names the file.
auto read_text_file(const std::filesystem::path& file, std::size_t largest = largest_document)
    -> braid::checked<std::string>;

}  // namespace rankd
