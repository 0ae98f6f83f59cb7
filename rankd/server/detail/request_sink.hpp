// rankd/server/detail/request_sink.hpp: the receivers of requests that have ended: metrics, logs, files, spans.
#pragma once

#include <rankd/engine/requests/request.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace rankd::detail {

struct endpoint_context;
struct served_request;

/// A receiver of the requests of one loop: it counts them, writes them down or runs a candidate for them.
/// Threads: the loop's own.
class request_sink {
 public:
  request_sink() = default;
  request_sink(const request_sink&) = delete;
  auto operator=(const request_sink&) -> request_sink& = delete;
  virtual ~request_sink() = default;

  /// Called when a request has been read and suits its plan, before it waits to be admitted. `text` is its JSON, and
  /// `head_id` the id that its head gave it.
  virtual void prepare(served_request& /*request*/, rank_request& /*asked*/, std::string_view /*text*/,
                       std::string_view /*head_id*/) {}
  /// Called once for each request that has ended, even if it was refused or its client has gone. Exceptions are logged,
  /// and the other sinks receive the request nevertheless.
  virtual void receive(served_request& request) = 0;
  /// Called when `receive` has thrown, because memory ran out for example: counts what was lost.
  virtual void lose(const served_request& /*request*/) noexcept {}
  /// Called when the loop has served its last request.
  virtual void stop() {}
};

using request_sinks = std::vector<std::unique_ptr<request_sink>>;

/// Makes the sinks of one loop that its server is configured for, in the order in which they receive a request.
/// Lifetime: the context's.
auto make_request_sinks(endpoint_context& context) -> request_sinks;

// Each of these adds its sink if the server is configured for it.
void add_metrics_sink(endpoint_context& context, request_sinks& sinks);   // metrics_sink.cpp
void add_capture_sink(endpoint_context& context, request_sinks& sinks);   // capture_sink.cpp
void add_exposure_sink(endpoint_context& context, request_sinks& sinks);  // exposure_sink.cpp
void add_traffic_sink(endpoint_context& context, request_sinks& sinks);   // traffic_sink.cpp
void add_shadow_sink(endpoint_context& context, request_sinks& sinks);    // shadow_sink.cpp
void add_log_sink(endpoint_context& context, request_sinks& sinks);       // log_sink.cpp
void add_audit_sink(endpoint_context& context, request_sinks& sinks);     // audit_sink.cpp
void add_span_sink(endpoint_context& context, request_sinks& sinks);      // span_sink.cpp

}  // namespace rankd::detail
