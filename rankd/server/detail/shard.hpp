// rankd/server/detail/shard.hpp: one loop of a server, and what answers its requests.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/server/admission_gate.hpp>
#include <rankd/server/concurrency_limit.hpp>
#include <rankd/server/error_answer.hpp>
#include <rankd/server/in_flight_shares.hpp>
#include <rankd/server/metered_store.hpp>
#include <rankd/server/own_hosts.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/serve_metrics.hpp>
#include <rankd/server/shadow_boards.hpp>

#include <braid/net/http_message.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rankd {
struct page_file;
}

namespace rankd::detail {

class shard;

/// What candidates run on: an engine on stores of their own, and its thread, whose last tasks use the engine.
struct shadow_engine {
  shadow_stores stores;
  std::optional<engine> ranker;
  std::unique_ptr<braid::runtime> runs_on;
};

/// What the loops of a server share.
struct serve_shared {
  /// Null before the first candidate.
  [[nodiscard]] auto candidates() const noexcept -> shadow_engine* {
    return shared_shadow_engine.load(braid::acquire);  // edge shadow.engine: observe, complete with its thread
  }
  /// Threads: one at a time, and only while there is none.
  void run_candidates_on(std::unique_ptr<shadow_engine> made) noexcept {
    owned_shadow_engine = std::move(made);
    // edge shadow.engine: publish, complete with its thread
    shared_shadow_engine.store(owned_shadow_engine.get(), braid::release);
  }

  serve_context context;
  serve_options options;
  in_flight_shares of_plans{};
  in_flight_shares of_clients{};
  in_flight_shares of_traces{};   // calls of /v1/trace, and comparisons
  in_flight_shares of_shadows{};  // runs of candidates
  shadow_boards shadows{};
  std::unique_ptr<shadow_engine> owned_shadow_engine{};  // written once, before the pointer to it
  braid::atomic<shadow_engine*> shared_shadow_engine{};  // written once, by a reload or the start; else null
  std::vector<std::unique_ptr<shard>> shards;            // complete before the first of them serves
  braid::atomic<bool> stopping{false};                   // written by the thread that stops the server: true for good
};

/// With its thread. Errors: no_runtime; those of the stores.
auto make_shadow_engine(const serve_shared& all) -> braid::checked<std::unique_ptr<shadow_engine>>;

/// The share that one loop of several has of a bound on all of them; 1 at least.
struct shard_shares {
  std::size_t in_flight = 1;
  std::size_t queue = 1;
  std::size_t connections = 1;
  std::size_t body_memory = 1;
  std::size_t cache_bytes = 0;  // 0: none
  std::size_t cache_entries = 1;
};

/// The tokens of clients and the certificate of one loop.
struct shard_credentials {
  std::shared_ptr<const token_list> tokens;  // null: every client
  std::optional<braid::tls_context> tls;     // nothing: no TLS
};

/// Where the answer to one request goes: an exchange of its own, or its place in the answer to a batch.
struct reply_place {
  reply_place(braid::http_exchange& exchange) noexcept : x(&exchange) {}  // NOLINT(*-explicit-*): it stands for it
  explicit reply_place(std::string& answer) noexcept : text(&answer) {}

  braid::http_exchange* x = nullptr;  // null: a part of a batch
  std::string* text = nullptr;        // of that part
};

/// Whether other listeners may have the same port: those of the other loops.
enum class port_use : std::uint8_t { alone, shared };

class shard {
 public:
  shard(serve_shared& all, shard_shares shares);
  shard(const shard&) = delete;
  auto operator=(const shard&) -> shard& = delete;

  /// Starts the threads. Errors: the system's.
  auto start_runtime(std::string name) -> braid::result<void>;
  /// Takes connections from now on. Errors: those of `listen`.
  auto serve(const braid::socket_address& at, port_use port, std::function<void()> on_end)
      -> braid::result<braid::socket_address>;
  /// Returns at once. Once it has served to its end, does nothing.
  void begin_stop(braid::duration grace);
  /// What `serve_options::tls` holds now. Blocks: on the disk. Errors: those of `tls_context::server`.
  auto make_tls() -> braid::result<std::optional<braid::tls_context>>;
  /// Has effect soon, on the loop; connections that are there go on as they are.
  void renew(shard_credentials next);
  /// Stops the loop with all that still runs.
  void stop_runtime() noexcept {
    if (on_) static_cast<void>(on_->shutdown(braid::shutdown_mode::drain));
  }
  /// Frees it. Requires that all are stopped, since one that runs reads the metrics of all.
  void end_runtime() noexcept { on_.reset(); }

