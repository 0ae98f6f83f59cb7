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

/// A gRPC call over an HTTP exchange. The call writes the answers and the errors of its request.
class grpc_call final : public answer_form {
 public:
  explicit grpc_call(braid::http_exchange& exchange) noexcept : exchange_(&exchange) {}

  /// Reads the type, the encoding and the timeout in the head. Returns an error if one of them is invalid.
  auto read_head(std::string_view request_id) -> std::optional<error_answer>;
  /// Checks the head: the client, the type, the encoding and the timeout. If the head is invalid, answers the request
  /// and returns false. If the Content-Type is not that of gRPC, the answer is JSON.
  auto check_head(served_request& request) -> bool;
  /// Parses the message of a request whose body was read. If the message is invalid, answers the request and returns
  /// false.
  auto parse(served_request& request, google::protobuf::MessageLite& message) -> bool;
  /// Parses a message whose prefix was read. Returns an error if the message is invalid.
  static auto parse_bytes(std::string_view bytes, google::protobuf::MessageLite& message, std::string_view request_id)
      -> std::optional<error_answer>;
  /// Returns the deadline of a request, or the time at which the call times out, whichever is earlier.
  [[nodiscard]] auto limited(std::optional<std::chrono::milliseconds> deadline) const
      -> std::optional<std::chrono::milliseconds>;

  /// Answers with one message, and ends the call.
  void reply(const google::protobuf::MessageLite& message);
  /// Begins an answer of several messages.
  void begin();
  /// Returns the encoding of the request's messages.
  [[nodiscard]] auto encoding() const noexcept -> grpc_encoding { return asked_in_; }
  /// Returns a message in the encoding of the answer, as bytes.
  [[nodiscard]] auto framed(const google::protobuf::MessageLite& message) const -> std::string;
  /// Ends an answer of several messages.
  void end();
  void end(const error_answer& error);

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
