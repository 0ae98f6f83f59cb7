// rankd/registry/diagnostic.hpp: one diagnostic, about a file, a folder or the whole of what was asked.
#pragma once

#include <braid/base/error.hpp>

#include <expected>
#include <filesystem>
#include <string>

namespace rankd {

/// The diagnostic; `source` is the file or folder that it is about, if there is one.
auto make_diagnostic(std::string code, std::string message, std::string hint = {},
                     const std::filesystem::path& source = {}) -> braid::diagnostics;

/// The same, as the error of a checked<T>.
auto refused(std::string code, std::string message, std::string hint = {}, const std::filesystem::path& source = {})
    -> std::unexpected<braid::diagnostics>;

}  // namespace rankd
