// rankd/server/grpc/grpc_call.cpp: reads the heads and messages of gRPC calls, and answers them.
#include <rankd/server/grpc/grpc_call.hpp>

#include <rankd/server/grpc/grpc_messages.hpp>

#include <algorithm>
#include <utility>

#include <google/protobuf/stubs/logging.h>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::string_view grpc_type = "application/grpc";

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

auto grpc_call::check_head(served_request& request) -> bool {
  const braid::http_fields& fields = exchange_->request().fields;
  const std::string_view type = fields.find("Content-Type").value_or(std::string_view());
  const bool is_grpc = type.starts_with(grpc_type) && fields.count("Content-Type") == 1;
  if (is_grpc) request.form = this;
  if (!request.check_client()) return false;
  const auto refuse = [&](http_status status, std::string code, const std::string& message) {
    request.fail(answer_error(status, std::move(code), message, request.record.request_id));
    return false;
  };
  const std::string_view format = is_grpc ? type.substr(grpc_type.size()) : std::string_view();
  if (!is_grpc || (!format.empty() && format != "+proto"))
    return refuse(http_status::unsupported_media_type, "unsupported_media_type",
                  "Content-Type must be application/grpc or application/grpc+proto");
  if (const auto name = fields.find("grpc-encoding")) {
    const auto encoding = parse_grpc_encoding(*name);
    if (!encoding) {
      static_cast<void>(exchange_->set_field("grpc-accept-encoding", "identity,gzip"));
      return refuse(http_status::unsupported_media_type, "unsupported_encoding",
                    "grpc-encoding must be identity or gzip, got `" + std::string(*name) + "`");
    }
    asked_in_ = *encoding;
  }
  if (asked_in_ == grpc_encoding::gzip && allows_gzip(fields.find("grpc-accept-encoding").value_or("")))
    answered_in_ = grpc_encoding::gzip;
  if (const auto text = fields.find("grpc-timeout")) {
    timeout_ = parse_grpc_timeout(*text);
    if (!timeout_)
      return refuse(
          http_status::bad_request, "bad_timeout",
          "grpc-timeout must be 1 to 8 digits and one of H, M, S, m, u and n, got `" + std::string(*text) + "`");
    if (timeout_->count() == 0)
      return refuse(http_status::gateway_timeout, "deadline_exceeded",
                    "the deadline of the request had passed when it arrived");
  }
  return true;
}

auto grpc_call::parse(served_request& request, google::protobuf::MessageLite& message) -> bool {
  // protobuf writes a line on stderr for each text that is not UTF-8, so every client could fill the log.
  static auto* const quiet = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(quiet);
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
  const std::string_view text = request.body.text();
  if (message.ParseFromArray(text.data(), static_cast<int>(text.size()))) return true;
  request.fail(answer_error(http_status::bad_request, "bad_message",
                            "the message must be a valid " + message.GetTypeName() + " of packaging/rankd.proto", id));
  return false;
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

void grpc_call::answer(served_request& /*request*/, const ranking& ranked) { reply(to_message(ranked)); }

/// Answers with a head that has the status, and no body.
void grpc_call::fail(served_request& /*request*/, const error_answer& error) {
  const grpc_failure failure = to_grpc_failure(error);
  static_cast<void>(exchange_->set_field("grpc-status", std::to_string(static_cast<unsigned>(failure.code))));
  static_cast<void>(exchange_->set_field("grpc-message", grpc_message_text(failure.message)));
  static_cast<void>(exchange_->set_field("grpc-status-details-bin", grpc_binary_text(failure.details)));
  exchange_->reply(http_status::ok, grpc_type, {});
}

}  // namespace rankd::detail
