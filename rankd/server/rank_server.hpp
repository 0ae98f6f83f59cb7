// rankd/server/rank_server.hpp: the engine behind HTTP, on as many loops as are wanted.
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
#include <vector>

namespace rankd {

class arrow_file;
class counter_writer;
class draft_plans;
class embedded_counters;
class event_log;
class event_rules;

/// Stores that plans ask which run beside others.
struct shadow_stores {
  std::vector<std::unique_ptr<store>> own;  ///< for these alone; they go when nothing runs any more
  std::vector<store*> all;                  ///< one for each of registries::endpoints, as serve_context::stores
};

/// What a server serves, and where it logs it.
struct serve_context {
  const registries* declared = nullptr;
  std::vector<store*> stores;                 ///< one for each of registries::endpoints, null where none is open
  std::vector<shadow_settings> shadows = {};  ///< plans that run beside others
  /// Opens what these ask, when the first one is to run; empty: the same stores.
  std::function<braid::checked<shadow_stores>()> open_shadow_stores = {};
  const plan_source* plans = nullptr;
  plan_changes* changes = nullptr;  ///< of these plans; null: they stay as they are
  serve_log log = {};
  line_file* audit = nullptr;                ///< a line for each request to rank; null: none
  line_file* captures = nullptr;             ///< a line for rows that nodes of plans capture; null: none
  arrow_file* arrow_captures = nullptr;      ///< the same as rows of a table; null: none
  line_file* exposures = nullptr;            ///< a line for each answer with candidates; null: none
  event_log* events = nullptr;               ///< what `/v1/events` writes to; null: it takes none
  const event_rules* rules = nullptr;        ///< of these; not null where there is a log
  const counter_writer* counters = nullptr;  ///< that the log writes to; null: none
  /// The same of embedded stores, over which `stores` lays them.
  const embedded_counters* embedded = nullptr;
  redaction redacted = {};            ///< in the audit, these lines and recorded traffic
  traffic_writer* traffic = nullptr;  ///< records the requests that are ranked; null: nothing does
  /// Files of recorded traffic, and folders of such, on which the page compares plans.
  std::vector<std::filesystem::path> traffic_places = {};
  draft_plans* drafts = nullptr;             ///< plans that are tried before they are saved; null: none are
  const store_scrubber* scrubber = nullptr;  ///< of these stores; null: none
  span_exporter* spans = nullptr;            ///< of requests, for a collector; null: none
  std::function<void()> on_end = {};         ///< called once, when the last loop has served to its end. Any thread.
};

/// Each loop has an engine, workers, a listener and an `admission_gate` of its own, so that a request stays where its
/// connection is and shares nothing but stores and plans. Endpoints: docs/serving.md
/// Threads: one at a time; none of its own loops. Lifetime: what the context points to outlives it.
class rank_server {
 public:
  /// Listens, and serves from then on. Errors: cannot_listen, bad_certificate, no_runtime; page_needs_tokens for a page
  /// that other machines could open without a token.
  static auto start(serve_context context, serve_options options) -> braid::checked<std::unique_ptr<rank_server>>;

  /// Stops at once what still runs.
  ~rank_server();
  rank_server(const rank_server&) = delete;
  auto operator=(const rank_server&) -> rank_server& = delete;

  /// With the port that the system chose.
  [[nodiscard]] auto address() const noexcept -> braid::socket_address;

  /// Reloads the bearer tokens of clients and the server's certificate: these tokens, and what the files of
  /// `serve_options::tls` hold now. Nothing changes before the function that it gives is called, and that cannot fail;
  /// connections go on as they are. The function must be called, if at all, before the server is destroyed; one that
  /// ends already keeps what it has. Threads: any but its own loops. Blocks: on the disk.
  /// Errors: bad_certificate.
  auto renew(std::optional<token_list> tokens) -> braid::checked<std::function<void()>>;

  /// The same of the plans that run beside others: these, and no others. The function says whether that is a change.
  /// Candidates that stay keep their counts, and runs that began go on. A function that is not called leaves nothing.
  /// Errors: no_runtime; those of the stores.
  auto renew_shadows(std::vector<shadow_settings> next) -> braid::checked<std::function<bool()>>;

  /// From now on `/readyz` says that it is going to stop; everything else goes on.
  void announce_stop() noexcept;
  /// Takes no more connections, closes idle ones, answers what was received, and cuts what is left after `grace`.
  /// Returns at once; `on_end` is called at the end. May be called again with another `grace`, which counts from then.
  void begin_stop(braid::duration grace);
  /// Blocks: until it has served to its end, which `begin_stop` brings about.
  void wait();

 private:
  struct parts;
  explicit rank_server(std::unique_ptr<parts> made) noexcept;

  std::unique_ptr<parts> parts_;
};

}  // namespace rankd
