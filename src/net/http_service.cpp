// src/net/http_service.cpp: implements the date, the error reports and the metrics of a server.
#include "http_service.hpp"

#include <braid/net/detail/http_date.hpp>
#include <braid/task/detail/report_exception.hpp>

#include <chrono>
#include <new>

#include <sys/socket.h>

namespace braid::detail {

auto http_service::date(time_point now) -> std::string_view {
  if (now >= date_until_) {
    using namespace std::chrono;
    const auto today = system_clock::now();
    const auto second = floor<seconds>(today);
    date_ = http_date(second);
    date_until_ = now + (second + 1s - today);
  }
  return date_;
}

void reset_on_close(const stream_socket& socket) noexcept {
  const ::linger none{.l_onoff = 1, .l_linger = 0};
  static_cast<void>(::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &none, sizeof none));
}

void http_service::report(std::exception_ptr error) noexcept {
  report_job_exception(options.on_error, std::move(error), {.what = "an HTTP server"});
}

void http_service::report(std::exception_ptr error, const http_request_head& request, std::string_view route) noexcept {
  constexpr std::size_t max_path = 200;
  std::string what = "an HTTP handler";
  try {
    what = "the handler ";
    if (!route.empty()) (what += '`').append(route) += "` ";
    what += "of " + std::string(name_of(request.method)) + " " + std::string(request.path.substr(0, max_path));
  } catch (const std::bad_alloc&) {  // the report then contains no request
  }
  report_job_exception(options.on_error, std::move(error), {.what = what.c_str()});
}

/// Adds the metrics of a server.
/// Threads: any.
void http_service::add_metrics(const void* self, metric_list& metrics) {
  const http_server::totals& counts = static_cast<const http_service*>(self)->counts;
  const auto now = [](const auto& count) { return static_cast<double>(read_count(count)); };
  metrics.counter("braid_http_connections_accepted", "Connections that HTTP servers accepted.", now(counts.accepted));
  metrics.gauge("braid_http_connections", "Open connections of HTTP servers.", now(counts.open));
  metrics.gauge("braid_http_http2_connections", "Open HTTP/2 connections of HTTP servers.", now(counts.http2));
  metrics.counter("braid_http_requests", "Requests, including those without a handler.", now(counts.requests));
  metrics.counter("braid_http_refused_requests", "Requests that were refused because they were invalid.",
                  now(counts.refused));
  metrics.counter("braid_http_timeouts", "Connections that were closed because a deadline had passed.",
                  now(counts.timeouts));
  metrics.counter("braid_http_failed_handlers", "Handlers that threw an exception or did not answer.",
                  now(counts.failed));
  metrics.gauge("braid_http_tls_handshakes", "Running TLS handshakes of HTTP servers.", now(counts.handshakes));
  metrics.counter("braid_http_failed_tls_handshakes", "TLS handshakes that failed, were too slow or were abandoned.",
                  now(counts.failed_handshakes));
  metrics.counter("braid_http_resumed_tls_sessions", "Connections that resumed an earlier TLS session.",
                  now(counts.resumed));
  metrics.gauge("braid_http_event_streams", "Streams of server-sent events that are open.", now(counts.event_streams));
  metrics.counter("braid_http_events", "Server-sent events that were sent.", now(counts.events));
  metrics.gauge("braid_http_websockets", "WebSockets that are open.", now(counts.websockets));
  metrics.counter("braid_http_websocket_messages", "Messages that WebSockets received.",
                  now(counts.websocket_messages));
}

}  // namespace braid::detail