  [[nodiscard]] auto io() noexcept -> braid::loop& { return *io_; }
  [[nodiscard]] auto runs_on() noexcept -> braid::runtime& { return *on_; }
  [[nodiscard]] auto metrics() noexcept -> serve_metrics& { return metrics_; }
  /// One for each endpoint, null where there is no store. They stay as long as the shard.
  [[nodiscard]] auto stores() const noexcept -> const std::vector<std::unique_ptr<metered_store>>& { return stores_; }
  [[nodiscard]] auto reads_of(std::size_t endpoint) const noexcept -> read_counts {
    return ranker_ ? ranker_->reads_of(endpoint) : read_counts{};
  }
  [[nodiscard]] auto cached() const noexcept -> std::optional<cache_counts> {
    return ranker_ ? ranker_->cached() : std::nullopt;
  }
  [[nodiscard]] auto late_nodes() const noexcept -> std::uint64_t { return ranker_ ? ranker_->late_nodes() : 0; }

 private:
  struct held_body;
  struct record_end;
  struct ready_request;
  struct recorded_ask;
  struct shadow_ask;
  struct call_end;
  struct event_end;
  struct compare_end;
  struct traffic_run;
  /// Two plans to be compared.
  struct plan_pair {
    plan_handle before;
    plan_handle after;
  };

  void add_routes();
  /// Adds a handler that runs only for requests that `admits` lets through. No other function adds a route.
  template <typename Fn>
  void add_route(braid::http_method method, std::string_view pattern, Fn fn) {
    routes_.add(method, pattern, [this, fn = std::move(fn)](braid::http_exchange& x) {
      using answer_type = decltype(fn(x));
      if (!admits(x)) return answer_type();
      return fn(x);
    });
  }
  template <typename Fn>
  void add_get(std::string_view pattern, Fn fn) {
    add_route(braid::http_method::get, pattern, std::move(fn));
  }
  template <typename Fn>
  void add_post(std::string_view pattern, Fn fn) {
    add_route(braid::http_method::post, pattern, std::move(fn));
  }
  /// Returns true if the request may go on; otherwise it has been answered.
  auto admits(braid::http_exchange& x) -> bool;
  /// A path that needs a token, whatever the method.
  template <typename Fn>
  void serve_get(std::string_view pattern, Fn fn) {
    add_get(pattern, std::move(fn));
    refuse_other_methods(pattern, braid::http_method::get);
  }
  template <typename Fn>
  void serve_post(std::string_view pattern, Fn fn) {
    add_post(pattern, std::move(fn));
    refuse_other_methods(pattern, braid::http_method::post);
  }
  void refuse_other_methods(std::string_view pattern, braid::http_method only);
  void refuse_method(braid::http_exchange& x, braid::http_router::method_set allowed);
  auto listen(const braid::socket_address& at, port_use port, std::function<void()> on_end)
      -> braid::task<braid::result<braid::socket_address>>;
  auto serve_until_stop(braid::stream_listener listener, std::function<void()> on_end) -> braid::task<void>;
  auto format_refusal(const braid::http_server::refusal& refusal) -> braid::http_server::refusal_text;

  // rank_endpoint.cpp
  auto rank(braid::http_exchange& x) -> braid::task<void>;
  [[nodiscard]] auto new_record() const -> request_record;
  auto read_and_rank(braid::http_exchange& x, request_record record, in_flight_shares::pass of_client)
      -> braid::task<void>;
  auto prepare(reply_place to, request_record& record, std::string_view text) -> std::optional<ready_request>;
  auto run(reply_place to, request_record& record, ready_request& ready) -> braid::task<void>;
  auto read_body(braid::http_exchange& x, held_body& into) -> braid::task<braid::result<void>>;
  [[nodiscard]] static auto read_body_now(braid::http_exchange& x, held_body& into)
      -> std::optional<braid::result<void>>;
  auto check_head(braid::http_exchange& x, request_record& record) -> bool;
  void answer(reply_place to, request_record& record, const ranking& result);
  void fail(reply_place to, request_record& record, const error_answer& error);
  void fail_body(braid::http_exchange& x, request_record& record, std::error_code why);
  void overloaded(reply_place to, request_record& record);
  static auto make_refusal() -> error_answer;
  void busy(reply_place to, request_record& record, std::string code, std::string_view message);
  void count_nodes(const bound_plan& plan, const ranking& result);
  void note_degraded(reply_place to, request_record& record, const ranking& result);
  void learn(const ranking& result, const known_plan& plan, braid::duration took, const admission_gate::pass& pass);
  void note(request_record& record, endpoint which);
  void report(request_record& record);
  [[nodiscard]] auto unread() const noexcept -> std::size_t { return server_ ? server_->counts().paced : 0; }
  void report_refusals(braid::time_point now);

