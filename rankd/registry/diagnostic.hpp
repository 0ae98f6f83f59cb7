// rankd/registry/diagnostic.hpp: makes a diagnostic about a file, a folder, a request, or a place of a document.
#pragma once

#include <braid/base/error.hpp>

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

namespace rankd {

/// Returns a diagnostic. `source` is the file or folder that it is about, if any.
auto make_diagnostic(std::string code, std::string message, std::string hint = {},
                     const std::filesystem::path& source = {}) -> braid::diagnostics;

/// Returns a diagnostic about a place of a document; an empty pointer means the whole document.
auto problem_at(std::string_view code, std::string pointer, std::string message, std::string hint = {})
    -> braid::diagnostic;

/// Returns a diagnostic as the error of a checked<T>.
auto refused(std::string code, std::string message, std::string hint = {}, const std::filesystem::path& source = {})
    -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
