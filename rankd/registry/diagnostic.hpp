// rankd/registry/diagnostic.hpp: makes a diagnostic about a file, a folder, or a whole request.
#pragma once

#include <braid/base/error.hpp>

#include <expected>
#include <filesystem>
#include <string>

namespace rankd {

/// Returns a diagnostic. `source` is the file or folder that it is about, if any.
auto make_diagnostic(std::string code, std::string message, std::string hint = {},
                     const std::filesystem::path& source = {}) -> braid::diagnostics;

/// Returns a diagnostic as the error of a checked<T>.
auto refused(std::string code, std::string message, std::string hint = {}, const std::filesystem::path& source = {})
    -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
