// rankd/store/redis_failure.cpp: maps errors of a connection or a server to error codes. Errors that need the same
// remedy have the same code.
#include <rankd/store/detail/redis_failure.hpp>

#include <rankd/registry/names.hpp>

#include <braid/base/error.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/net/resp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

namespace rankd::detail {
namespace {

struct named_failure {
  braid::redis_errc why;
  std::string_view code;
};

constexpr std::array named_failures{
    named_failure{braid::redis_errc::loading, "store_not_ready"},
    named_failure{braid::redis_errc::busy, "store_not_ready"},
    named_failure{braid::redis_errc::master_down, "store_not_ready"},
    named_failure{braid::redis_errc::cluster_down, "store_not_ready"},
    named_failure{braid::redis_errc::try_again, "store_not_ready"},
    named_failure{braid::redis_errc::no_authentication, "store_unauthorized"},
    named_failure{braid::redis_errc::wrong_password, "store_unauthorized"},
    named_failure{braid::redis_errc::no_permission, "store_unauthorized"},
    named_failure{braid::redis_errc::protected_mode, "store_unauthorized"},
    named_failure{braid::redis_errc::out_of_memory, "store_overloaded"},
    named_failure{braid::redis_errc::too_many_clients, "store_overloaded"},
    named_failure{braid::redis_errc::connection_lost, "store_unreachable"},
    named_failure{braid::redis_errc::no_address, "store_unreachable"},
    named_failure{braid::redis_errc::unexpected_reply, "store_bad_reply"},
};

}  // namespace

auto redis_failure_code(std::error_code error) noexcept -> std::string_view {
  if (error == braid::errc::deadline_exceeded) return "store_timeout";
  if (error == braid::errc::full) return "store_overloaded";
  if (error == braid::errc::closed) return "store_unreachable";
  if (error.category() == std::system_category() || error.category() == std::generic_category())
    return "store_unreachable";
  if (error.category() == braid::detail::tls_category()) return "store_untrusted";
  if (error.category() == braid::detail::resp_category()) return "store_bad_reply";
  const auto* const named = std::ranges::find_if(named_failures, [&](const auto& each) { return error == each.why; });
  return named == named_failures.end() ? "store_error" : named->code;
}

auto failure_text(std::error_code error) -> std::string {
  if (error == braid::errc::deadline_exceeded)
    return "connecting took longer than `connect_timeout_ms` in the policy of the endpoint, or the answer took longer "
           "than `request_timeout_ms`";
  return error.message();
}

auto server_message(std::string_view error) -> std::string {
  constexpr std::size_t enough = 300;
  const std::size_t kept = utf8_prefix(error.substr(0, enough));
  return "the server says: " + std::string(error.substr(0, kept)) + (error.size() > kept ? "…" : "");
}

}  // namespace rankd::detail
