// tests/rankd/server/grpc_frame_test.cpp: messages in their frames, compressed and not, and timeouts.
#include <rankd/server/grpc/grpc_frame.hpp>

#include <chrono>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a message is read as it was written") {
  const std::string large(100'000, 'x');
  for (const std::string& message : {std::string(), std::string("a\0b", 3), large})
    for (const grpc_encoding encoding : {grpc_encoding::identity, grpc_encoding::gzip}) {
      std::string bytes;
      append_grpc_message(bytes, message, encoding);
      CHECK(read_grpc_message(bytes, encoding, 100'000).value() == message);
      if (message == large) CHECK(read_grpc_message(bytes, encoding, 99'999).error().code == "body_too_large");
    }
  CHECK(parse_grpc_encoding("gzip") == grpc_encoding::gzip);
  CHECK_FALSE(parse_grpc_encoding("br"));
}

TEST_CASE("a timeout has up to eight digits and a unit") {
  using std::chrono::milliseconds;
  CHECK(parse_grpc_timeout("5S") == milliseconds(5000));
  CHECK(parse_grpc_timeout("2M") == milliseconds(120'000));
  CHECK(parse_grpc_timeout("1H") == milliseconds(3'600'000));
  CHECK(parse_grpc_timeout("25H") == milliseconds(86'400'000));
  CHECK(parse_grpc_timeout("99999999H") == milliseconds(86'400'000));
  CHECK(parse_grpc_timeout("7m") == milliseconds(7));
  CHECK(parse_grpc_timeout("1u") == milliseconds(1));
  CHECK(parse_grpc_timeout("99999999n") == milliseconds(100));
  for (const std::string_view wrong : {"", "S", "1", "1s", "+1S", "-1S", "1 S", "123456789S", "1.5S"})
    CHECK_MESSAGE(!parse_grpc_timeout(wrong), wrong);
}
