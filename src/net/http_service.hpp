// src/net/http_service.hpp: declares the state that the connections of a server share.
#pragma once

#include "http_pacer.hpp"
#include "http_workspace.hpp"

#include <braid/base/intrusive_list.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_server.hpp>
#include <braid/trace/detail/metric_source.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace braid::detail {

/// The base class of connections. A connection is in one of the lists of `http_service`.
class served_connection : public list_hook {
 public:
  /// Closes an idle connection, unless part of a request has arrived. Requires that the connection is in the list of
  /// idle connections.
  virtual void close_idle() noexcept = 0;
  /// Refuses new requests, and ends the connection once all requests that have already begun are answered. Requires
  /// that the connection is in the list of busy connections.
  virtual void retire() noexcept = 0;

 protected:
  served_connection() = default;
  ~served_connection() = default;
};

/// The maximum time until a stream of events, or a WebSocket, notices that its server stops.
/// docs/design/constants.md gives the reason for this value.
inline constexpr duration max_stream_tick = std::chrono::seconds(1);

/// Makes the system reset a connection when it is closed, instead of ending it normally. The peer then does not mistake
/// a partial answer for a complete one.
void reset_on_close(const stream_socket& socket) noexcept;

/// Ends this side of a connection, and then discards what the peer still sends, until the peer ends its side or has
/// sent 256 KiB. If a connection were closed while bytes arrive, TCP would reset it, and the peer would lose what was
/// sent last.
template <transport Stream>
auto drop_input(const Stream& stream) -> task<void> {
  static_cast<void>(co_await end_writing(stream));
  socket_of(stream).allow_read_waits();
  std::array<std::byte, 1024> nobody_reads{};
  for (std::size_t left = std::size_t{256} * 1024; left > 0;) {
    const result<std::size_t> got = co_await stream.read_some(nobody_reads);
    if (!got || *got == 0) break;
    left -= std::min(left, *got);
  }
}

/// A guard that increments a count for as long as it exists.
class counted_open {
 public:
  explicit counted_open(std::size_t& count) noexcept : count_(&count) { add_to_count(count); }
  counted_open(const counted_open&) = delete;
  auto operator=(const counted_open&) -> counted_open& = delete;
  ~counted_open() { take_from_count(*count_); }

 private:
  std::size_t* count_;
};

/// The state that all connections of a server share. Used only on the server's loop.
struct http_service {
  http_service(loop& l, const http_router& r, http_server::options o)
      : on(l),
        routes(r),
        options(std::move(o)),
        pacer(l, options.pacing),
        workspaces(options.limits),
        counted_(&l, &http_service::add_metrics, this) {}

  /// Returns the current date, formatted once per second.
  auto date(time_point now) -> std::string_view;
  void report(std::exception_ptr error) noexcept;
  /// Reports an exception of a handler. The message names the request, and the route if it has a name.
  void report(std::exception_ptr error, const http_request_head& request, std::string_view route) noexcept;
  static void add_metrics(const void* self, metric_list& metrics);

  loop& on;
  const http_router& routes;
  http_server::options options;
  http_server::totals counts;
  http_pacer pacer;
  http_workspaces workspaces;
  intrusive_list<served_connection> idle;  // connections that have sent nothing of a request, longest idle first
  intrusive_list<served_connection> busy;  // HTTP/2 connections with requests
  bool stopping = false;
  bool wants_room = false;  // a task waits for room for a connection

 private:
  std::string date_;
  time_point date_until_ = time_point::min();
  metric_source counted_;  // the last member, because it reads the others
};

}  // namespace braid::detail
