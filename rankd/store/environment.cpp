// rankd/store/environment.cpp: reads environment variables of an endpoint.
#include <rankd/store/detail/environment.hpp>

#include <rankd/registry/names.hpp>

#include <cstdlib>
#include <utility>

namespace rankd::detail {

auto find_variable(const std::string& name, std::string_view endpoint_id) -> std::optional<found_variable> {
  std::string own = name + "_";
  for (const char c : endpoint_id) own += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (!endpoint_id.empty())
    if (const char* value = std::getenv(own.c_str())) return found_variable{std::move(own), value};
  if (const char* value = std::getenv(name.c_str())) return found_variable{name, value};
  return std::nullopt;
}

auto tls_of_environment(const std::string& name, std::string_view endpoint_id) -> braid::checked<braid::tls_context> {
  braid::tls_context::client_options trusted;
  const auto file = find_variable(name, endpoint_id);
  if (file) trusted.authorities = braid::tls_context::pem::file(file->value);
  auto context = braid::tls_context::client(trusted);
  if (context) return std::move(*context);
  return std::unexpected(
      braid::diagnostics({.code = "bad_environment",
                          .pointer = {},
                          .message = (file ? "the variable " + file->name + " is " + quote_name(file->value) + ": "
                                           : std::string("TLS connections cannot be set up: ")) +
                                     context.error().message(),
                          .hint = name + " must name a PEM file of certificates",
                          .node = {},
                          .source = {}}));
}

}  // namespace rankd::detail
