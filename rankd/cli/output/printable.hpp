// rankd/cli/output/printable.hpp: makes untrusted text safe for a terminal.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace rankd {

/// Escapes all characters that a terminal would not show, or would treat as a command. Control characters become `\n`
/// or `\x1b`; bytes that are not UTF-8 become `\xff`; line separators and direction marks become `\u{202e}`. A
/// backslash stays unchanged, because the result is for people and is not parsed again.
auto printable(std::string_view text) -> std::string;

/// Returns the lines of `diagnostics::to_text`, with all texts escaped.
auto printable(const braid::diagnostics& problems) -> std::string;

/// Returns the number of columns that printable text occupies on a terminal: two for wide characters, zero for
/// combining marks.
auto display_width(std::string_view text) -> std::size_t;

}  // namespace rankd
