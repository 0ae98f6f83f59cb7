// src/net/http_client.cpp: sends HTTP calls, repeats them on a new connection, and follows redirects.
#include <braid/net/http_client.hpp>

#include "http_lease.hpp"
#include "http_pool.hpp"

#include <braid/coro/sleep.hpp>
#include <braid/net/detail/http_encoder.hpp>
#include <braid/net/http_message.hpp>
#include <braid/net/trace_context.hpp>

#include <algorithm>
#include <array>

namespace braid {
namespace {

constexpr unsigned max_attempts = 5;

/// Returns how long to wait before an attempt to send a call. A server that has refused a call twice probably has no
/// capacity, because it may still run the handlers of calls that were stopped.
constexpr auto pause_before(unsigned attempt) noexcept -> duration {
  switch (attempt) {
    case 1:
    case 2: return duration::zero();
    case 3: return 10ms;
    case 4: return 100ms;
    default: return 1s;
  }
}

using fields = std::vector<std::pair<std::string, std::string>>;

/// Returns whether the call has its own field `traceparent` or `tracestate`. One of the two suffices, because the two
/// fields belong together.
auto has_trace(const http_client::call& call) -> bool {
  return std::ranges::any_of(call.fields, [](const auto& field) {
    return detail::same_name(field.first, "traceparent") || detail::same_name(field.first, "tracestate");
  });
}

/// Returns the head and the body of a call as text. A body in pieces is not included. `within` is the span of the
/// caller, or null.
auto text_of_call(const http_client::call& call, const http_url& url, const trace_context* within)
    -> std::expected<std::string, http_errc> {
  using kind = http_framing::kind;
  std::vector<http_fields::field> views;
  for (const auto& [name, value] : call.fields) views.push_back({name, value});
  std::string parent;
  if (within != nullptr && !has_trace(call)) {
    parent = within->traceparent();
    views.push_back({"traceparent", parent});
    if (!within->state.empty()) views.push_back({"tracestate", within->state});
  }
  http_framing body;
  if (call.pieces)
    body = {kind::chunked, 0};
  else if (!call.body.empty())
    body = {kind::length, call.body.size()};
  std::string out;
  const auto made = detail::append_head(
      out, detail::http_request_start{
               .method = call.method, .target = url.target, .host = url.host, .body = body, .fields = views});
  if (!made) return std::unexpected(made.error());
  if (body.how == kind::length) out += call.body;
  return out;
}

auto is_redirect(http_status status) -> bool {
  constexpr std::array known{http_status::moved_permanently, http_status::found, http_status::see_other,
                             http_status::temporary_redirect, http_status::permanent_redirect};
  for (const http_status one : known)
    if (one == status) return true;
  return false;
}

/// Returns the URL to follow for a redirect. Returns nothing if the URL is invalid or leads from https to http.
auto redirected(const http_client::call& call, std::string_view location) -> std::optional<std::string> {
  std::string next = http_url::resolve(call.url, location);
  const auto to = http_url::parse(next);
  const bool was_secure = http_url::parse(call.url)->scheme == http_scheme::https;
  if (!to || (was_secure && to->scheme == http_scheme::http)) return std::nullopt;
  return next;
}

/// Changes the call to follow a redirect. Returns false if the answer is not a redirect that can be followed.
auto follow(http_client::call& call, const http_client::answer& answer) -> bool {
  const auto location = answer.field("Location");
  const auto from = http_url::parse(call.url);
  if (!is_redirect(answer.status) || !location || !from || call.pieces) return false;
  auto next = redirected(call, *location);
  if (!next) return false;
  const auto to = http_url::parse(*next);
  if (!to) return false;
  const bool was_post = call.method == http_method::post;
  const bool to_get =
      answer.status == http_status::see_other ||
      (was_post && (answer.status == http_status::found || answer.status == http_status::moved_permanently));
  if (to_get && call.method != http_method::head) call.method = http_method::get;
  if (to_get) call.body.clear();
  if (to->origin() != from->origin())
    std::erase_if(call.fields, [](const auto& field) {
      return detail::same_name(field.first, "Authorization") || detail::same_name(field.first, "Cookie");
    });
  call.url = std::move(*next);
  return true;
}

auto copied(const http_fields& from) -> fields {
  fields out;
  for (const http_fields::field field : from) out.emplace_back(field.name, field.value);
  return out;
}

}  // namespace

auto http_client::answer::field(std::string_view name) const noexcept -> std::optional<std::string_view> {
  for (const auto& [known, value] : fields)
    if (detail::same_name(known, name)) return value;
  return std::nullopt;
}

http_client::incoming::incoming(std::unique_ptr<detail::http_lease> lease) noexcept : lease_(std::move(lease)) {}
http_client::incoming::incoming(http_client::incoming&& other) noexcept = default;
auto http_client::incoming::operator=(http_client::incoming&&) noexcept -> http_client::incoming& = default;
http_client::incoming::~incoming() = default;

auto http_client::incoming::head() const noexcept -> const http_response_head& { return lease_->head(); }
auto http_client::incoming::read_some() -> task<result<std::string_view>> { return lease_->read_some(); }
auto http_client::incoming::trailers() const noexcept -> http_fields { return lease_->trailers(); }

http_client::http_client(loop& loop, http_client::options options)
    : pool_(std::make_unique<detail::http_pool>(loop, std::move(options))) {}
http_client::~http_client() = default;

auto http_client::idle_connections() const noexcept -> std::size_t { return pool_->free_lines(); }

auto http_client::open(http_client::call call) -> task<result<http_client::incoming>> {
  const auto url = http_url::parse(call.url);
  if (!url) co_return fail(url.error());
  const trace_context* const within = co_await trace_context::current.get();
  const auto text = text_of_call(call, *url, within);
  if (!text) co_return fail(text.error());
  const std::shared_ptr<detail::http_host> host = pool_->host(*url);
  std::optional<async_semaphore::permit> permit;
  for (unsigned attempt = 1;; ++attempt) {
    if (const duration pause = pause_before(attempt); pause > duration::zero()) co_await sleep_for(pause);
    auto finding = pool_->find_place(*url, host, std::move(permit));
    result<detail::http_place> place = co_await std::move(finding);
    if (!place) co_return fail(place.error());
    std::unique_ptr<detail::http_lease> lease = pool_->lease(host, std::move(*place));
    auto conversing = lease->converse(*url, *text, call);
    const result<void> heard = co_await std::move(conversing);
    if (heard) co_return http_client::incoming(std::move(lease));
    if (attempt == max_attempts || !lease->may_repeat(call)) co_return fail(heard.error());
    permit = lease->take_permit();
  }
}

auto http_client::fetch(http_client::call call) -> task<result<http_client::answer>> {
  for (unsigned left = pool_->options().redirects;; --left) {
    auto opened = co_await open(call);
    if (!opened) co_return fail(opened.error());
    http_client::answer answer{
        .status = opened->head().status, .fields = copied(opened->head().fields), .body = {}, .url = call.url};
    for (;;) {
      const result<std::string_view> piece = co_await opened->read_some();
      if (!piece) co_return fail(piece.error());
      if (piece->empty()) break;
      answer.body += *piece;
    }
    if (pool_->options().redirects == 0 || !follow(call, answer)) co_return answer;
    if (left == 0) co_return fail(http_errc::too_many_redirects);
  }
}

auto http_client::get(std::string url) -> task<result<http_client::answer>> { return fetch({.url = std::move(url)}); }

}  // namespace braid
