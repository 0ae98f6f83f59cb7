// rankd/server/shard.cpp: the course of one loop of a server, and what all its answers have in common.
#include <rankd/server/detail/shard.hpp>

#include <rankd/engine/detail/thrown_message.hpp>
#include <rankd/server/openapi.hpp>

#include <braid/io/sockets.hpp>
#include <braid/net/http_message.hpp>
#include <braid/task/executor.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

auto server_options_of(const serve_options& options, shard_shares shares) -> braid::http_server::options {
  braid::http_server::options out;
  out.limits = options.limits;
  out.connections = shares.connections;
  out.head_timeout = options.head_timeout;
  out.body_timeout = options.body_timeout;
  out.idle_timeout = options.idle_timeout;
  out.activities = false;  // the engine has those of requests
  return out;
}

/// Code and sentence of a request that comes to no handler.
struct refusal_message {
  std::string code;
  std::string message;
};

auto message_of(const braid::http_server::refusal& refusal, const braid::http_limits& limits) -> refusal_message {
  if (refusal.why && refusal.why.category() == braid::detail::http_category()) {
    const auto fault = static_cast<braid::http_errc>(refusal.why.value());
    return {std::string(code_of(fault)), sentence_of(fault, limits)};
  }
  switch (refusal.status) {
    case braid::http_status::not_found: return {"unknown_path", "there is no endpoint at this path"};
    case braid::http_status::method_not_allowed:
      return {"method_not_allowed", "this path does not take that method; the field Allow says which ones"};
    default: return {"internal_error", "the server failed to answer; its log has the reason"};
  }
}

/// The functions, the innermost first, in one field.
void log_stall(const serve_log& log, const braid::runtime::stall& what) {
  std::string stack;
  for (const std::string& each : what.functions) (stack += stack.empty() ? "" : " < ") += each;
  log.note(log_level::warning, "stalled",
           {{"thread", what.thread},
            {"at_least_ms", std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(what.at_least).count()}},
            {"stack", stack}});
}

}  // namespace

auto given_request_id(const braid::http_request_head& head) noexcept -> std::string_view {
  return head.fields.find("X-Request-Id").value_or(std::string_view());
}

shard::shard(serve_shared& all, shard_shares shares)
    : all_(&all),
      shares_(shares),
      gate_({.max_under_way = shares.in_flight, .queue = shares.queue, .max_wait = all.options.max_wait}),
      hosts_(all.options.allowed_hosts) {
  if (all.options.tokens) tokens_ = std::make_shared<const token_list>(*all.options.tokens);
  add_routes();
}

auto shard::start_runtime(std::string name) -> braid::result<void> {
  auto made = braid::runtime::create(
      {.workers = all_->options.workers,
       .name = std::move(name),
       .stall_limit = all_->options.stall_limit,
       .on_stall = [log = all_->context.log](const braid::runtime::stall& what) { log_stall(log, what); }});
  if (!made) return braid::fail(made.error());
  on_ = std::move(*made);
  io_ = &on_->io();
  for (store* each : all_->context.stores) {
    stores_.push_back(each == nullptr ? nullptr : std::make_unique<metered_store>(*each));
    asked_.push_back(stores_.back().get());
  }
  engine_options how = all_->options.engine;
  how.metrics = node_metrics::collected;
  if (all_->context.captures != nullptr || all_->context.arrow_captures != nullptr) how.captures = plan_captures::taken;
  how.cache.bytes = shares_.cache_bytes;
  how.cache.entries = shares_.cache_entries;
  ranker_.emplace(*on_, *all_->context.declared, asked_, how);
  return {};
}

auto shard::serve(const braid::socket_address& at, port_use port, std::function<void()> on_end)
    -> braid::result<braid::socket_address> {
  return on_->run(listen(at, port, std::move(on_end)));
}

auto shard::listen(const braid::socket_address& at, port_use port, std::function<void()> on_end)
    -> braid::task<braid::result<braid::socket_address>> {
  braid::http_server::options options = server_options_of(all_->options, shares_);
  options.format_refusal = [this](const braid::http_server::refusal& refusal) { return format_refusal(refusal); };
  options.pacing.share = all_->options.refusal_share;
  options.pacing.max_wait = all_->options.max_unread;
  options.pacing.room = [this] { return gate_.free_permits(); };
  options.on_error = [this](const std::exception_ptr& error, const auto&...) {
    all_->context.log.note(log_level::error, "handler_failed", {{"message", thrown_message(error)}});
  };
  auto tls = make_tls();
  if (!tls) co_return braid::fail(tls.error());
  options.tls = std::move(*tls);
  auto listener = braid::stream_listener::listen(*io_, at, {.reuse_port = port == port_use::shared});
  if (!listener) co_return braid::fail(listener.error());
  const auto bound = listener->local_address();
  if (!bound) co_return braid::fail(bound.error());
  server_ = std::make_unique<braid::http_server>(*io_, routes_, std::move(options));
  io_->spawn(serve_until_stop(std::move(*listener), std::move(on_end)));
  co_return *bound;
}

