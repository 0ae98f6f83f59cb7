// tests/rankd/server/grpc_caller.hpp: a client of gRPC that blocks, and sends whatever it is told.
#pragma once

#include <braid/io/sockets.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/http_caller.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

namespace rankd::testing {

using braid::testing::http2_answer;
using braid::testing::http2_fields;

/// A message with its prefix of 5 bytes.
inline auto grpc_frame(std::string_view message, char flag = '\0') -> std::string {
  return flag + braid::testing::number32(static_cast<std::uint32_t>(message.size())) + std::string(message);
}

inline auto grpc_frame(const google::protobuf::MessageLite& message) -> std::string {
  return grpc_frame(message.SerializeAsString());
}

#if defined(BRAID_TESTS_HTTP2)

class grpc_caller {
 public:
  explicit grpc_caller(const braid::socket_address& to) : socket_(to) {
    using namespace braid::testing;
    socket_.say(std::string(http2_preface) + frame(frame_type::settings, 0, 0, {}) +
                frame(frame_type::settings, flag_ack, 0, {}));
  }

  std::string host = "localhost";
  std::string verb = "POST";

  /// Begins a call, and returns its stream. `method` is a path, or a method of rankd.v1.Ranking.
  auto start(std::string_view method, std::string_view body, http2_fields fields = {},
             std::string_view type = "application/grpc") -> std::uint32_t {
    const std::uint32_t stream = begin(method, std::move(fields), type);
    socket_.say(braid::testing::data_frame(stream, body));
    return stream;
  }
  /// Begins a call whose messages follow.
  auto begin(std::string_view method, http2_fields fields = {}, std::string_view type = "application/grpc")
      -> std::uint32_t {
    using namespace braid::testing;
    const std::string path = (method.starts_with('/') ? "" : "/rankd.v1.Ranking/") + std::string(method);
    std::string block =
        literal(":method", verb) + literal(":scheme", "http") + literal(":authority", host) + literal(":path", path);
    for (const auto& [name, value] : fields) block += literal(name, value);
    if (!type.empty()) block += literal("content-type", type);
    block += literal("te", "trailers");
    last_ += 2;
    socket_.say(frame(frame_type::headers, flag_end_headers, last_, block));
    return last_;
  }
  void send(std::uint32_t stream, std::string_view data) { socket_.say(braid::testing::data_frame(stream, data, 0)); }
  /// Waits for the end of a call.
  auto hear(std::uint32_t stream) -> const http2_answer& {
    while (!hearing_.answers[stream].has_ended && !hearing_.answers[stream].reset)
      if (!more()) break;
    return hearing_.answers[stream];
  }
  /// Waits until a call has got more than `seen` bytes of its answer.
  auto hear_bytes(std::uint32_t stream, std::size_t seen = 0) -> const std::string& {
    while (hearing_.answers[stream].body.size() <= seen && more()) {}
    return hearing_.answers[stream].body;
  }
  auto call(std::string_view method, std::string_view body, http2_fields fields = {},
            std::string_view type = "application/grpc") -> const http2_answer& {
    return hear(start(method, body, std::move(fields), type));
  }
  void cancel(std::uint32_t stream) {
    using namespace braid::testing;
    socket_.say(frame(frame_type::rst_stream, 0, stream, number32(8)));
  }

 private:
  auto more() -> bool {
    const std::string bytes = socket_.hear_bytes();
    heard_ += bytes;
    hearing_.read(heard_);
    return !bytes.empty();
  }

  braid::testing::http_caller socket_;
  braid::testing::http2_hearing hearing_;
  std::string heard_;
  std::uint32_t last_ = static_cast<std::uint32_t>(-1);
};

#endif

}  // namespace rankd::testing
