// rankd/store/detail/environment.hpp: variables of the environment for an endpoint: secrets, and files of certificates.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rankd::detail {

struct found_variable {
  std::string name;
  std::string value;
};

/// Returns `RANKD_REDIS_PASSWORD_EP_0001` for the name `RANKD_REDIS_PASSWORD` if it is set, or else the variable of
/// that name itself.
auto find_variable(const std::string& name, std::string_view endpoint_id) -> std::optional<found_variable>;

/// Returns a context for connections by TLS, which trusts the certificates in the file that such a variable names, or
/// the certificates of the system. Blocks: on the disk. Errors: bad_environment.
auto tls_of_environment(const std::string& name, std::string_view endpoint_id) -> braid::checked<braid::tls_context>;

}  // namespace rankd::detail
