// rankd/server/serve_options.hpp: the options of a server.
#pragma once

#include <rankd/engine/options.hpp>
#include <rankd/server/endpoints/token_list.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_server.hpp>
#include <braid/trace/trace.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

struct serve_options {
  braid::socket_address listen = braid::socket_address::loopback(8080);  ///< port 0 means a free port
  unsigned loops = 1;    ///< each loop has its own thread; the system distributes connections over the loops
  unsigned workers = 1;  ///< worker threads of each loop
  /// If a loop or worker runs one task for this long, this is logged once, as `stalled`. Zero means the value of
  /// BRAID_STALL.
  braid::duration stall_limit = braid::duration::zero();
  /// If a request takes this long, the trace of the last seconds is written to a file. This requires
  /// BRAID_TRACE=FILE,last=8s, which keeps the last seconds in memory. Zero means that no request writes a trace.
  braid::duration trace_slow = braid::duration::zero();
  /// Returns the trace for `/v1/trace`. Called on a thread that may block.
  std::function<braid::result<std::string>(braid::duration)> last_seconds = &braid::trace::last;
  engine_options engine = {.timed_of = 16};

  /// The options of each loop's HTTP server. `connections` is the limit for all loops together. The loop sets the
  /// callbacks. The timeout for bodies is shorter than the default, because bodies are small. The HTTP server records
  /// no activities for traces, because the engine records an activity for each request.
  braid::http_server::options http = {.body_timeout = std::chrono::seconds(30), .activities = false};
  /// The maximum size of all bodies in memory at a time, in all loops together.
  std::size_t body_memory = 256U * 1024 * 1024;

  std::size_t max_in_flight = 256;  ///< the number of requests that run at a time, in all loops together
  std::size_t queue = 4096;         ///< the number of requests that wait to run, in all loops together
  std::size_t max_batch = 100;      ///< requests in one call of `/v1/rank/batch`
  std::size_t max_events = 1000;    ///< events in one call of `/v1/events`
  /// The maximum number of concurrent requests of each client, if there are tokens. Without a value, only the server's
  /// limit applies. The limit of a plan is part of the plan's budget.
  std::optional<std::size_t> client_in_flight = {};
  /// The maximum time that a request waits for admission. A new request is refused if the first request of the queue
  /// has already waited this long.
  braid::duration max_wait = std::chrono::milliseconds(50);
  /// The maximum share of a loop's time that is spent on refusals when the server is full. If refusals would exceed
  /// this share, the server stops reading from the refused connections for a while, or until requests can be admitted
  /// again. 1 means that reading never stops.
  double refusal_share = 0.1;
  /// The maximum time for which reading from a refused connection is paused. It is also the value of `Retry-After` in
  /// the answer.
  braid::duration max_unread = std::chrono::seconds(1);
  /// The default deadline of a request, counted from the arrival of the request.
  std::chrono::milliseconds default_deadline = std::chrono::seconds(1);

  std::optional<braid::tls_context::identity> tls = {};  ///< if set, connections use TLS with this certificate and key
  std::optional<token_list> tokens = {};                 ///< the tokens of clients; not set: no client needs a token
  /// Host names for which a server without tokens answers, in addition to IP addresses and `localhost`. `*` means any
  /// host (see `own_hosts`).
  std::vector<std::string> allowed_hosts = {};
  bool clients_change_plans = false;  ///< whether clients may also pin, roll back and reload plans
  bool shows_page = false;            ///< whether `/ui` is the page of plans; only on loopback, unless there are tokens
};

}  // namespace rankd
