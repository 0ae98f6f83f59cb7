// tests/shared/small_program_test.cpp: what a program that uses braid has in its memory, and what it has not.
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/tls.hpp>
#include <braid/runtime/runtime.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

namespace {

/// Whether a file of which the path contains `name` is in this process's memory.
auto maps(std::string_view name) -> bool {
  std::ifstream all("/proc/self/maps");
  for (std::string line; std::getline(all, line);)
    if (line.contains(name)) return true;
  return false;
}

auto wait_a_little() -> braid::task<int> {
  co_await braid::sleep_for(1ms);
  co_return 42;
}

}  // namespace

TEST_CASE("OpenSSL is loaded when TLS is used for the first time, and not before") {
  const auto runtime = braid::runtime::create();
  REQUIRE(runtime);
  CHECK((*runtime)->run(wait_a_little()) == 42);
  REQUIRE(maps("libbraid.so"));
  CHECK_FALSE(maps("libbraid_tls"));
  CHECK_FALSE(maps("libssl"));
  CHECK_FALSE(maps("libcrypto"));

  CHECK(make_error_code(braid::tls_errc::truncated).message().starts_with("the connection ended"));
  CHECK_FALSE(maps("libssl"));
  CHECK(make_error_code(braid::tls_errc::certificate_expired).message() == "certificate has expired");
  CHECK(maps("libbraid_tls"));
  CHECK(maps("libssl"));
  CHECK(braid::tls_context::client().has_value());
}
