// rankd/server/endpoints/served_request.cpp: checks the head of a request, writes its answer, and passes it to its
// sinks.
#include <rankd/server/detail/served_request.hpp>

#include <rankd/engine/detail/thrown_message.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/server/detail/shadow_ask.hpp>
#include <rankd/server/detail/spans.hpp>
#include <rankd/server/detail/traffic_ask.hpp>

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::string_view retry_after_s = "1";
constexpr std::size_t max_request_id = 256;

/// Returns true for a body whose Content-Encoding is not `identity`.
auto is_encoded(const braid::http_fields& fields) -> bool {
  constexpr std::string_view identity = "identity";
  const auto coding = fields.find("Content-Encoding");
  if (!coding) return false;
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return fields.count("Content-Encoding") > 1 || !std::ranges::equal(*coding, identity, is_same);
}

/// Returns true for `application/json` with any parameters.

auto has_type(std::string_view type, std::string_view wanted) -> bool {
  if (type == wanted) return true;  // nearly all of them
  const std::string_view essence = type.substr(0, type.find(';'));
  const std::string_view trimmed = essence.substr(0, essence.find_last_not_of(" \t") + 1);
  return std::ranges::equal(trimmed, wanted, {},
                            [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
}

auto is_request_id(std::string_view text) -> bool {
  return text.size() <= max_request_id && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// Returns the id of one request of a batch, or an empty text if the call has no id in its head.
auto part_id(std::string_view call, std::size_t index) -> std::string {
  return call.empty() ? std::string() : std::string(call) + "." + std::to_string(index);
}

/// Logs the exception of a sink. Does nothing if the memory for logging cannot be allocated.
void log_failed_sink(const serve_log& log) noexcept {
  try {
    log.note(log_level::error, "handler_failed", {{"message", thrown_message(std::current_exception())}});
  } catch (...) {  // NOLINT(bugprone-empty-catch): nothing else can be done
  }
}

}  // namespace

/// Reads the wall clock once, for all spans of the request. If each span read the clock, spans might be out of order.
served_request::served_request(endpoint_context& loop_context, endpoint reached, braid::http_exchange& x)
    : context(&loop_context), which(reached), exchange(&x), body(loop_context) {
  if (loop_context.serving().audit != nullptr || loop_context.serving().spans != nullptr)
    record.time = std::chrono::system_clock::now();
  record.begun = loop_context.loop->now();
}

served_request::served_request(const served_request& call, std::size_t index, std::string& answer)
    : context(call.context), exchange(nullptr), part(&answer), body(*call.context) {
  record.time = call.record.time;
  record.begun = call.record.begun;
  record.request_id = part_id(call.record.request_id, index);
  if (call.record.trace) record.trace = call.record.trace->child();
  record.client = call.record.client;
  record.is_known = call.record.is_known;
  record.may_force = call.record.may_force;
}

/// Moves a request. Requires that the body of the request has not been read.
served_request::served_request(served_request&& other) noexcept
    : context(std::exchange(other.context, nullptr)),
      which(other.which),
      exchange(other.exchange),
      part(other.part),
      form(other.form),
      record(std::move(other.record)),
      body(std::move(other.body)),
      client_place(std::move(other.client_place)) {}

served_request::~served_request() { end(); }

auto served_request::check_client() -> bool {
  braid::http_exchange& x = *exchange;
  join_trace(*context, x, record);
  const std::string_view id = given_request_id(x.request());
  if (!is_request_id(id)) {
    fail(answer_error(http_status::bad_request, "bad_request_id",
                      "the header field X-Request-Id must have at most 256 printable ASCII characters"));
    return false;
  }
  record.request_id = id;
  if (!id.empty()) static_cast<void>(x.set_field("X-Request-Id", id));
  const auto client = find_client(*context, x);
  if (!client) {
    static_cast<void>(x.set_field("WWW-Authenticate", "Bearer"));
    fail(answer_error(http_status::unauthorized, "unauthorized",
                      "this request needs a valid bearer token of this server", id));
    return false;
  }
  record.is_known = true;
  record.client = client->name;
  record.may_force = client->may_force;
  record.may_send_events = client->may_send_events || !context->tokens;
  record.may_write = client->may_write || !context->tokens;
  return true;
}

auto served_request::check_head() -> bool {
  if (!check_client()) return false;
  const braid::http_fields& fields = exchange->request().fields;
  const auto type = fields.find("Content-Type");
  const std::string_view wanted = which == endpoint::records ? json_lines_type : json_type;
  if (is_encoded(fields) || (type && !has_type(*type, wanted)) || fields.count("Content-Type") > 1) {
    fail(answer_error(
        http_status::unsupported_media_type, "unsupported_media_type",
        "Content-Type must be " + std::string(wanted) + " or absent, and Content-Encoding identity or absent",
        record.request_id));
    return false;
  }
  return true;
}

auto served_request::enter_client(std::string_view part_text) -> bool {
  auto place = context->shared->of_clients.try_enter(
      record.client, record.client.empty() ? std::nullopt : context->options().client_in_flight);
  if (place) {
    client_place.emplace(std::move(*place));
    return true;
  }
  if (is_part()) record.request_id = find_request_id(part_text, {.line = 0, .request_id = record.request_id});
  refuse_busy("client_busy", "the maximum number of requests of this client is already running; try again later");
  return false;
}

/// Refuses a request before its body is read, but only in two cases. If the body has arrived completely, the connection
/// can stay open. If the client waits for `100 Continue`, the client need not send the body.
auto served_request::is_refused_unread() -> bool {
  const bool may_refuse = exchange->has_whole_body() || exchange->request().expects_continue;
  if (!may_refuse || !context->gate.refuses(record.begun)) return false;
  refuse_overloaded();
  return true;
}

void served_request::answer(const ranking& result) {
  if (result.error) return fail(answer_error(*result.error, result.request_id));
  record.status = http_status::ok;
  record.code = "ok";
  record.candidates = result.rows.size();
  if (!result.degraded.empty()) {
    record.is_degraded = true;
    if (context->serving().audit != nullptr) append_degraded(record.degraded, result.degraded);
    if (!is_part()) static_cast<void>(exchange->set_field("X-Rankd-Degraded", "1"));
  }
  if (result.cached_nodes != 0 && !is_part()) static_cast<void>(exchange->set_field("X-Rankd-Cached", "1"));
  if (form != nullptr && kept == nullptr) return form->answer(*this, result);
  if (is_part()) {
    append_json(*part, result);
    if (form != nullptr) form->answer(*this, result);
    return;
  }
  std::string& answer = context->last_answer;
  answer.clear();
  append_json(answer, result);
  answer += '\n';
  if (form != nullptr) return form->answer(*this, result);  // recorded traffic contains the JSON
  exchange->reply(http_status::ok, json_type, answer);
}

void served_request::fail(const error_answer& error) {
  record.status = error.status;
  record.code = error.code;
  if (is_part() && form != nullptr) return form->fail(*this, error);
  if (is_part()) {
    part->assign(error.body, 0, error.body.find_last_not_of('\n') + 1);
    return;
  }
  if (error.status == http_status::service_unavailable || error.status == http_status::too_many_requests)
    static_cast<void>(exchange->set_field("Retry-After", retry_after_s));
  if (form != nullptr) return form->fail(*this, error);
  send_error(*exchange, error);
}

void served_request::fail_body(std::error_code error) {
  if (error == braid::errc::full) return refuse_overloaded();
  fail(unread_body(error, context->options().http.limits, record.request_id));
}

/// Answers with a text that was created in advance, because a refusal must cost little. Only the id of the request is
/// inserted.
void served_request::refuse_overloaded() {
  record.is_shed = true;
  if (!is_part()) exchange->pace();
  const error_answer& refusal = context->overloaded;
  if (record.request_id.empty()) return fail(refusal);
  fail({refusal.status, refusal.code, with_request_id(refusal.body, record.request_id)});
}

void served_request::refuse_busy(std::string code, std::string_view message) {
  fail(answer_error(http_status::too_many_requests, std::move(code), message, record.request_id));
}

void served_request::end() noexcept {
  if (context == nullptr) return;
  plan_place.reset();
  client_place.reset();
  endpoint_context& to = *std::exchange(context, nullptr);
  record.took = to.loop->now() - record.begun;
  for (const auto& each : to.sinks) {
    try {
      each->receive(*this);
    } catch (...) {
      each->lose(*this);
      log_failed_sink(to.serving().log);
    }
  }
}

auto is_reported(const served_request& request) noexcept -> bool {
  const bool is_call = request.which == endpoint::batch || request.which == endpoint::events ||
                       request.which == endpoint::grpc_batch || request.which == endpoint::grpc_events;
  return !is_call || request.record.status != http_status::ok;
}

}  // namespace rankd::detail
