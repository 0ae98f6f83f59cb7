// rankd/registry/diagnostic.hpp: creates a diagnostic about a file, a folder, a request, or a part of a document.
#pragma once

#include <braid/base/error.hpp>

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

namespace rankd {

/// Returns a diagnostic. If the diagnostic is about a file or folder, `source` names it.
auto make_diagnostic(std::string code, std::string message, std::string hint = {},
                     const std::filesystem::path& source = {}) -> braid::diagnostics;

/// Returns a diagnostic about the part of a document that `pointer` points to. An empty pointer means the whole
/// document.
auto problem_at(std::string_view code, std::string pointer, std::string message, std::string hint = {})
    -> braid::diagnostic;

/// Returns a diagnostic as the error of a checked<T>.
auto refused(std::string code, std::string message, std::string hint = {}, const std::filesystem::path& source = {})
    -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
