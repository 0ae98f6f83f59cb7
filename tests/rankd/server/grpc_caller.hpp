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

  /// Begins a call, and returns its stream.
  auto start(std::string_view method, std::string_view body, http2_fields fields = {},
             std::string_view type = "application/grpc") -> std::uint32_t {
    using namespace braid::testing;
    if (!type.empty()) fields.emplace_back("content-type", type);
    fields.emplace_back("te", "trailers");
    last_ += 2;
    socket_.say(post_frame(last_, "/rankd.v1.Ranking/" + std::string(method), fields) + data_frame(last_, body));
    return last_;
  }
  /// Waits for the end of a call.
  auto hear(std::uint32_t stream) -> const http2_answer& {
    while (!hearing_.answers[stream].has_ended && !hearing_.answers[stream].reset)
      if (!more()) break;
    return hearing_.answers[stream];
  }
  /// Waits until a call has got some bytes of its answer.
  auto hear_bytes(std::uint32_t stream) -> const std::string& {
    while (hearing_.answers[stream].body.empty() && more()) {}
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
