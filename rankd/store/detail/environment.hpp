// rankd/store/detail/environment.hpp: reads environment variables of an endpoint: secrets, and paths of certificate
// files.
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

/// Finds the environment variable `name` for an endpoint. A variable with the endpoint's id at its end has priority:
/// `RANKD_REDIS_PASSWORD_EP_0001` before `RANKD_REDIS_PASSWORD`.
auto find_variable(const std::string& name, std::string_view endpoint_id) -> std::optional<found_variable>;

/// Returns a context for TLS connections. It trusts the certificates in the file that the variable `name` names, or
/// those of the system if the variable is not set. Blocks: on the disk. Errors: bad_environment.
auto tls_of_environment(const std::string& name, std::string_view endpoint_id) -> braid::checked<braid::tls_context>;

}  // namespace rankd::detail
