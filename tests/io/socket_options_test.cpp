// tests/io/socket_options_test.cpp: each option of a socket reaches the system, and one that the system refuses is an
// error.
#include <braid/io/sockets.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

/// One call of setsockopt.
struct set_call {
  int level = 0;
  int name = 0;
  int value = 0;

  auto operator==(const set_call&) const -> bool = default;
};

std::vector<set_call>* noted_calls = nullptr;  // where they are noted; null: nowhere
std::size_t refused_call = SIZE_MAX;           // the place of the one that the system is to refuse

}  // namespace

/// In place of the system's, as the library finds it.
extern "C" [[gnu::visibility("default")]] auto setsockopt(int number, int level, int name, const void* value,
                                                          socklen_t size) noexcept -> int {
  if (noted_calls != nullptr && size == sizeof(int)) {
    noted_calls->push_back({level, name, *static_cast<const int*>(value)});
    if (noted_calls->size() == refused_call + 1) {
      errno = EPERM;
      return -1;
    }
  }
  return static_cast<int>(::syscall(SYS_setsockopt, number, level, name, value, size));
}

using namespace braid;
using testing::test_loop;

namespace {

/// What `make` sets, and that it gives the error of each of these calls that is refused, and leaves nothing open.
template <typename Make>
auto calls_of(Make make) -> std::vector<set_call> {
  std::vector<set_call> all;
  noted_calls = &all;
  refused_call = SIZE_MAX;
  const bool is_made = make().has_value();
  noted_calls = nullptr;
  CHECK(is_made);
  const std::size_t open = testing::open_descriptors();
  for (std::size_t place = 0; place < all.size(); ++place) {
    std::vector<set_call> again;
    noted_calls = &again;
    refused_call = place;
    const auto made = make();
    noted_calls = nullptr;
    const std::error_code error = made ? std::error_code() : made.error();
    CHECK(error == std::errc::operation_not_permitted);
    CHECK(again.size() == place + 1);
  }
  CHECK(testing::open_descriptors() == open);
  return all;
}

using calls = std::vector<set_call>;

}  // namespace

TEST_CASE("options of datagram sockets") {
  test_loop here;
  const auto of = [&here](udp_socket::options options) {
    return calls_of([&] { return udp_socket::bind(here.io(), socket_address::loopback(0), options); });
  };
  CHECK(of({}).empty());
  CHECK(of({.reuse_port = true}) == calls{{SOL_SOCKET, SO_REUSEPORT, 1}});
  CHECK(of({.broadcast = true}) == calls{{SOL_SOCKET, SO_BROADCAST, 1}});
  CHECK(of({.send_buffer = 20'000}) == calls{{SOL_SOCKET, SO_SNDBUF, 20'000}});
  CHECK(of({.receive_buffer = 30'000}) == calls{{SOL_SOCKET, SO_RCVBUF, 30'000}});
  CHECK(of({.reuse_port = true, .broadcast = true, .send_buffer = 1, .receive_buffer = 2}) ==
        calls{{SOL_SOCKET, SO_REUSEPORT, 1},
              {SOL_SOCKET, SO_BROADCAST, 1},
              {SOL_SOCKET, SO_SNDBUF, 1},
              {SOL_SOCKET, SO_RCVBUF, 2}});
}

TEST_CASE("options of listeners and of what they accept") {
  using std::chrono::seconds;
  test_loop here;
  const auto of = [&here](stream_listener::options options) {
    return calls_of([&] { return stream_listener::listen(here.io(), socket_address::loopback(0), options); });
  };
  const set_call at_once{IPPROTO_TCP, TCP_NODELAY, 1};
  const set_call again{SOL_SOCKET, SO_REUSEADDR, 1};
  CHECK(of({}) == calls{at_once, again});
  CHECK(of({.reuse_port = true}) == calls{at_once, again, {SOL_SOCKET, SO_REUSEPORT, 1}});
  CHECK(of({.ipv6_only = true}) == calls{at_once, again});  // this one is of IPv4
  CHECK(of({.connection = {.no_delay = false}}) == calls{{IPPROTO_TCP, TCP_NODELAY, 0}, again});
  CHECK(of({.connection = {.keep_alive = seconds(7)}}) == calls{at_once,
                                                                {SOL_SOCKET, SO_KEEPALIVE, 1},
                                                                {IPPROTO_TCP, TCP_KEEPIDLE, 7},
                                                                {IPPROTO_TCP, TCP_KEEPINTVL, 7},
                                                                again});
  CHECK(of({.connection = {.send_buffer = 20'000, .receive_buffer = 30'000}}) ==
        calls{at_once, {SOL_SOCKET, SO_SNDBUF, 20'000}, {SOL_SOCKET, SO_RCVBUF, 30'000}, again});
}

TEST_CASE("a listener of IPv6 says whether it takes IPv4 as well") {
  test_loop here;
  const auto any = socket_address::ip("::", 0).value();
  if (!stream_listener::listen(here.io(), any)) return;  // a machine without IPv6
  for (const bool is_alone : {false, true}) {
    const auto found = calls_of([&] { return stream_listener::listen(here.io(), any, {.ipv6_only = is_alone}); });
    REQUIRE_FALSE(found.empty());
    CHECK(found.back() == set_call{IPPROTO_IPV6, IPV6_V6ONLY, is_alone ? 1 : 0});
  }
}

TEST_CASE("what does not concern a Unix listener is passed over") {
  test_loop here;
  const auto at = socket_address::unix_abstract("braid-options-" + std::to_string(::getpid())).value();
  const auto found = calls_of([&] {
    return stream_listener::listen(
        here.io(), at,
        {.reuse_port = true,
         .ipv6_only = true,
         .connection = {.keep_alive = std::chrono::seconds(7), .send_buffer = 20'000, .receive_buffer = 30'000}});
  });
  CHECK(found == calls{{SOL_SOCKET, SO_SNDBUF, 20'000}, {SOL_SOCKET, SO_RCVBUF, 30'000}});
}
