// rankd/registry/toml.hpp: parses TOML into a JSON value, so that the same code can read both formats.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// Parses a TOML document and returns it as a JSON object. Floats may be inf or nan, as TOML allows. Errors:
/// toml_syntax with line and column, toml_too_deep, unsupported_value for dates; `source` is `source_name`.
auto parse_toml(std::string_view text, std::string_view source_name) -> braid::checked<nlohmann::json>;

/// Parses a TOML file. The name of the file becomes the source. Errors: those of `parse_toml` and `read_text_file`.
auto read_toml_file(const std::filesystem::path& file) -> braid::checked<nlohmann::json>;

}  // namespace rankd
