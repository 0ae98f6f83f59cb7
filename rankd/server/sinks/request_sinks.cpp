// rankd/server/sinks/request_sinks.cpp: makes the list of sinks that receive ended requests.
#include <rankd/server/detail/request_sink.hpp>

namespace rankd::detail {
namespace {

constexpr auto all_sinks = {&add_metrics_sink, &add_capture_sink, &add_exposure_sink, &add_traffic_sink,
                            &add_shadow_sink,  &add_log_sink,     &add_audit_sink,    &add_span_sink};

}  // namespace

auto make_request_sinks(endpoint_context& context) -> request_sinks {
  request_sinks made;
  for (const auto add : all_sinks) add(context, made);
  return made;
}

}  // namespace rankd::detail
