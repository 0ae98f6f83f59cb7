// doctor/escape.hpp: escapes untrusted text for a terminal or for JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace braid::doctor {

/// Returns the length in bytes of the character at the front of `text`, or 0 if the bytes are not valid UTF-8. Requires
/// that `text` is not empty.
auto utf8_length(std::string_view text) -> std::size_t;

/// Returns the text with an escape such as `\x1b` for each control character and each invalid byte. Everything else
/// stays unchanged.
auto escaped(std::string_view text) -> std::string;

}  // namespace braid::doctor