  // tracing.cpp
  void join_trace(braid::http_exchange& x, request_record& record) const;
  [[nodiscard]] auto exports(const request_record& record) const noexcept -> bool;
  void add_node_spans(request_record& record, const bound_plan& plan, const ranking& result,
                      braid::time_point ended) const;
  /// Nothing for `which`: a part of a batch.
  void export_spans(request_record& record, std::optional<endpoint> which) const;
  auto trace(braid::http_exchange& x) -> braid::task<void>;
  // recorded_requests.cpp
  [[nodiscard]] auto recorded(const rank_request& request, const bound_plan& plan, std::string_view text,
                              std::string_view head_id) -> std::unique_ptr<recorded_ask>;
  void keep(recorded_ask& recorded, const plan_handle& plan, const ranking& result, std::string_view answered);
  void write_traffic(exposition& out) const;

  // shadow_runs.cpp
  [[nodiscard]] auto shadowed(const rank_request& request, std::string_view plan, std::string_view text,
                              std::string_view head_id) const -> std::unique_ptr<shadow_ask>;
  void begin_shadow(std::unique_ptr<shadow_ask> ask, const plan_handle& plan, const ranking& served);
  auto compare_with_candidate(const shadow_ask& ask, const bound_plan& plan, const ranking& served)
      -> braid::task<void>;
  auto run_shadow(std::unique_ptr<shadow_ask> ask, plan_handle plan, ranking served, in_flight_shares::pass place)
      -> braid::task<void>;
  void shadow(braid::http_exchange& x);

  // event_endpoint.cpp
  auto take_events(braid::http_exchange& x) -> braid::task<void>;
  auto read_events(braid::http_exchange& x, request_record record) -> braid::task<void>;
  void write_events(exposition& out) const;
  void write_counters(exposition& out) const;

  // captured_requests.cpp
  void keep_captures(const request_record& record, const bound_plan& plan, const ranking& result,
                     std::chrono::milliseconds time);
  void keep_exposure(const request_record& record, const ranking& result, std::chrono::milliseconds time);
  void write_lines(exposition& out) const;
  void write_reopenings(exposition& out) const;

  // batch_endpoint.cpp
  auto rank_batch(braid::http_exchange& x) -> braid::task<void>;
  auto read_batch(braid::http_exchange& x, request_record record) -> braid::task<void>;
  auto rank_part(std::string_view text, request_record record, std::string& answer) -> braid::task<bool>;

  // change_endpoints.cpp
  void add_change_routes();
  void versions(braid::http_exchange& x);
  auto compare(braid::http_exchange& x) -> braid::task<void>;
  /// The plan of that name, of the version that `field` of the query names where it does; null where there is none, and
  /// then the request has been answered.
  auto asked_plan(braid::http_exchange& x, endpoint which, std::string_view name, std::string_view field)
      -> plan_handle;
  void no_version(braid::http_exchange& x, endpoint which, std::string_view number);
  auto pin(braid::http_exchange& x) -> braid::task<void>;
  auto unpin(braid::http_exchange& x) -> braid::task<void>;
  auto roll_back(braid::http_exchange& x) -> braid::task<void>;
  auto reload(braid::http_exchange& x) -> braid::task<void>;
  void changed(braid::http_exchange& x, endpoint which, const braid::checked<plan_version_info>& version);
  void refuse_change(braid::http_exchange& x, endpoint which, const braid::diagnostics& problems);

