// rankd/server/detail/spans.hpp: connects a request to the trace that it belongs to.
#pragma once

#include <rankd/server/sinks/audit_line.hpp>
#include <rankd/server/detail/endpoint_context.hpp>

#include <braid/net/http_server.hpp>

namespace rankd::detail {

/// Adds a request to a trace if spans are exported, or if the client sends a trace field. An invalid field begins a new
/// trace.
void join_trace(const endpoint_context& context, braid::http_exchange& x, request_record& record);

}  // namespace rankd::detail
