// rankd/server/detail/spans.hpp: the trace that a request belongs to.
#pragma once

#include <rankd/server/sinks/audit_line.hpp>
#include <rankd/server/detail/endpoint_context.hpp>

#include <braid/net/http_server.hpp>

namespace rankd::detail {

/// Makes a request part of a trace if its client says so, even by an invalid field, which begins a new trace; and if
/// spans are exported.
void join_trace(const endpoint_context& context, braid::http_exchange& x, request_record& record);

}  // namespace rankd::detail
