// rankd/server/detail/rank_request.hpp: the steps of ranking one request, also used by batches and comparisons.
#pragma once

#include <rankd/server/detail/served_request.hpp>

#include <rankd/engine/requests/request.hpp>

#include <braid/coro/task.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Reads the body of a request. Returns false if that failed or the server has become full meanwhile; then it has been
/// answered.
auto read_body(served_request& request) -> braid::task<bool>;

/// Parses a request, finds its plan, and takes a place among the requests of the plan. Returns nothing if the request
/// has been answered.
auto prepare_request(served_request& request, std::string_view text) -> std::optional<rank_request>;

/// Waits until a request is admitted, runs its plan, answers it and ends it.
auto rank_prepared(endpoint_context& context, served_request& request, rank_request& asked) -> braid::task<void>;

/// Puts the ids of a request that was read into its record.
void take_asked(request_record& record, const rank_request& asked);

/// Returns why a client may not name arms of experiments; empty if it may, or does not name any.
auto check_forced(const request_record& record, const rank_request& asked) -> braid::diagnostics;

}  // namespace rankd::detail
