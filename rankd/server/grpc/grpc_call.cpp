// rankd/server/grpc/grpc_call.cpp: reads the heads and messages of gRPC calls, and answers them.
#include <rankd/server/grpc/grpc_call.hpp>

#include <rankd/server/grpc/grpc_messages.hpp>

#include <algorithm>
#include <utility>

#include <google/protobuf/stubs/logging.h>

namespace rankd::detail {
namespace {

using braid::http_status;

/// Returns whether a list such as `identity, gzip` contains gzip.
auto allows_gzip(std::string_view list) -> bool {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view each = list.substr(0, end);
    each.remove_prefix(std::min(each.find_first_not_of(' '), each.size()));
    if (each.substr(0, each.find_last_not_of(' ') + 1) == "gzip") return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

auto grpc_call::read_head(std::string_view request_id) -> std::optional<error_answer> {
  const braid::http_fields& fields = exchange_->request().fields;
  const auto refusal = [&](http_status status, std::string code, const std::string& message) {
    return answer_error(status, std::move(code), message, request_id);
  };
  const std::string_view type = fields.find("Content-Type").value_or(std::string_view());
  const bool is_grpc = is_grpc_type(type) && fields.count("Content-Type") == 1;
  const std::string_view format = is_grpc ? type.substr(grpc_type.size()) : std::string_view();
  if (!is_grpc || (!format.empty() && format != "+proto"))
    return refusal(http_status::unsupported_media_type, "unsupported_media_type",
                   "Content-Type must be application/grpc or application/grpc+proto");
  if (const auto name = fields.find("grpc-encoding")) {
    const auto encoding = parse_grpc_encoding(*name);
    if (!encoding) {
      static_cast<void>(exchange_->set_field("grpc-accept-encoding", "identity,gzip"));
      return refusal(http_status::unsupported_media_type, "unsupported_encoding",
                     "grpc-encoding must be identity or gzip, got `" + std::string(*name) + "`");
    }
    asked_in_ = *encoding;
  }
  if (asked_in_ == grpc_encoding::gzip && allows_gzip(fields.find("grpc-accept-encoding").value_or("")))
    answered_in_ = grpc_encoding::gzip;
  if (const auto text = fields.find("grpc-timeout")) {
    timeout_ = parse_grpc_timeout(*text);
    if (!timeout_)
      return refusal(
          http_status::bad_request, "bad_timeout",
          "grpc-timeout must be 1 to 8 digits and one of H, M, S, m, u and n, got `" + std::string(*text) + "`");
    if (timeout_->count() == 0)
      return refusal(http_status::gateway_timeout, "deadline_exceeded",
                     "the deadline of the request had already passed when the request arrived");
  }
  return std::nullopt;
}

auto grpc_call::check_head(served_request& request) -> bool {
  const braid::http_fields& fields = exchange_->request().fields;
  const bool is_grpc = is_grpc_type(fields.find("Content-Type").value_or("")) && fields.count("Content-Type") == 1;
  if (is_grpc) request.form = this;
  if (!request.check_client()) return false;
  const auto wrong = read_head(request.record.request_id);
  if (wrong) request.fail(*wrong);
  return !wrong;
}

auto grpc_call::parse_bytes(std::string_view bytes, google::protobuf::MessageLite& message, std::string_view request_id)
    -> std::optional<error_answer> {
  // protobuf writes a line on stderr for each text that is not UTF-8, so every client could fill the log.
  static auto* const quiet = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(quiet);
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return std::nullopt;
  const std::string type = message.GetTypeName();
  const std::string_view place = type.starts_with("rankd.") ? " of packaging/rankd.proto" : "";
  return answer_error(http_status::bad_request, "bad_message",
                      "the message must be a valid " + type + std::string(place), request_id);
}

auto grpc_call::parse(served_request& request, google::protobuf::MessageLite& message) -> bool {
  const std::size_t max_bytes = request.context->options().http.limits.body_bytes;
  auto bytes = read_grpc_message(request.body.text(), asked_in_, max_bytes);
  const std::string& id = request.record.request_id;
  if (!bytes) {
    const grpc_fault& fault = bytes.error();
    request.fail(answer_error(fault.status, std::string(fault.code), fault.message, id));
    return false;
  }
  if (!request.body.hold(std::move(*bytes))) {
    request.refuse_overloaded();
    return false;
  }
  const auto wrong = parse_bytes(request.body.text(), message, id);
  if (wrong) request.fail(*wrong);
  return !wrong;
}

auto grpc_call::limited(std::optional<std::chrono::milliseconds> deadline) const
    -> std::optional<std::chrono::milliseconds> {
  if (!timeout_ || (deadline && *deadline <= *timeout_)) return deadline;
  return timeout_;
}

auto grpc_call::framed(const google::protobuf::MessageLite& message) const -> std::string {
  std::string out;
  append_grpc_message(out, message.SerializeAsString(), answered_in_);
  return out;
}

void grpc_call::begin_head() {
  if (answered_in_ == grpc_encoding::gzip) static_cast<void>(exchange_->set_field("grpc-encoding", "gzip"));
}

void grpc_call::reply(const google::protobuf::MessageLite& message) {
  begin_head();
  static_cast<void>(exchange_->set_trailer("grpc-status", "0"));
  exchange_->reply(http_status::ok, grpc_type, framed(message));
}

void grpc_call::begin() {
  begin_head();
  exchange_->begin(http_status::ok, grpc_type);
}

void grpc_call::end() { static_cast<void>(exchange_->set_trailer("grpc-status", "0")); }

void grpc_call::end(const error_answer& error) {
  for (const auto& [name, value] : grpc_failure_fields(error)) static_cast<void>(exchange_->set_trailer(name, value));
}

void grpc_call::answer(served_request& /*request*/, const ranking& ranked) { reply(to_message(ranked)); }

void grpc_call::fail(served_request& /*request*/, const error_answer& error) { send_error(*exchange_, error); }

}  // namespace rankd::detail
