// rankd/server/grpc/grpc_services.cpp: implements the gRPC services that describe a server: health and reflection.
#include <rankd/registry/names.hpp>
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/routes.hpp>
#include <rankd/server/grpc/grpc_call.hpp>
#include <rankd/server/grpc/grpc_descriptors.hpp>

#include <braid/coro/sleep.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <grpc/health/v1/health.pb.h>
#include <grpc/reflection/v1/reflection.pb.h>

namespace rankd::detail {
namespace {

namespace health = ::grpc::health::v1;
namespace reflection = ::grpc::reflection::v1;
using braid::http_status;

/// The maximum size of a message to these services, which contains little more than a name.
constexpr std::size_t max_message_bytes = 4096;

/// The maximum time until Watch notices a change.
constexpr auto watch_interval = std::chrono::milliseconds(200);

constexpr std::string_view ranking_service = "rankd.v1.Ranking";

/// Reads the messages of a call one after the other. Calls of these services are not logged, because there are many of
/// them.
class message_reader {
 public:
  message_reader(const endpoint_context& context, braid::http_exchange& x, grpc_encoding encoding)
      : context_(&context), exchange_(&x), encoding_(encoding) {}

  /// Reads the next message. Returns false at the end of the request.
  auto next(google::protobuf::MessageLite& message) -> braid::task<std::expected<bool, error_answer>> {
    const std::string_view id = given_request_id(exchange_->request());
    std::size_t needed = 0;
    for (;;) {
      needed = grpc_frame_bytes(text_).value_or(text_.size() + 1);
      if (needed <= text_.size() || needed > max_message_bytes) break;
      const auto more = co_await exchange_->read_some();
      if (!more) co_return std::unexpected(unread_body(more.error(), context_->options().http.limits, id));
      if (more->empty() && text_.empty()) co_return false;
      if (more->empty()) break;
      text_ += *more;
    }
    const auto bytes = read_grpc_message(std::string_view(text_).substr(0, needed), encoding_, max_message_bytes);
    if (!bytes)
      co_return std::unexpected(
          answer_error(bytes.error().status, std::string(bytes.error().code), bytes.error().message, id));
    text_.erase(0, needed);
    if (auto wrong = grpc_call::parse_bytes(*bytes, message, id)) co_return std::unexpected(std::move(*wrong));
    co_return true;
  }

