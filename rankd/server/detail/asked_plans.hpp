// rankd/server/detail/asked_plans.hpp: finds the plans that the path and the query of a request name.
#pragma once

#include <rankd/server/detail/endpoint_context.hpp>

#include <braid/base/error.hpp>
#include <braid/net/http_server.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Returns the answer to a request for a plan that does not exist. The answer suggests the most similar plan name.
[[nodiscard]] auto unknown_plan(const endpoint_context& context, std::string_view name, std::string_view pointer,
                                std::string_view request_id) -> error_answer;

/// Returns the plan with this name. `field` is the name of a query parameter. If the query has this parameter, returns
/// the version whose number it contains. If there is no such plan, answers the request and returns null.
auto asked_plan(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, std::string_view name,
                std::string_view field) -> plan_handle;

/// Two plans that a request compares.
struct plan_pair {
  plan_handle before;
  plan_handle after;
};

/// Returns the two plans that the query names. If one of them does not exist, answers the request and returns nothing.
auto asked_pair(endpoint_context& context, braid::http_exchange& x, endpoint endpoint) -> std::optional<plan_pair>;

/// Returns the draft with this name. If there is no such draft, answers the request and returns null.
auto asked_draft(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, const std::string& name)
    -> plan_handle;

/// Parses a version number without leading zeros. Returns nothing for any other text.
[[nodiscard]] auto version_number(std::string_view text) -> std::optional<std::uint64_t>;

/// Refuses a request whose version is not a number.
void refuse_version(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, std::string_view number);
/// Answers with an error if a change is not possible, or if a requested version is no longer stored.
void refuse_change(endpoint_context& context, braid::http_exchange& x, endpoint endpoint,
                   const braid::diagnostics& problems);

}  // namespace rankd::detail
