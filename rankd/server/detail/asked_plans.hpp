// rankd/server/detail/asked_plans.hpp: the plans that the path and the query of a request name.
#pragma once

#include <rankd/server/detail/endpoint_context.hpp>

#include <braid/base/error.hpp>
#include <braid/net/http_server.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Returns the answer to a request that names a plan which does not exist, with the most similar name of a plan.
[[nodiscard]] auto unknown_plan(const endpoint_context& context, std::string_view name, std::string_view pointer,
                                std::string_view request_id) -> error_answer;

/// Returns the plan of that name, of the version in `field` of the query if it has one. If there is no such plan, the
/// request has been answered and the result is null.
auto asked_plan(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, std::string_view name,
                std::string_view field) -> plan_handle;

/// Two plans to be compared.
struct plan_pair {
  plan_handle before;
  plan_handle after;
};

/// Returns the two plans that the query names; nothing if one of them does not exist, and then the request has been
/// answered.
auto asked_pair(endpoint_context& context, braid::http_exchange& x, endpoint endpoint) -> std::optional<plan_pair>;

/// Returns the draft of that name. If there is none, the request has been answered and the result is null.
auto asked_draft(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, const std::string& name)
    -> plan_handle;

/// Returns the number that a text consists of, without zeros in front; nothing for another text.
[[nodiscard]] auto version_number(std::string_view text) -> std::optional<std::uint64_t>;

/// Refuses a request that names a version by something that is not a number.
void refuse_version(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, std::string_view number);
/// Refuses a request for a change, or for a version that is not kept.
void refuse_change(endpoint_context& context, braid::http_exchange& x, endpoint endpoint,
                   const braid::diagnostics& problems);

}  // namespace rankd::detail
