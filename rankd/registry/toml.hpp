// rankd/registry/toml.hpp: a TOML file as a JSON value, so that one reader of fields serves both.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// Returns the document as an object. Floats may be inf or nan, as TOML allows. Errors: toml_syntax with line and
/// column, toml_too_deep, unsupported_value for dates; `source` is `source_name`.
auto parse_toml(std::string_view text, std::string_view source_name) -> braid::checked<nlohmann::json>;

/// The same for a file, whose name becomes the source. Errors: those of `read_text_file` too.
auto read_toml_file(const std::filesystem::path& file) -> braid::checked<nlohmann::json>;

}  // namespace rankd
