// rankd/server/shard.cpp: starts and stops one loop of a server, and registers its routes.
#include <rankd/server/detail/shard.hpp>

#include <rankd/engine/detail/thrown_message.hpp>
#include <rankd/server/detail/routes.hpp>
#include <rankd/server/grpc/grpc_status.hpp>

#include <braid/io/sockets.hpp>
#include <braid/net/http_message.hpp>
#include <braid/task/executor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

auto make_server_options(const serve_options& options, shard_shares shares) -> braid::http_server::options {
  braid::http_server::options out = options.http;
  out.connections = shares.connections;
  return out;
}

constexpr std::string_view memory_message = "the server has not enough memory for this request; try again later";

/// The code and message of the error for a request that reaches no handler, or whose handler fails.
struct refusal_message {
  std::string code;
  std::string message;
};

auto make_message(const braid::http_server::refusal& refusal, const braid::http_limits& limits) -> refusal_message {
  if (refusal.why && refusal.why.category() == braid::detail::http_category()) {
    const auto fault = static_cast<braid::http_errc>(refusal.why.value());
    return {std::string(code_of(fault)), format_sentence(fault, limits)};
  }
  if (refusal.why == std::errc::not_enough_memory) return {"out_of_memory", std::string(memory_message)};
  switch (refusal.status) {
    case braid::http_status::not_found: return {"unknown_path", "there is no endpoint at this path"};
    case braid::http_status::method_not_allowed:
      return {"method_not_allowed",
              "this path does not support that method; the header field Allow lists the supported methods"};
    default: return {"internal_error", "the server failed to answer; its log has the reason"};
  }
}

/// Logs the functions on a stalled thread's stack in one field, beginning with the innermost.
void log_stall(const serve_log& log, const braid::runtime::stall& stall) {
  std::string stack;
  for (const std::string& each : stall.functions) (stack += stack.empty() ? "" : " < ") += each;
  log.note(
      log_level::warning, "stalled",
      {{"thread", stall.thread},
       {"at_least_ms", std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(stall.at_least).count()}},
       {"stack", stack}});
}

}  // namespace

shard::shard(serve_shared& shared, shard_shares shares)
    : hosts_(shared.options.allowed_hosts), context_(shared, shares) {
  add_routes();
}

auto shard::start_runtime(std::string name) -> braid::result<void> {
  auto made = braid::runtime::create(
      {.workers = context_.options().workers,
       .name = std::move(name),
       .stall_limit = context_.options().stall_limit,
       .on_stall = [log = context_.serving().log](const braid::runtime::stall& stall) { log_stall(log, stall); }});
  if (!made) return braid::fail(made.error());
  runtime_ = std::move(*made);
  context_.runtime = runtime_.get();
  context_.loop = &runtime_->io();
  for (store* each : context_.serving().stores) {
    context_.stores.push_back(each == nullptr ? nullptr : std::make_unique<metered_store>(*each));
    context_.store_pointers.push_back(context_.stores.back().get());
  }
  engine_options how = context_.options().engine;
  how.metrics = node_metrics::collected;
  if (context_.serving().captures != nullptr || context_.serving().arrow_captures != nullptr)
    how.captures = plan_captures::taken;
  how.cache.bytes = context_.shares.cache_bytes;
  how.cache.entries = context_.shares.cache_entries;
  how.records.bytes = context_.shares.record_bytes;
  how.records.entries = context_.shares.record_entries;
  context_.ranker.emplace(*runtime_, *context_.serving().declared, context_.store_pointers, how);
  return {};
}

auto shard::serve(const braid::socket_address& address, port_use port, std::function<void()> on_end)
    -> braid::result<braid::socket_address> {
  return runtime_->run(listen(address, port, std::move(on_end)));
}

auto shard::listen(const braid::socket_address& address, port_use port, std::function<void()> on_end)
    -> braid::task<braid::result<braid::socket_address>> {
  braid::http_server::options options = make_server_options(context_.options(), context_.shares);
  options.format_refusal = [this](const braid::http_server::refusal& refusal) { return format_refusal(refusal); };
  options.pacing.share = context_.options().refusal_share;
  options.pacing.max_wait = context_.options().max_unread;
  options.pacing.room = [this] { return context_.gate.free_permits(); };
  options.on_error = [this](const std::exception_ptr& error, const auto&...) {
    context_.serving().log.note(log_level::error, "handler_failed", {{"message", thrown_message(error)}});
  };
  auto tls = make_tls();
  if (!tls) co_return braid::fail(tls.error());
  options.tls = std::move(*tls);
  auto listener = braid::stream_listener::listen(*context_.loop, address, {.reuse_port = port == port_use::shared});
  if (!listener) co_return braid::fail(listener.error());
  const auto bound = listener->local_address();
  if (!bound) co_return braid::fail(bound.error());
  context_.server = std::make_unique<braid::http_server>(*context_.loop, routes_, std::move(options));
  context_.loop->spawn(serve_until_stop(std::move(*listener), std::move(on_end)));
  co_return *bound;
}

auto shard::make_tls() -> braid::result<std::optional<braid::tls_context>> {
  if (!context_.options().tls) return std::nullopt;
  std::vector<std::string> protocols{"http/1.1"};
  if (context_.options().http.http2.enabled && braid::http_server::has_http2())
    protocols.insert(protocols.begin(), "h2");
  auto made = braid::tls_context::server(
      {.identity = *context_.options().tls, .protocols = protocols, .handshakes = &runtime_->blocking()});
  if (!made) return braid::fail(made.error());
  return std::move(*made);
}