 private:
  const endpoint_context* context_;
  braid::http_exchange* exchange_;
  grpc_encoding encoding_;
  std::string text_;
};

/// Reads the only message of a call to the health service. If the message is invalid, answers the call and returns
/// nothing.
auto read_health_request(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, grpc_call& call)
    -> braid::task<std::optional<health::HealthCheckRequest>> {
  const std::string_view id = given_request_id(x.request());
  auto wrong = call.read_head(id);
  health::HealthCheckRequest request;
  if (!wrong) {
    message_reader reader(context, x, call.encoding());
    const auto read = co_await reader.next(request);
    if (!read)
      wrong = read.error();
    else if (!*read)
      wrong = answer_error(http_status::bad_request, "bad_frame", "the call must have one message, got none", id);
  }
  if (!wrong) co_return request;
  reply(context, x, endpoint, *wrong);
  co_return std::nullopt;
}

auto is_known(std::string_view service) -> bool { return service.empty() || service == ranking_service; }

auto find_health(const endpoint_context& context, std::string_view service) -> health::HealthCheckResponse {
  health::HealthCheckResponse out;
  out.set_status(!is_known(service)  ? health::HealthCheckResponse::SERVICE_UNKNOWN
                 : is_ready(context) ? health::HealthCheckResponse::SERVING
                                     : health::HealthCheckResponse::NOT_SERVING);
  return out;
}

void set_error(reflection::ServerReflectionResponse& out, grpc_code code, std::string message) {
  out.mutable_error_response()->set_error_code(static_cast<int>(code));
  out.mutable_error_response()->set_error_message(std::move(message));
}

void set_file(reflection::ServerReflectionResponse& out, const std::string* file, std::string_view entity,
              const std::string& name) {
  if (file != nullptr)
    out.mutable_file_descriptor_response()->add_file_descriptor_proto(*file);
  else
    set_error(out, grpc_code::not_found, "this server has no " + std::string(entity) + " " + quote_name(name));
}

auto describe(const reflection::ServerReflectionRequest& request) -> reflection::ServerReflectionResponse {
  using asked = reflection::ServerReflectionRequest;
  const grpc_descriptors& known = grpc_descriptors::all();
  reflection::ServerReflectionResponse out;
  out.set_valid_host(request.host());
  *out.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case asked::kFileByFilename:
      set_file(out, known.find_file(request.file_by_filename()), "file", request.file_by_filename());
      break;
    case asked::kFileContainingSymbol:
      set_file(out, known.find_symbol(request.file_containing_symbol()), "symbol", request.file_containing_symbol());
      break;
    case asked::kListServices:
      for (const std::string& each : known.services())
        out.mutable_list_services_response()->add_service()->set_name(each);
      break;
    default:
      set_error(out, grpc_code::unimplemented,
                "this server supports file_by_filename, file_containing_symbol and list_services");
  }
  return out;
}

auto reflect(endpoint_context& context, braid::http_exchange& x, endpoint endpoint) -> braid::task<void> {
  grpc_call call(x);
  if (const auto wrong = call.read_head(given_request_id(x.request()))) co_return reply(context, x, endpoint, *wrong);
  call.begin();
  message_reader reader(context, x, call.encoding());
  reflection::ServerReflectionRequest request;
  for (;;) {
    const auto read = co_await reader.next(request);
    if (!read) {
      context.metrics.count_answer(endpoint, read.error().status);
      co_return call.end(read.error());
    }
    if (!*read) break;
    if (!co_await x.write(call.framed(describe(request)))) co_return;
  }
  context.metrics.count_answer(endpoint, http_status::ok);
  call.end();
}

}  // namespace

auto answer_grpc_health_check(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  grpc_call call(x);
  const auto request = co_await read_health_request(context, x, endpoint::grpc_health_check, call);
  if (!request) co_return;
  if (!is_known(request->service()))
    co_return reply(context, x, endpoint::grpc_health_check,
                    answer_error(http_status::not_found, "unknown_service",
                                 "this server has no service " + quote_name(request->service()) + "; it has " +
                                     quote_name(std::string(ranking_service)),
                                 given_request_id(x.request())));
  context.metrics.count_answer(endpoint::grpc_health_check, http_status::ok);
  call.reply(find_health(context, request->service()));
}

/// Sends the state whenever it changes. When the server drains, sends NOT_SERVING and ends the call, because an open
/// call would delay the stop.
auto answer_grpc_health_watch(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  grpc_call call(x);
  const std::string id(given_request_id(x.request()));
  const auto place = enter_route(context, endpoint::grpc_health_watch);
  if (!place)
    co_return reply(context, x, endpoint::grpc_health_watch,
                    answer_error(http_status::too_many_requests, "watch_busy",
                                 "the maximum number of Watch calls is already running; call Check instead", id));
  const auto request = co_await read_health_request(context, x, endpoint::grpc_health_watch, call);
  if (!request) co_return;
  context.metrics.count_answer(endpoint::grpc_health_watch, http_status::ok);
  call.begin();
  std::optional<int> sent;
  for (;;) {
    const bool stops = context.shared->stopping.load(braid::relaxed);
    const health::HealthCheckResponse state = find_health(context, request->service());
    if (sent != state.status() && !co_await x.write(call.framed(state))) co_return;
    sent = state.status();
    if (stops) break;
    co_await braid::sleep_for(watch_interval);
  }
  call.end(answer_error(http_status::service_unavailable, "stopping", "the server is shutting down", id));
}

auto answer_grpc_reflection(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  return reflect(context, x, endpoint::grpc_reflection);
}

auto answer_grpc_reflection_alpha(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  return reflect(context, x, endpoint::grpc_reflection_alpha);
}

}  // namespace rankd::detail