  // compare_endpoint.cpp
  void add_compare_routes();
  auto asked_pair(braid::http_exchange& x, endpoint which) -> std::optional<plan_pair>;
  auto compare_by_answers(braid::http_exchange& x) -> braid::task<void>;
  auto request_of_comparison(braid::http_exchange& x, request_record& record, std::string_view text,
                             const bound_plan& plan) -> std::optional<rank_request>;
  auto may_see_traffic(braid::http_exchange& x, endpoint which) -> bool;
  auto list_traffic(braid::http_exchange& x) -> braid::task<void>;
  auto asked_traffic(braid::http_exchange& x, plan_pair pair) -> std::shared_ptr<traffic_run>;
  auto compare_by_traffic(braid::http_exchange& x) -> braid::task<void>;

  // draft_endpoint.cpp
  void add_draft_routes();
  auto may_edit(braid::http_exchange& x, endpoint which) -> bool;
  auto asked_draft(braid::http_exchange& x, endpoint which, const std::string& name) -> plan_handle;
  auto read_edit(braid::http_exchange& x, endpoint which, held_body& body) -> braid::task<bool>;
  template <typename Ask>
  auto ask_compiler(braid::http_exchange& x, endpoint which, Ask ask) -> braid::task<void>;
  auto source(braid::http_exchange& x) -> braid::task<void>;
  auto save(braid::http_exchange& x) -> braid::task<void>;
  auto draft(braid::http_exchange& x) -> braid::task<void>;
  auto complete(braid::http_exchange& x) -> braid::task<void>;
  auto change_option(braid::http_exchange& x) -> braid::task<void>;
  auto project(braid::http_exchange& x) -> braid::task<void>;
  auto compiler_script(braid::http_exchange& x) -> braid::task<void>;

  // page_endpoint.cpp
  void add_page_routes();
  void page(braid::http_exchange& x, const page_file& file);
  [[nodiscard]] auto offers_to(const token_client& client) const -> std::vector<std::string>;

  // other_endpoints.cpp
  void plans(braid::http_exchange& x);
  auto plan(braid::http_exchange& x) -> braid::task<void>;
  void health(braid::http_exchange& x);
  void ready(braid::http_exchange& x);
  void answer_metrics(braid::http_exchange& x);
  auto tasks(braid::http_exchange& x) -> braid::task<void>;
  void write_endpoints(exposition& out) const;
  void write_scrub(exposition& out) const;
  void write_cache(exposition& out) const;  // cache_metrics.cpp
  void write_runtimes(exposition& out) const;
  [[nodiscard]] auto store_damage() const -> std::string;
  auto unknown_plan(std::string_view name, std::string_view pointer, std::string_view request_id) const -> error_answer;
  auto client_of(braid::http_exchange& x) const -> std::optional<token_client>;
  void reply(braid::http_exchange& x, endpoint which, braid::http_status status, std::string_view type,
             std::string_view body);
  void reply(braid::http_exchange& x, endpoint which, const error_answer& error);
  auto may_ask(braid::http_exchange& x, endpoint which) -> bool;

  serve_shared* all_;
  shard_shares shares_;
  admission_gate gate_;
  std::map<std::string, unhindered_time, std::less<>> paces_;  // by plan
  std::size_t held_bytes_ = 0;                                 // of bodies
  serve_metrics metrics_;
  std::string answer_;  // the last one; its memory is for the next
  const error_answer refusal_ = make_refusal();
  std::uint64_t unreported_refusals_ = 0;                             // that the log has not reported
  braid::time_point next_refusal_report_ = braid::time_point::min();  // when it may do so again

  std::vector<std::unique_ptr<metered_store>> stores_;
  std::string frame_;                         // the last recorded request; its memory is for the next
  std::size_t usual_reads_ = 0;               // bytes of recorded reads that a request has at most, lately
  std::vector<store*> asked_;                 // these, as the engine wants them
  std::shared_ptr<const token_list> tokens_;  // null: every client may ask
  own_hosts hosts_;                           // for the time without tokens

  braid::http_router routes_;
  std::optional<engine> ranker_;                // used by the last tasks of the runtime, as is the server
  std::unique_ptr<braid::http_server> server_;  // touched on the loop only, once it is there
  std::unique_ptr<braid::runtime> on_;
  braid::loop* io_ = nullptr;  // of the runtime; its last tasks run while that is being destroyed
};

/// The field X-Request-Id of a request; nothing where it has none.
[[nodiscard]] auto given_request_id(const braid::http_request_head& head) noexcept -> std::string_view;

}  // namespace rankd::detail
