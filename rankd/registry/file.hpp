// rankd/registry/file.hpp: reads a whole text file, up to a maximum size.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace rankd {

inline constexpr std::size_t largest_document = std::size_t{16} << 20U;  ///< bytes of a plan or registry file

/// The byte-order mark that some editors write at the beginning of UTF-8 files. It is not part of the content.
inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Returns a text without its byte-order mark, if any.
constexpr auto without_mark(std::string_view text) noexcept -> std::string_view {
  return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

/// Returns the bytes of a regular file. Blocks: on the disk. Errors: unreadable_file, file_too_large; `source` names
/// the file.
auto read_text_file(const std::filesystem::path& file, std::size_t largest = largest_document)
    -> braid::checked<std::string>;

}  // namespace rankd
