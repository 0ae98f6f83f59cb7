// rankd/cli/output/printable.hpp: text that came from elsewhere, made fit for a terminal.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace rankd {

/// Returns the text with everything escaped that would not show as itself or would steer a terminal: control characters
/// as `\n` or `\x1b`, bytes that are not UTF-8 as `\xff`, line separators and marks that turn the direction of writing
/// as `\u{202e}`. A backslash stays as it is: this is for reading, not for reading back.
auto printable(std::string_view text) -> std::string;

/// Returns the lines of `diagnostics::to_text`, each part of them printable.
auto printable(const braid::diagnostics& problems) -> std::string;

/// Returns the columns that printable text occupies on a terminal: two for wide characters, zero for marks that join
/// the preceding character.
auto width_of(std::string_view text) -> std::size_t;

}  // namespace rankd
