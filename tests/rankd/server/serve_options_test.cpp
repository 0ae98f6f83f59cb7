// tests/rankd/server/serve_options_test.cpp: what holds without a word.
#include <rankd/server/serve_options.hpp>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a server without options takes what the interface promises, from this machine only") {
  const serve_options options;
  CHECK(options.limits.body_bytes == 1024 * 1024);
  CHECK(options.limits.head_bytes == 16 * 1024);
  CHECK(options.listen.to_string() == "127.0.0.1:8080");
  CHECK(!options.tokens);
}
