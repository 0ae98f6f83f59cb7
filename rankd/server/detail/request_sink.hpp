// rankd/server/detail/request_sink.hpp: the receivers of requests that have ended: metrics, logs, files, spans.
#pragma once

#include <rankd/engine/requests/request.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace rankd::detail {

struct endpoint_context;
struct served_request;

/// A receiver of the ended requests of one loop. For example, a sink counts the requests, logs them, or runs a
/// candidate plan for them. Threads: the loop's thread.
class request_sink {
 public:
  request_sink() = default;
  request_sink(const request_sink&) = delete;
  auto operator=(const request_sink&) -> request_sink& = delete;
  virtual ~request_sink() = default;

  /// Called when a request has been parsed and is valid for its plan, before it waits for admission. `text` is the JSON
  /// of the request, and `head_id` is the id in its HTTP head.
  virtual void prepare(served_request& /*request*/, rank_request& /*asked*/, std::string_view /*text*/,
                       std::string_view /*head_id*/) {}
  /// Called once for each request that has ended, even if it was refused or its client has disconnected. If the
  /// function throws, the exception is logged, and the other sinks still receive the request.
  virtual void receive(served_request& request) = 0;
  /// Called when `receive` has thrown, for example because memory ran out. Counts the data that was lost.
  virtual void lose(const served_request& /*request*/) noexcept {}
  /// Called when the loop has served the last request.
  virtual void stop() {}
};

using request_sinks = std::vector<std::unique_ptr<request_sink>>;

/// Makes the sinks that the options of the server require, for one loop. Each request is passed to the sinks in the
/// order of the returned list. Lifetime: the context outlives the sinks.
auto make_request_sinks(endpoint_context& context) -> request_sinks;

// Each of these functions adds one sink to `sinks`, if the server is configured to use it.
void add_metrics_sink(endpoint_context& context, request_sinks& sinks);   // metrics_sink.cpp
void add_capture_sink(endpoint_context& context, request_sinks& sinks);   // capture_sink.cpp
void add_exposure_sink(endpoint_context& context, request_sinks& sinks);  // exposure_sink.cpp
void add_traffic_sink(endpoint_context& context, request_sinks& sinks);   // traffic_sink.cpp
void add_shadow_sink(endpoint_context& context, request_sinks& sinks);    // shadow_sink.cpp
void add_log_sink(endpoint_context& context, request_sinks& sinks);       // log_sink.cpp
void add_audit_sink(endpoint_context& context, request_sinks& sinks);     // audit_sink.cpp
void add_span_sink(endpoint_context& context, request_sinks& sinks);      // span_sink.cpp

}  // namespace rankd::detail
