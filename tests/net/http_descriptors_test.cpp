// tests/net/http_descriptors_test.cpp: a server and a client without a descriptor left, each in a process of its own.
#include <braid/net/http_client.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_child.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>

using namespace braid;
using testing::http_child;
using testing::plain_peer;

namespace {

/// No descriptor with a greater number can be had from now on. Gives the limit that there was.
auto limit_descriptors(rlim_t numbers) -> rlim_t {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = std::exchange(limit.rlim_cur, numbers);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

/// What leaves a server so many connections.
auto room_for(std::size_t connections) {
  return [=] { static_cast<void>(limit_descriptors(testing::open_descriptors() + connections)); };
}

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Whether a request on that connection is answered; if not, it has been closed.
auto is_answered(const plain_peer& by) -> bool {
  try {
    by.send(get);
  } catch (const std::runtime_error&) {
    return false;
  }
  std::string heard;
  while (!heard.ends_with("hello")) {
    const std::string more = by.receive(1);
    if (more.empty()) return false;
    heard += more;
  }
  return true;
}

}  // namespace

TEST_CASE(
    "a server without descriptors refuses newcomers, serves whom it has, and serves all again once some have gone") {
  const http_child server(room_for(20));
  std::vector<plain_peer> held;
  for (int i = 0; i < 200; ++i) {
    auto peer = plain_peer::connected_to(server.address());
    if (!is_answered(peer)) break;
    held.push_back(std::move(peer));
  }
  CHECK(held.size() >= 10);
  REQUIRE(held.size() < 200);
  for (int i = 0; i < 50; ++i) CHECK_FALSE(is_answered(plain_peer::connected_to(server.address())));
  for (const plain_peer& each : held) CHECK(is_answered(each));
  held.clear();
  // Each try may come before the server has heard that the one before has gone.
  CHECK(testing::eventually([&] {
    std::vector<plain_peer> again;
    while (again.size() < 10) {
      auto peer = plain_peer::connected_to(server.address());
      if (!is_answered(peer)) return false;
      again.push_back(std::move(peer));
    }
    return true;
  }));
}

TEST_CASE("a client without descriptors says so, and goes on once there is one") {
  const http_child server(room_for(20));
  testing::test_loop here;
  http_client client(here.io());
  const std::string url = server.url();
  const rlim_t before = limit_descriptors(0);
  const auto refused = here.run(client.get(url)).take();
  static_cast<void>(limit_descriptors(before));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == std::errc::too_many_files_open);
  const auto answer = here.run(client.get(url)).take();
  REQUIRE(answer.has_value());
  CHECK(answer->body == "hello");
}
