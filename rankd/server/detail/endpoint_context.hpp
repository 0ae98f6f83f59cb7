// rankd/server/detail/endpoint_context.hpp: the state that the endpoints of one loop use, and the functions that answer
// requests.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/server/admission/admission_gate.hpp>
#include <rankd/server/admission/concurrency_limit.hpp>
#include <rankd/server/detail/request_sink.hpp>
#include <rankd/server/detail/serve_shared.hpp>
#include <rankd/server/endpoints/endpoint.hpp>
#include <rankd/server/endpoints/error_answer.hpp>
#include <rankd/server/metrics/metered_store.hpp>
#include <rankd/server/metrics/serve_metrics.hpp>
#include <rankd/server/endpoints/token_list.hpp>

#include <braid/net/http_message.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rankd::detail {

/// The share of one loop in each limit of the server. Each share is at least 1.
struct shard_shares {
  std::size_t in_flight = 1;
  std::size_t queue = 1;
  std::size_t connections = 1;
  std::size_t body_memory = 1;
  std::size_t cache_bytes = 0;  // 0: no cache
  std::size_t cache_entries = 1;
  std::size_t record_bytes = 0;  // 0: no cache
  std::size_t record_entries = 1;
};

/// The state that the endpoints of one loop use. Threads: the loop's thread; any thread may use `metrics` and `shared`.
struct endpoint_context {
  endpoint_context(serve_shared& all, shard_shares limits);
  endpoint_context(const endpoint_context&) = delete;
  auto operator=(const endpoint_context&) -> endpoint_context& = delete;

  [[nodiscard]] auto serving() const noexcept -> const serve_context& { return shared->context; }
  [[nodiscard]] auto options() const noexcept -> const serve_options& { return shared->options; }
  [[nodiscard]] auto count_reads(std::size_t endpoint) const noexcept -> read_counts {
    return ranker ? ranker->count_reads(endpoint) : read_counts{};
  }
  [[nodiscard]] auto find_records(std::size_t endpoint) const noexcept -> record_cache_counts {
    return ranker ? ranker->find_records(endpoint) : record_cache_counts{};
  }
  [[nodiscard]] auto cached() const noexcept -> std::optional<cache_counts> {
    return ranker ? ranker->cached() : std::nullopt;
  }
  [[nodiscard]] auto late_nodes() const noexcept -> std::uint64_t { return ranker ? ranker->late_nodes() : 0; }
  /// Returns the number of connections whose reading is paused, because the server refused too many requests.
  [[nodiscard]] auto unread() const noexcept -> std::size_t { return server ? server->counts().paced : 0; }

  serve_shared* shared;
  shard_shares shares;
  admission_gate gate;
  serve_metrics metrics;
  std::shared_ptr<const token_list> tokens;                   // null: no client needs a token
  std::vector<std::unique_ptr<metered_store>> stores;         // one for each endpoint, null if no store is open
  std::vector<store*> store_pointers;                         // the same stores, in the form that the engine needs
  std::map<std::string, unhindered_time, std::less<>> paces;  // by plan name
  std::size_t body_bytes = 0;                                 // the size of all bodies in memory
  std::string last_answer;                                    // its memory is reused by the next answer
  const error_answer overloaded;                              // the answer when the server is full, without an id
  std::vector<std::unique_ptr<request_sink>> sinks;           // in the order in which they receive a request
  std::optional<engine> ranker;                // the last tasks of the runtime use it, and also the server
  std::unique_ptr<braid::http_server> server;  // null before the loop listens
  braid::runtime* runtime = nullptr;           // null before the runtime has started
  braid::loop* loop = nullptr;                 // the loop of the runtime; it exists while the runtime's last tasks run
};

/// Returns the field X-Request-Id of a request, or an empty text if the request has no such field.
[[nodiscard]] auto given_request_id(const braid::http_request_head& head) noexcept -> std::string_view;

/// Answers a request with an error: as JSON, or as a gRPC status if the request has the Content-Type of gRPC.
void send_error(braid::http_exchange& x, const error_answer& error);

/// Answers a request and counts the answer.
void reply(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, braid::http_status status,
           std::string_view type, std::string_view body);
void reply(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, const error_answer& error);

/// Returns the client that sent a request. If the server has no tokens, the client has no name. If the server has
/// tokens and the request has no valid token, returns nothing.
[[nodiscard]] auto find_client(const endpoint_context& context, const braid::http_exchange& x)
    -> std::optional<token_client>;

/// Returns whether `GET /readyz` answers that this server is ready (state_endpoints.cpp).
[[nodiscard]] auto is_ready(const endpoint_context& context) -> bool;

/// Returns the answer to a request whose body could not be read.
[[nodiscard]] auto unread_body(std::error_code error, const braid::http_limits& limits, std::string_view request_id)
    -> error_answer;

}  // namespace rankd::detail