void shard::renew(shard_credentials next) {
  // The result is ignored, because a loop that accepts no posts has stopped already, and then there is nothing to do.
  static_cast<void>(braid::post(*context_.loop, [this, next = std::move(next)]() mutable {
    context_.tokens = std::move(next.tokens);
    if (context_.server && next.tls) context_.server->replace_tls(std::move(*next.tls));
  }));
}

auto shard::serve_until_stop(braid::stream_listener listener, std::function<void()> on_end) -> braid::task<void> {
  // A guard whose destructor runs when the shard ends, even if the loop is stopped early.
  struct end_call {
    shard* of;
    std::function<void()> fn;
    ~end_call() {
      for (const auto& each : of->context_.sinks) each->stop();
      if (fn) fn();
    }
  };
  const end_call ends{this, std::move(on_end)};
  auto serving = context_.server->serve(std::move(listener));
  const braid::result<void> served = co_await std::move(serving);
  if (!served) context_.serving().log.note(log_level::error, "accept_failed", {{"message", served.error().message()}});
}

void shard::begin_stop(braid::duration grace) {
  const auto stop = [](braid::http_server& server, braid::duration within) -> braid::task<void> {
    co_await server.stop(within);
  };
  // The result is ignored, because a loop that accepts no posts has stopped already, and then there is nothing to do.
  static_cast<void>(braid::post(*context_.loop, [this, grace, stop] {
    if (context_.server) context_.loop->spawn(stop(*context_.server, grace));
  }));
}

auto shard::format_refusal(const braid::http_server::refusal& refusal) -> braid::http_server::refusal_text {
  refusal_message words = make_message(refusal, context_.options().http.limits);
  const std::string_view id = refusal.request != nullptr ? given_request_id(*refusal.request) : std::string_view();
  if (refusal.status == braid::http_status::not_found && refusal.request != nullptr)
    if (const std::string_view how = find_switch(*context_.shared, refusal.request->target); !how.empty())
      words.message = "this server has no endpoint at this path; to have it, start " + std::string(how);
  error_answer answer = answer_error(refusal.status, std::move(words.code), words.message, id);
  context_.metrics.count_answer(endpoint::other, refusal.status);
  if (!is_grpc_type(refusal.content_type)) return {.type = std::string(json_type), .body = std::move(answer.body)};
  // In gRPC, a path without an endpoint names a service or a method that this server does not have.
  if (answer.status == braid::http_status::not_found) answer.status = braid::http_status::not_implemented;
  return {.type = std::string(grpc_type), .status = braid::http_status::ok, .fields = grpc_failure_fields(answer)};
}

/// Refuses requests that a browser may have sent for another site. A server with tokens needs no such check, because
/// browsers do not add tokens by themselves.
auto shard::admits(braid::http_exchange& x) -> bool {
  if (context_.tokens) return true;
  auto refusal = hosts_.refusal_of(x.request());
  if (!refusal) return true;
  reply(context_, x, endpoint::other,
        answer_error(braid::http_status::forbidden, std::move(refusal->code), refusal->message,
                     given_request_id(x.request())));
  return false;
}

void shard::add_routes() {
  for (const route& each : all_routes())
    if (each.is_served == nullptr || each.is_served(*context_.shared)) add_route(each);
}

/// Adds a handler that runs only for requests that `admits` lets through and whose client has access.
void shard::add_route(const route& added) {
  const braid::http_router::route_options options{.stops_with_client = is_grpc(added.which)};
  routes_.add(added.method, added.path, options, [this, &added](braid::http_exchange& x) -> braid::task<void> {
    if (!admits(x) || !has_access(context_, x, added.which, added.needs)) return {};
    return added.handler(context_, x);
  });
  const auto has_path = [&](const route& each) { return each.path == added.path; };
  if (added.needs != access::everyone && std::ranges::count_if(all_routes(), has_path) == 1)
    refuse_other_methods(added);
}

/// Registers a refusal for all other methods of a path. Otherwise the router would answer requests with such methods
/// itself, without checking tokens.
void shard::refuse_other_methods(const route& only) {
  braid::http_router::method_set allowed;
  allowed.add(only.method);
  if (only.method == braid::http_method::get) allowed.add(braid::http_method::head);
  for (std::uint8_t i = 0; i < braid::detail::http_methods; ++i) {
    const auto method = static_cast<braid::http_method>(i);
    if (allowed.contains(method)) continue;
    routes_.add(method, only.path, [this, allowed](braid::http_exchange& x) {
      if (admits(x)) refuse_method(x, allowed);
    });
  }
}

void shard::refuse_method(braid::http_exchange& x, braid::http_router::method_set allowed) {
  if (!has_access(context_, x, endpoint::other, access::token)) return;
  static_cast<void>(x.set_field("Allow", allowed.to_string()));
  if (x.request().method == braid::http_method::options)
    return reply(context_, x, endpoint::other, braid::http_status::no_content, {}, {});
  constexpr auto status = braid::http_status::method_not_allowed;
  refusal_message words = make_message({.status = status}, context_.options().http.limits);
  reply(context_, x, endpoint::other,
        answer_error(status, std::move(words.code), words.message, given_request_id(x.request())));
}

}  // namespace rankd::detail
