// rankd/server/rank_server.hpp: serves the engine over HTTP, on any number of loops.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/registry/shadows.hpp>
#include <rankd/server/sinks/audit_line.hpp>
#include <rankd/server/plan_changes.hpp>
#include <rankd/server/studio/plan_source.hpp>
#include <rankd/server/files/serve_log.hpp>
#include <rankd/server/serve_options.hpp>
#include <rankd/server/traces/span_exporter.hpp>
#include <rankd/server/store_scrubber.hpp>
#include <rankd/server/traffic/traffic_writer.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/sockets.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rankd {

class arrow_file;
class counter_writer;
class draft_plans;
class embedded_counters;
class event_log;
class event_rules;
class record_writer;
class store_follower;
class vector_merger;

/// Stores for plans that run as shadows.
struct shadow_stores {
  std::vector<std::unique_ptr<store>> own;  ///< stores that only shadows use; destroyed after the last task has ended
  std::vector<store*> all;                  ///< one for each of registries::endpoints, as in serve_context::stores
};

/// The parts of a server, and the files to which it writes.
struct serve_context {
  const registries* declared = nullptr;
  std::vector<store*> stores;                 ///< one for each of registries::endpoints, null if no store is open
  std::vector<shadow_settings> shadows = {};  ///< plans that run as shadows
  /// Opens separate stores for shadows before the first shadow runs. If this function is empty, shadows use the same
  /// stores as served requests.
  std::function<braid::checked<shadow_stores>()> open_shadow_stores = {};
  const plan_source* plans = nullptr;
  plan_changes* changes = nullptr;  ///< changes the plans; null: the plans do not change
  serve_log log = {};
  line_file* audit = nullptr;                ///< a line for each request to rank; null: no audit
  line_file* captures = nullptr;             ///< a line for rows that nodes of plans capture; null: no captures
  arrow_file* arrow_captures = nullptr;      ///< rows of a table for rows that nodes of plans capture; null: no table
  line_file* exposures = nullptr;            ///< a line for each answer with candidates; null: no exposure log
  event_log* events = nullptr;               ///< the log of `/v1/events`; null: no events are accepted
  const event_rules* rules = nullptr;        ///< the rules for these events; not null if there is a log
  const counter_writer* counters = nullptr;  ///< writes counters for the log; null: no such counters
  /// The counters that are overlaid on the embedded stores in `stores`. Null if there are no such counters.
  const embedded_counters* embedded = nullptr;
  /// The writers of records, with the ids of their endpoints. If there are no writers, no records are accepted.
  std::vector<std::pair<std::string, record_writer*>> records = {};
  const store_follower* follower = nullptr;  ///< switches the embedded stores; null: they do not change
  const vector_merger* merger = nullptr;     ///< merges into files of vectors; null: this server does not merge
  redaction redacted = {};            ///< values that are hidden in the audit, in these lines and in recorded traffic
  traffic_writer* traffic = nullptr;  ///< records the requests that are ranked; null: no recording
  /// Files and folders of recorded traffic, on which the plan page compares plans.
  std::vector<std::filesystem::path> traffic_places = {};
  draft_plans* drafts = nullptr;             ///< plans that are tried before they are saved; null: no drafts
  const store_scrubber* scrubber = nullptr;  ///< scrubs these stores; null: no scrubbing
  span_exporter* spans = nullptr;            ///< sends spans of requests to a collector; null: no spans
  std::function<void()> on_end = {};         ///< Called once, when the last loop has ended. Threads: any.
};

/// An HTTP server with one or several loops. Each loop has its own engine, workers, listener and `admission_gate`. So a
/// request stays on the loop of its connection, and loops share only stores and plans. docs/serving.md describes the
/// endpoints.
/// Threads: one at a time, but never the threads of its own loops. Lifetime: everything that the context points to
/// outlives it.
class rank_server {
 public:
  /// Starts to listen and to serve. Errors: cannot_listen, bad_certificate, no_runtime; page_needs_tokens if other
  /// machines could open the page without a token.
  static auto start(serve_context context, serve_options options) -> braid::checked<std::unique_ptr<rank_server>>;

  /// Stops all running requests and tasks at once.
  ~rank_server();
  rank_server(const rank_server&) = delete;
  auto operator=(const rank_server&) -> rank_server& = delete;

  /// Returns the address, with the port that the system chose.
  [[nodiscard]] auto address() const noexcept -> braid::socket_address;

  /// Reloads the credentials: the given bearer tokens, and the certificate from the current files of
  /// `serve_options::tls`. The returned function puts them into effect. It cannot fail, does not affect open
  /// connections, and must not be called after the server was destroyed. A server that is stopping keeps the old
  /// credentials. Threads: any, except the threads of its own loops. Blocks: on the disk.
  /// Errors: bad_certificate.
  auto renew(std::optional<token_list> tokens) -> braid::checked<std::function<void()>>;

  /// Replaces the plans that run as shadows. The returned function makes the change, and returns whether anything has
  /// changed. Candidates that remain keep their counts, and running requests continue. Nothing changes until the
  /// returned function is called.
  /// Errors: no_runtime; those of the stores.
  auto renew_shadows(std::vector<shadow_settings> next) -> braid::checked<std::function<bool()>>;

  /// Makes `/readyz` report that the server is about to stop. Nothing else changes.
  void announce_stop() noexcept;
  /// Begins to stop, and returns at once. Accepts no more connections, closes idle connections, answers received
  /// requests, and closes the remaining connections after `grace`. Calls `on_end` at the end. May be called again with
  /// another `grace`, which is then counted from the new call.
  void begin_stop(braid::duration grace);
  /// Waits until the server has stopped after `begin_stop`. Blocks: until the server has stopped.
  void wait();

 private:
  struct parts;
  explicit rank_server(std::unique_ptr<parts> made) noexcept;

  std::unique_ptr<parts> parts_;
};

}  // namespace rankd
