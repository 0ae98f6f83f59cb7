// rankd/server/detail/shard.hpp: one loop of a server, with its stores, its limits and its HTTP server.
#pragma once

#include <rankd/server/detail/endpoint_context.hpp>
#include <rankd/server/endpoints/own_hosts.hpp>

#include <braid/io/tls.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace rankd::detail {

struct route;

/// The client tokens and the certificate that one loop uses.
struct shard_credentials {
  std::shared_ptr<const token_list> tokens;  // null: no client needs a token
  std::optional<braid::tls_context> tls;     // not set: no TLS
};

/// States whether listeners of several loops may use the same port.
enum class port_use : std::uint8_t { alone, shared };

/// One loop of a server. Threads: one at a time, as for `rank_server`. The threads of the server's loops must not use
/// the object.
class shard {
 public:
  shard(serve_shared& shared, shard_shares shares);
  shard(const shard&) = delete;
  auto operator=(const shard&) -> shard& = delete;

  /// Starts the threads of the runtime. Errors: those of the system.
  auto start_runtime(std::string name) -> braid::result<void>;
  /// Begins to accept connections. Errors: those of `listen`.
  auto serve(const braid::socket_address& address, port_use port, std::function<void()> on_end)
      -> braid::result<braid::socket_address>;
  /// Begins to stop serving, and returns at once. Does nothing if the shard has stopped already.
  void begin_stop(braid::duration grace);
  /// Creates a TLS context from the current contents of the files in `serve_options::tls`. Blocks: on the disk.
  /// Errors: those of `tls_context::server`.
  auto make_tls() -> braid::result<std::optional<braid::tls_context>>;
  /// Replaces the credentials, asynchronously on the loop. Open connections keep the old credentials.
  void renew(shard_credentials next);
  /// Stops the loop, together with all running tasks.
  void stop_runtime() noexcept {
    if (runtime_) static_cast<void>(runtime_->shutdown(braid::shutdown_mode::drain));
  }
  /// Frees the runtime. Requires that all shards are stopped, because a running shard reads the metrics of all
  /// runtimes.
  void end_runtime() noexcept { runtime_.reset(); }

  /// Returns the context of the endpoints. Lifetime: the shard outlives the result.
  [[nodiscard]] auto context() noexcept -> endpoint_context& { return context_; }

 private:
  void add_routes();
  void add_route(const route& added);
  void refuse_other_methods(const route& only);
  [[nodiscard]] auto admits(braid::http_exchange& x) -> bool;
  void refuse_method(braid::http_exchange& x, braid::http_router::method_set allowed);
  auto format_refusal(const braid::http_server::refusal& refusal) -> braid::http_server::refusal_text;
  auto listen(const braid::socket_address& address, port_use port, std::function<void()> on_end)
      -> braid::task<braid::result<braid::socket_address>>;
  auto serve_until_stop(braid::stream_listener listener, std::function<void()> on_end) -> braid::task<void>;

  own_hosts hosts_;  // used only if there are no tokens
  braid::http_router routes_;
  endpoint_context context_;  // once its server exists, only the loop uses the server
  std::unique_ptr<braid::runtime> runtime_;
};

}  // namespace rankd::detail
