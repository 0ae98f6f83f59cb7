// rankd/registry/diagnostic.cpp: makes diagnostics from their parts.
#include <rankd/registry/diagnostic.hpp>

#include <utility>

namespace rankd {

auto make_diagnostic(std::string code, std::string message, std::string hint, const std::filesystem::path& source)
    -> braid::diagnostics {
  return braid::diagnostics({.code = std::move(code),
                             .pointer = {},
                             .message = std::move(message),
                             .hint = std::move(hint),
                             .node = {},
                             .source = source.string()});
}

auto problem_at(std::string_view code, std::string pointer, std::string message, std::string hint)
    -> braid::diagnostic {
  return {.code = std::string(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = std::move(hint),
          .node = {},
          .source = {}};
}

auto refused(std::string code, std::string message, std::string hint, const std::filesystem::path& source)
    -> std::unexpected<braid::diagnostics> {
  return std::unexpected(make_diagnostic(std::move(code), std::move(message), std::move(hint), source));
}

}  // namespace rankd
