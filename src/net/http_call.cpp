// src/net/http_call.cpp: routes a request, calls its handler, and writes the answers that the server itself sends, for
// all versions of HTTP.
#include "http_call.hpp"

#include <braid/base/detail/memory_shortage.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/http_encoder.hpp>
#include <braid/net/trace_context.hpp>

#include <exception>
#include <expected>
#include <new>
#include <string>
#include <utility>
#include <variant>

namespace braid::detail {

/// Returns the maximum size of this request's body. Does not look up the route if the request has no body, which is the
/// usual case.
auto http_call::max_body() const noexcept -> std::uint64_t {
  const std::uint64_t usual = service_->options.limits.body_bytes;
  if (head().body.how == http_framing::kind::none) return usual;
  const http_router::route_options* const route = service_->routes.find(head().method, head().path).options();
  return route == nullptr ? usual : route->body_bytes.value_or(usual);
}

/// Finds the route of a request whose head has arrived, and resets the state of the previous answer.
void http_call::find_route() {
  work_->match = service_->routes.find(head().method, head().path);
  keep_ = head().keep_alive;
  answer_ = answer::none;
  is_late_ = false;
  work_->drop_fields();
  work_->written = 0;
  work_->status = http_status::internal_server_error;
  work_->body_error.reset();
  work_->body_deadline.reset();
}

void http_call::refuse(http_errc error) {
  add_to_count(service_->counts.refused);
  keep_ = false;
  work_->drop_fields();
  answer_ = answer::none;
  say(status_of(error), error);
}

/// Sends an answer that no handler has written, such as an error.
void http_call::say(http_status status, std::error_code error) {
  http_server::refusal_text text;
  if (service_->options.format_refusal) {
    const std::string_view type =
        in_request_ ? head().fields.find("Content-Type").value_or(std::string_view()) : refused_type();
    text = service_->options.format_refusal(
        {.status = status, .why = error, .request = in_request_ ? &head() : nullptr, .content_type = type});
  } else {
    text.body = std::string(reason_phrase(status)) + '\n';
  }
  for (const auto& [name, value] : text.fields) static_cast<void>(set_field(name, value));
  reply(text.status.value_or(status), text.type, text.body);
}

/// Returns the activity that represents the request in a trace. Paths without a handler are not named, because clients
/// choose them, and each name uses memory.
auto http_call::shown() const noexcept -> trace::activity {
  if (!trace::is_on() || !service_->options.activities) return {};
  try {
    const std::string_view name = route();
    return trace::activity(
        std::string(name_of(head().method)).append(" ").append(name.empty() ? "(no handler)" : name));
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// Returns the name of the route, or its pattern if it has no name. Returns an empty text if no route matches the
/// request.
auto http_call::route() const noexcept -> std::string_view {
  const http_router::route_options* const options = match().options();
  return options == nullptr || options->name.empty() ? match().pattern() : std::string_view(options->name);
}

/// Runs the handler, and stops it at the deadline of the route.
auto http_call::limited(task<void> handler, duration deadline) -> task<void> {
  task<result<void>> within = with_timeout(deadline, std::move(handler));
  if (const result<void> ended = co_await std::move(within); !ended) {
    is_late_ = true;
    throw std::system_error(ended.error(), "the handler took longer than the deadline of its route");
  }
}

auto http_call::call_handler(http_exchange& exchange) -> called {
  called out;
  const http_router::handler* const handler = work_->match.handler();
  if (handler == nullptr) {
    answer_without_handler();
    out.ended.set_value();
    return out;
  }
  try {
    if (const auto* const plain = std::get_if<0>(handler))
      (*plain)(exchange);
    else
      out.rest = std::get<1>(*handler)(exchange);
    const duration deadline = match().options()->deadline;
    if (out.rest && deadline != duration::max()) out.rest = limited(std::move(out.rest), deadline);
    if (!out.rest)
      out.ended.set_value();
    else if (service_->options.traces)
      out.rest = trace_context::current.bind(trace_context::of(head().fields), std::move(out.rest));
  } catch (...) {
    out.ended.set_exception(std::current_exception());
  }
  return out;
}

void http_call::answer_without_handler() {
  const http_router::method_set allowed = work_->match.allowed();
  if (head().path == "*") return reply(http_status::no_content, {}, {});
  if (allowed.empty()) return say(http_status::not_found);
  work_->own_fields.emplace_back("Allow", allowed.to_string());
  if (head().method == http_method::options) return reply(http_status::no_content, {}, {});
  say(http_status::method_not_allowed);
}

void http_call::finish_answer(const outcome<void>& ended) {
  const std::string_view route = match().options() == nullptr ? std::string_view() : match().options()->name;
  if (ended.has_exception()) service_->report(ended.exception(), head(), route);
  if (!ended.has_value()) add_to_count(service_->counts.failed);
  if (answer_ == answer::pieces) {
    if (ended.has_value() || switched_) return end_pieces();
    answer_ = answer::broken;
  }
  if (answer_ != answer::none) return;
  work_->drop_fields();
  if (work_->body_error && ended.has_value()) {
    keep_ = false;
    return say(status_of(*work_->body_error), *work_->body_error);
  }
  if (ended.has_value()) {
    service_->report(std::make_exception_ptr(std::system_error(make_error_code(http_errc::no_answer))), head(), route);
    add_to_count(service_->counts.failed);
  }
  if (is_late_) return say(http_status::service_unavailable, errc::deadline_exceeded);
  if (ended.has_exception() && is_memory_shortage(ended.exception()))
    return say(http_status::service_unavailable, std::make_error_code(std::errc::not_enough_memory));
  say(http_status::internal_server_error);
}

auto http_call::body_failed(http_errc error) noexcept -> std::unexpected<std::error_code> {
  work_->body_error = error;
  keep_ = false;
  return fail(error);
}

auto http_call::sends_body() const noexcept -> bool {
  const bool asked_for_head = in_request_ && head().method == http_method::head;
  return switched_ || (!asked_for_head && !is_bodiless(work_->status));
}

auto http_call::set_field(std::string_view name, std::string_view value) -> result<void> {
  if (answer_ != answer::none) return fail(errc::finished);
  if (const auto fine = check_field({name, value}); !fine) return fail(fine.error());
  work_->own_fields.emplace_back(name, value);
  return {};
}

auto http_call::set_trailer(std::string_view name, std::string_view value) -> result<void> {
  const bool is_over = answer_ == answer::whole || answer_ == answer::broken;
  if (head().minor_version == 0) return fail(std::make_error_code(std::errc::not_supported));
  if (is_over || (answer_ == answer::pieces && work_->framing.how != http_framing::kind::chunked))
    return fail(errc::finished);
  if (const auto fine = check_field({name, value}); !fine) return fail(fine.error());
  if (is_forbidden_trailer(name)) return fail(http_errc::forbidden_trailer);
  work_->own_trailers.emplace_back(name, value);
  return {};
}

}  // namespace braid::detail
