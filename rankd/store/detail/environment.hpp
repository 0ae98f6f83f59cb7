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

/// Finds the environment variable `name` for an endpoint. A variable whose name ends with the endpoint's id has
/// priority. For example, `RANKD_REDIS_PASSWORD_EP_0001` has priority over `RANKD_REDIS_PASSWORD`.
auto find_variable(const std::string& name, std::string_view endpoint_id) -> std::optional<found_variable>;

/// Returns a context for TLS connections. The value of the variable `name` is the path of a file of trusted
/// certificates. If the variable is not set, the context trusts the certificates of the system. Blocks: on the disk.
/// Errors: bad_environment.
auto tls_of_environment(const std::string& name, std::string_view endpoint_id) -> braid::checked<braid::tls_context>;

}  // namespace rankd::detail
