// tests/rankd/server/serve_options_test.cpp: what holds without a word.
#include <rankd/server/serve_options.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace rankd;

TEST_CASE("a server without options takes what the interface promises, from this machine only") {
  const serve_options options;
  CHECK(options.http.limits.body_bytes == 1024 * 1024);
  CHECK(options.http.limits.head_bytes == 16 * 1024);
  CHECK(options.http.connections == 10'000);
  CHECK(options.http.head_timeout == std::chrono::seconds(10));
  CHECK(options.http.body_timeout == std::chrono::seconds(30));
  CHECK(options.http.idle_timeout == std::chrono::seconds(60));
  CHECK(!options.http.activities);
  CHECK(options.listen.to_string() == "127.0.0.1:8080");
  CHECK(!options.tokens);
}
