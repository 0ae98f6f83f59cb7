// rankd/server/detail/handlers.hpp: the handlers of a server, for the table of routes.
#pragma once

#include <rankd/server/detail/asked_plans.hpp>
#include <rankd/server/detail/endpoint_context.hpp>

#include <braid/coro/task.hpp>
#include <braid/net/http_server.hpp>

namespace rankd::detail {

/// Answers one request. A handler that does not need to wait returns an empty task.
using endpoint_handler = braid::task<void>(endpoint_context& context, braid::http_exchange& x);

endpoint_handler answer_rank;                                                                 // rank_endpoint.cpp
endpoint_handler answer_batch;                                                                // batch_endpoint.cpp
endpoint_handler answer_events;                                                               // event_endpoint.cpp
endpoint_handler answer_grpc_batch, answer_grpc_events, answer_grpc_other, answer_grpc_rank;  // grpc_endpoints.cpp
endpoint_handler answer_grpc_health_check, answer_grpc_health_watch, answer_grpc_reflection,
    answer_grpc_reflection_alpha;            // grpc_services.cpp
endpoint_handler answer_records;             // record_endpoint.cpp
endpoint_handler answer_plan, answer_plans;  // plan_endpoints.cpp
endpoint_handler answer_health, answer_limits, answer_openapi, answer_page, answer_ready,
    answer_shadow;                            // state_endpoints.cpp
endpoint_handler answer_metrics;              // metrics_endpoint.cpp
endpoint_handler answer_tasks, answer_trace;  // diagnosis_endpoints.cpp
endpoint_handler answer_diff, answer_pin, answer_reload, answer_rollback, answer_unpin,
    answer_versions;                                                                       // change_endpoints.cpp
endpoint_handler answer_diff_answers, answer_diff_traffic, answer_traffic;                 // compare_endpoint.cpp
endpoint_handler answer_compiler_script, answer_completions, answer_draft, answer_option;  // draft_endpoint.cpp
endpoint_handler answer_project, answer_save, answer_source;                               // draft_endpoint.cpp

}  // namespace rankd::detail
