// tests/net/http_descriptors_test.cpp: a server and a client without a descriptor left, each in a process of its own.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/turned_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace braid;
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

auto serve(http_server& server, stream_listener listener) -> task<void> {
  static_cast<void>(co_await server.serve(std::move(listener)));
}

/// A server in a process of its own that may have a few connections only.
class narrow_server {
 public:
  explicit narrow_server(std::size_t connections) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    id_ = ::fork();
    REQUIRE(id_ >= 0);
    if (id_ == 0) run(ends[1], connections);
    ::close(ends[1]);
    REQUIRE(::read(ends[0], &port_, sizeof(port_)) == sizeof(port_));
    ::close(ends[0]);
  }
  narrow_server(const narrow_server&) = delete;
  auto operator=(const narrow_server&) -> narrow_server& = delete;
  ~narrow_server() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

  [[nodiscard]] auto address() const -> socket_address { return socket_address::loopback(port_); }

 private:
  [[noreturn]] static void run(int tell, std::size_t connections) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto io = loop::create().value();
    http_router routes;
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    http_server server(*io, routes);
    io->run([&] {
      auto listener = stream_listener::listen(*io, socket_address::loopback(0)).value();
      const std::uint16_t port = listener.local_address().value().port();
      io->spawn(serve(server, std::move(listener)));
      static_cast<void>(limit_descriptors(testing::open_descriptors() + connections));
      if (::write(tell, &port, sizeof(port)) != sizeof(port)) ::_exit(1);
    });
    ::_exit(0);
  }

  ::pid_t id_ = -1;
  std::uint16_t port_ = 0;
};

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
  const narrow_server server(20);
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
  CHECK(testing::eventually([&] { return is_answered(plain_peer::connected_to(server.address())); }));
  for (int i = 0; i < 50; ++i) CHECK(is_answered(plain_peer::connected_to(server.address())));
}

TEST_CASE("a client without descriptors says so, and goes on once there is one") {
  const narrow_server server(20);
  testing::turned_loop here;
  http_client client(here.io());
  const std::string url = "http://" + server.address().to_string() + "/";
  const rlim_t before = limit_descriptors(0);
  const auto refused = here.run(client.get(url)).take();
  static_cast<void>(limit_descriptors(before));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == std::errc::too_many_files_open);
  const auto answer = here.run(client.get(url)).take();
  REQUIRE(answer.has_value());
  CHECK(answer->body == "hello");
}
