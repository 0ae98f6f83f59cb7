// rankd/server/grpc/grpc_call.hpp: one gRPC call: its head, its messages and its status.
#pragma once

#include <rankd/server/detail/served_request.hpp>
#include <rankd/server/grpc/grpc_frame.hpp>
#include <rankd/server/grpc/grpc_status.hpp>

#include <braid/net/http_server.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace google::protobuf {
class MessageLite;
}

namespace rankd::detail {

/// A gRPC call over an exchange of HTTP. It writes the answers and the errors of its request.
class grpc_call final : public answer_form {
 public:
  explicit grpc_call(braid::http_exchange& exchange) noexcept : exchange_(&exchange) {}

  /// Checks the head: the client, the type, the encoding and the timeout. If it is invalid, answers the request and
  /// returns false. A call whose type is not that of gRPC is answered in JSON.
  auto check_head(served_request& request) -> bool;
  /// Parses the message of a request whose body was read. If it is invalid, answers the request and returns false.
  auto parse(served_request& request, google::protobuf::MessageLite& message) -> bool;
  /// Returns the earlier of the deadline of a request and the timeout of the call.
  [[nodiscard]] auto limited(std::optional<std::chrono::milliseconds> deadline) const
      -> std::optional<std::chrono::milliseconds>;

  /// Answers with one message, and ends the call.
  void reply(const google::protobuf::MessageLite& message);
  /// Begins an answer of several messages.
  void begin();
  /// Returns a message as bytes of the answer.
  [[nodiscard]] auto framed(const google::protobuf::MessageLite& message) const -> std::string;
  /// Ends an answer of several messages.
  void end();

  void answer(served_request& request, const ranking& ranked) override;
  void fail(served_request& request, const error_answer& error) override;

 private:
  void begin_head();

  braid::http_exchange* exchange_;
  grpc_encoding asked_in_ = grpc_encoding::identity;
  grpc_encoding answered_in_ = grpc_encoding::identity;
  std::optional<std::chrono::milliseconds> timeout_;
};

}  // namespace rankd::detail
