// rankd/server/traces/span_exporter.hpp: sends spans to a collector by OTLP over HTTP, on a separate thread.
#pragma once

#include <rankd/server/traces/otlp_span.hpp>
#include <rankd/server/files/serve_log.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/http_client.hpp>
#include <braid/runtime/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

struct span_export_options {
  std::string url;   ///< the URL of the collector; without a path, `/v1/traces` is used
  double share = 1;  ///< the share of the traces that begin in this server
  /// The maximum number of queued spans. If the queue is full, the spans of whole requests are dropped.
  std::size_t queue = 16'384;
  std::size_t batch = 512;  ///< the maximum number of spans in one call, unless one request has more
  braid::duration interval = std::chrono::milliseconds(200);  ///< the time between two checks of the queue
  braid::duration timeout = std::chrono::seconds(5);          ///< the timeout of a call
  unsigned attempts = 4;                                      ///< the number of attempts to deliver a batch
  /// The pause before the second attempt. It is doubled before each further attempt.
  braid::duration retry_after = std::chrono::seconds(1);
  braid::duration last_words = std::chrono::seconds(2);  ///< time for the waiting spans when the exporter ends
  /// Looks up the addresses of the collector's host. Runs on its own thread, which may outlive the exporter.
  std::function<braid::result<braid::socket_address::list>(const std::string&)> lookup = &braid::detail::lookup_host;
};

/// Counts of spans by their outcome. Each span is counted in exactly one member.
struct span_counts {
  std::uint64_t exported = 0;
  std::uint64_t dropped = 0;  ///< spans that were dropped because the queue was full, or because memory ran out
  std::uint64_t failed = 0;   ///< spans that the collector has not accepted
  std::uint64_t queued = 0;   ///< spans that are queued or being sent
};

/// Returns the full URL of a collector. `text` is the URL in an option. Errors: errc::bad_url for an invalid URL.
[[nodiscard]] auto collector_url(std::string_view text) -> braid::result<std::string>;

/// A queue of spans, and a thread that sends them to a collector. If the collector is slow, is down or refuses spans,
/// no request is delayed: the queue fills up, and further spans are dropped and counted. A failure is logged
/// (`collector_failed`). Further failures are not logged until the collector has accepted a batch again. Threads: any.
/// Lifetime: the log outlives it.
class span_exporter {
 public:
  /// Starts the thread. Errors: no_runtime; bad_url.
  static auto start(span_export_options options, serve_log log) -> braid::checked<std::unique_ptr<span_exporter>>;
  /// Sends the queued spans, but gives up after `last_words`. Does not wait for an address lookup that is still running
  /// then.
  ~span_exporter();
  span_exporter(const span_exporter&) = delete;
  auto operator=(const span_exporter&) -> span_exporter& = delete;

  /// Returns whether a trace that begins in this server is exported. The result depends on the trace id, so that all
  /// servers with the same share get the same result. Cost: a comparison.
  [[nodiscard]] auto samples(const braid::trace_context& first) const noexcept -> bool;
  /// Queues the spans of one request. If there is not enough room for all of them, drops all of them. Blocks: for an
  /// uncontended lock.
  void add(std::vector<otlp_span> of_request);
  /// Counts a dropped span, which could not be built because memory ran out.
  void lose() noexcept;

  [[nodiscard]] auto counts() const -> span_counts;

 private:
  using spans = std::vector<otlp_span>;
  class lookups;

  span_exporter(span_export_options options, serve_log log, std::unique_ptr<braid::runtime> runtime);

  auto work() -> braid::task<void>;
  auto deliver(braid::http_client& client, const spans& batch) -> braid::task<void>;
  auto take_batch() -> spans;
  auto pause(braid::duration span) -> braid::task<void>;
  [[nodiscard]] auto is_ending() const -> bool;
  void settle(std::size_t taken, std::size_t refused);
  void report(const braid::result<braid::http_client::answer>& answer);

  const span_export_options options_;
  const serve_log log_;
  const std::shared_ptr<lookups> lookups_;
  bool is_reported_ = false;  // whether a failure of the collector was logged; used by the loop

  mutable std::mutex mutex_;  // guards the members below
  std::deque<spans> waiting_;
  span_counts counts_;
  bool ending_ = false;

  std::unique_ptr<braid::runtime> runtime_;
  std::optional<braid::future<void>> works_;
};

}  // namespace rankd
