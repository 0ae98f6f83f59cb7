// rankd/server/rank_server.cpp: starts and ends the loops of a server.
#include <rankd/server/rank_server.hpp>

#include <rankd/server/detail/shard.hpp>

#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

namespace rankd {

struct rank_server::parts {
  detail::serve_shared shared;
  braid::socket_address bound;

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t serving = 0;   // loops that have not ended
  bool reports_end = false;  // the starter of the server is notified

  std::mutex renewing;  // held while loops make and get new contexts
  bool ending = false;  // the loops are being destroyed; under `renewing`

  auto listen() -> braid::result<void>;
  void shard_ended();
  void stop_shadows() const noexcept {
    if (const auto* candidates = shared.candidates()) candidates->runs_on->io().stop();
  }
};

namespace {

auto share(std::size_t all, std::size_t loops, std::size_t index) -> std::size_t {
  return std::max<std::size_t>(all / loops + (index < all % loops ? 1 : 0), 1);
}

auto make_shares(const serve_options& options, std::size_t index) -> detail::shard_shares {
  return {.in_flight = share(options.max_in_flight, options.loops, index),
          .queue = options.queue == 0 ? 0 : share(options.queue, options.loops, index),
          .connections = share(options.http.connections, options.loops, index),
          .body_memory =
              std::max<std::size_t>(share(options.body_memory, options.loops, index), options.http.limits.body_bytes),
          .cache_bytes = options.engine.cache.bytes / options.loops,
          .cache_entries = share(options.engine.cache.entries, options.loops, index),
          .record_bytes = options.engine.records.bytes / options.loops,
          .record_entries = share(options.engine.records.entries, options.loops, index)};
}

/// Returns whether the plan page can be opened only from this machine, or only by clients with tokens. No one else may
/// open it, because the page can run plans for any user id.
auto page_is_private(const serve_options& options) -> bool {
  if (options.tokens || !options.listen.is_ip()) return true;
  const std::string host = options.listen.host();
  return host.starts_with("127.") || host == "::1";
}

auto page_needs_tokens(const braid::socket_address& address) -> braid::diagnostics {
  return braid::diagnostics({.code = "page_needs_tokens",
                             .pointer = {},
                             .message = "without tokens, only this machine may reach the page that shows plans, but " +
                                        address.to_string() + " is not a loopback address",
                             .hint = "listen on 127.0.0.1 or [::1], or use --token-file",
                             .node = {},
                             .source = {}});
}

auto cannot_listen(const braid::socket_address& address, std::error_code error) -> braid::diagnostics {
  return braid::diagnostics({.code = "cannot_listen",
                             .pointer = {},
                             .message = "cannot listen at " + address.to_string() + ": " + error.message(),
                             .hint = {},
                             .node = {},
                             .source = {}});
}

auto bad_identity(std::error_code error) -> braid::diagnostics {
  return braid::diagnostics({.code = "bad_certificate",
                             .pointer = {},
                             .message = "certificate and key cannot be used: " + error.message(),
                             .hint = {},
                             .node = {},
                             .source = {}});
}

}  // namespace

void rank_server::parts::shard_ended() {
  bool last = false;
  {
    const std::scoped_lock lock(mutex);
    last = --serving == 0 && reports_end;
  }
  if (last && shared.context.on_end) shared.context.on_end();
  changed.notify_all();
}

/// Starts to listen on all loops. The loops share a port by a socket option. With this option, other servers of the
/// same user could share the port, too. So the port is first opened without the option, which fails if the port is in
/// use.
auto rank_server::parts::listen() -> braid::result<void> {
  using detail::port_use;
  braid::socket_address at = shared.options.listen;
  const port_use port = shared.shards.size() > 1 ? port_use::shared : port_use::alone;
  // Checks that no other process listens on the port that the shards will share. If the system chooses the port, this
  // listener keeps the port reserved until the shards listen.
  braid::result<braid::stream_listener> probe;
  if (port == port_use::shared) {
    probe = braid::stream_listener::listen(*shared.shards.front()->context().loop, at, {.reuse_port = at.port() == 0});
    if (!probe) return braid::fail(probe.error());
    const auto free = probe->local_address();
    if (!free) return braid::fail(free.error());
    if (at.port() != 0) probe = braid::stream_listener();
    at = *free;
  }
  for (const auto& each : shared.shards) {
    {
      const std::scoped_lock lock(mutex);
      ++serving;
    }
    const auto got = each->serve(at, port, [this] { shard_ended(); });
    if (!got) return braid::fail(got.error());
    bound = at = *got;
    probe = braid::stream_listener();
  }
  return {};
}

auto rank_server::start(serve_context context, serve_options options) -> braid::checked<std::unique_ptr<rank_server>> {
  options.loops = std::max(options.loops, 1U);
  if (options.shows_page && !page_is_private(options)) return std::unexpected(page_needs_tokens(options.listen));
  if (options.tls)
    if (const auto fine = braid::tls_context::server({.identity = *options.tls}); !fine)
      return std::unexpected(bad_identity(fine.error()));
  auto made = std::make_unique<parts>();
  made->shared.context = std::move(context);
  made->shared.options = std::move(options);
  const serve_options& how = made->shared.options;
  for (unsigned index = 0; index < how.loops; ++index) {
    auto& added =
        *made->shared.shards.emplace_back(std::make_unique<detail::shard>(made->shared, make_shares(how, index)));
    if (const auto started = added.start_runtime("serve" + std::to_string(index)); !started)
      return std::unexpected(no_runtime(started.error()));
  }
  std::unique_ptr<rank_server> server(new rank_server(std::move(made)));
  const auto begin_shadows = server->renew_shadows(server->parts_->shared.context.shadows);
  if (!begin_shadows) return std::unexpected(begin_shadows.error());
  (*begin_shadows)();
  if (const auto listens = server->parts_->listen(); !listens)
    return std::unexpected(cannot_listen(server->parts_->shared.options.listen, listens.error()));
  bool over = false;
  {
    const std::scoped_lock lock(server->parts_->mutex);
    server->parts_->reports_end = true;
    over = server->parts_->serving == 0;
  }
  if (over && server->parts_->shared.context.on_end) server->parts_->shared.context.on_end();
  return server;
}

rank_server::rank_server(std::unique_ptr<parts> made) noexcept : parts_(std::move(made)) {}

rank_server::~rank_server() {
  {
    const std::scoped_lock lock(parts_->mutex);
    parts_->reports_end = false;
  }
  {
    const std::scoped_lock lock(parts_->renewing);
    parts_->ending = true;
  }
  parts_->stop_shadows();  // early, because their thread gets little time on a busy machine
  for (const auto& each : parts_->shared.shards) each->stop_runtime();
  if (const auto* candidates = parts_->shared.candidates())
    static_cast<void>(candidates->runs_on->shutdown(braid::shutdown_mode::drain));
  for (const auto& each : parts_->shared.shards) each->end_runtime();
}

auto rank_server::address() const noexcept -> braid::socket_address { return parts_->bound; }

auto rank_server::renew(std::optional<token_list> tokens) -> braid::checked<std::function<void()>> {
  const std::scoped_lock lock(parts_->renewing);
  if (parts_->ending) return std::function<void()>([] {});
  auto next = std::make_shared<std::vector<detail::shard_credentials>>();
  const auto who = tokens ? std::make_shared<const token_list>(std::move(*tokens)) : nullptr;
  for (const auto& each : parts_->shared.shards) {
    auto tls = each->make_tls();
    if (!tls) return std::unexpected(bad_identity(tls.error()));
    next->push_back({.tokens = who, .tls = std::move(*tls)});
  }
  return std::function<void()>([all = parts_.get(), next] {
    const std::scoped_lock alone(all->renewing);
    if (all->ending) return;
    for (std::size_t at = 0; at < next->size(); ++at) all->shared.shards[at]->renew(std::move((*next)[at]));
  });
}

auto rank_server::renew_shadows(std::vector<shadow_settings> next) -> braid::checked<std::function<bool()>> {
  const std::scoped_lock lock(parts_->renewing);
  if (parts_->ending) return std::function<bool()>([] { return false; });
  auto engine = std::make_shared<std::unique_ptr<detail::shadow_engine>>();
  if (!next.empty() && parts_->shared.candidates() == nullptr) {
    auto made = make_shadow_engine(parts_->shared);
    if (!made) return std::unexpected(std::move(made.error()));
    *engine = std::move(*made);
  }
  return std::function<bool()>([all = parts_.get(), next = std::move(next), engine] {
    const std::scoped_lock alone(all->renewing);
    if (all->ending) return false;
    // Sets the engine before the shadow board, because a request that finds a shadow board uses the engine.
    if (*engine != nullptr && all->shared.candidates() == nullptr) all->shared.run_candidates_on(std::move(*engine));
    return all->shared.shadows.replace(next);
  });
}

void rank_server::announce_stop() noexcept { parts_->shared.stopping.store(true, braid::relaxed); }

void rank_server::begin_stop(braid::duration grace) {
  announce_stop();
  parts_->stop_shadows();
  for (const auto& each : parts_->shared.shards) each->begin_stop(grace);
}

void rank_server::wait() {
  std::unique_lock lock(parts_->mutex);
  parts_->changed.wait(lock, [this] { return parts_->serving == 0; });
}

}  // namespace rankd
