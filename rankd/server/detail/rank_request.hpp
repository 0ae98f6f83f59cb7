// rankd/server/detail/rank_request.hpp: the steps of ranking one request, shared by the endpoints for single requests,
// batches and comparisons.
#pragma once

#include <rankd/server/detail/served_request.hpp>

#include <rankd/engine/requests/request.hpp>

#include <braid/coro/task.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace rankd {
struct event_outcome;
}

namespace rankd::detail {

/// Reads the body of a request. If that fails, or if the server is full after the body was read, answers the request
/// and returns false.
auto read_body(served_request& request) -> braid::task<bool>;

/// Parses a request, finds its plan, and counts the request against the limit of the plan. Returns nothing if the
/// request has been answered with an error.
auto prepare_request(served_request& request, std::string_view text) -> std::optional<rank_request>;

/// Waits until a request is admitted. Then runs its plan, answers the request and ends it.
auto rank_prepared(endpoint_context& context, served_request& request, rank_request& asked) -> braid::task<void>;

/// Returns whether the client of a request may send events to this server. If not, answers the request.
auto may_send_events(endpoint_context& context, served_request& request) -> bool;

/// Parses events and waits until they are on the disk. Returns nothing if the request has been answered with an error.
auto write_events(endpoint_context& context, served_request& request, std::string_view text)
    -> braid::task<std::optional<event_outcome>>;

/// Copies the ids of a parsed request into its record.
void take_asked(request_record& record, const rank_request& asked);

/// Returns the reason why the client may not choose arms of experiments. The reason is empty if the client may choose
/// them, or if the request chooses no arms.
auto check_forced(const request_record& record, const rank_request& asked) -> braid::diagnostics;

}  // namespace rankd::detail