auto shard::make_tls() -> braid::result<std::optional<braid::tls_context>> {
  if (!all_->options.tls) return std::nullopt;
  auto made = braid::tls_context::server(
      {.identity = *all_->options.tls, .protocols = {"http/1.1"}, .handshakes = &on_->blocking()});
  if (!made) return braid::fail(made.error());
  return std::move(*made);
}

void shard::renew(shard_credentials next) {
  // A loop that takes no posts has stopped already.
  static_cast<void>(braid::post(*io_, [this, next = std::move(next)]() mutable {
    tokens_ = std::move(next.tokens);
    if (server_ && next.tls) server_->replace_tls(std::move(*next.tls));
  }));
}

auto shard::serve_until_stop(braid::stream_listener listener, std::function<void()> on_end) -> braid::task<void> {
  // Also where the loop is stopped meanwhile.
  struct end_call {
    shard* of;
    std::function<void()> fn;
    ~end_call() {
      of->next_refusal_report_ = braid::time_point::min();
      of->report_refusals(of->io_->now());
      if (fn) fn();
    }
  };
  const end_call ends{this, std::move(on_end)};
  auto serving = server_->serve(std::move(listener));
  const braid::result<void> served = co_await std::move(serving);
  if (!served) all_->context.log.note(log_level::error, "accept_failed", {{"message", served.error().message()}});
}

void shard::begin_stop(braid::duration grace) {
  const auto stop = [](braid::http_server& server, braid::duration within) -> braid::task<void> {
    co_await server.stop(within);
  };
  // A loop that takes no posts has stopped already.
  static_cast<void>(braid::post(*io_, [this, grace, stop] {
    if (server_) io_->spawn(stop(*server_, grace));
  }));
}

auto shard::format_refusal(const braid::http_server::refusal& refusal) -> braid::http_server::refusal_text {
  refusal_message words = message_of(refusal, all_->options.limits);
  const std::string_view id = refusal.request != nullptr ? given_request_id(*refusal.request) : std::string_view();
  error_answer answer = answer_error(refusal.status, std::move(words.code), words.message, id);
  metrics_.count_answer(endpoint::other, refusal.status);
  return {.type = std::string(json_type), .body = std::move(answer.body)};
}

/// Browsers add no token by themselves, so a server with tokens asks no further.
auto shard::admits(braid::http_exchange& x) -> bool {
  if (tokens_) return true;
  auto refusal = hosts_.refusal_of(x.request());
  if (!refusal) return true;
  reply(x, endpoint::other,
        answer_error(braid::http_status::forbidden, std::move(refusal->code), refusal->message,
                     given_request_id(x.request())));
  return false;
}

/// The router answers other methods by itself, and knows nothing of tokens.
void shard::refuse_other_methods(std::string_view pattern, braid::http_method only) {
  braid::http_router::method_set allowed;
  allowed.add(only);
  if (only == braid::http_method::get) allowed.add(braid::http_method::head);
  for (std::uint8_t i = 0; i < braid::detail::http_methods; ++i) {
    const auto method = static_cast<braid::http_method>(i);
    if (allowed.contains(method)) continue;
    add_route(method, pattern, [this, allowed](braid::http_exchange& x) { refuse_method(x, allowed); });
  }
}

void shard::refuse_method(braid::http_exchange& x, braid::http_router::method_set allowed) {
  if (!may_ask(x, endpoint::other)) return;
  static_cast<void>(x.set_field("Allow", allowed.to_string()));
  if (x.request().method == braid::http_method::options)
    return reply(x, endpoint::other, braid::http_status::no_content, {}, {});
  constexpr auto status = braid::http_status::method_not_allowed;
  refusal_message words = message_of({.status = status}, all_->options.limits);
  reply(x, endpoint::other, answer_error(status, std::move(words.code), words.message, given_request_id(x.request())));
}

void shard::add_routes() {
  serve_get("/v1/plans", [this](braid::http_exchange& x) { plans(x); });
  serve_get("/v1/plans/{name}", [this](braid::http_exchange& x) { return plan(x); });
  serve_get("/metrics", [this](braid::http_exchange& x) { answer_metrics(x); });
  serve_get("/v1/tasks", [this](braid::http_exchange& x) { return tasks(x); });
  serve_get("/v1/trace", [this](braid::http_exchange& x) { return trace(x); });
  serve_post("/v1/rank", [this](braid::http_exchange& x) { return rank(x); });
  serve_post("/v1/rank/batch", [this](braid::http_exchange& x) { return rank_batch(x); });
  serve_get("/v1/shadow/{name}", [this](braid::http_exchange& x) { shadow(x); });
  serve_post("/v1/events", [this](braid::http_exchange& x) { return take_events(x); });
  add_change_routes();
  add_compare_routes();
  add_draft_routes();
  add_page_routes();
  // For every client.
  add_get("/healthz", [this](braid::http_exchange& x) { health(x); });
  add_get("/readyz", [this](braid::http_exchange& x) { ready(x); });
  add_get("/v1/openapi.json", [this](braid::http_exchange& x) {
    reply(x, endpoint::openapi, braid::http_status::ok, json_type, openapi_text());
  });
}

}  // namespace rankd::detail
