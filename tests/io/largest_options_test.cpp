// tests/io/largest_options_test.cpp: the largest value of each option of sockets, readers, names and TLS means that
// there is no limit.
#include <braid/io/byte_stream.hpp>
#include <braid/io/sockets.hpp>

#include <braid/task/executors.hpp>

#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <limits>
#include <string>
#include <string_view>

using namespace braid;
using testing::test_loop;

namespace {

/// An option, and how it is set to its largest value.
template <typename Options>
struct limit {
  std::string_view name;
  void (*set)(Options&);
};

constexpr auto of_listeners = std::to_array<limit<stream_listener::options>>({
    {"backlog", [](auto& o) { o.backlog = std::numeric_limits<int>::max(); }},
    {"keep_alive", [](auto& o) { o.connection.keep_alive = std::chrono::seconds::max(); }},
    {"send_buffer", [](auto& o) { o.connection.send_buffer = std::numeric_limits<int>::max(); }},
    {"receive_buffer", [](auto& o) { o.connection.receive_buffer = std::numeric_limits<int>::max(); }},
});

constexpr auto of_resolvers = std::to_array<limit<resolver::options>>({
    {"lifetime", [](auto& o) { o.lifetime = duration::max(); }},
    {"failed_lifetime", [](auto& o) { o.failed_lifetime = duration::max(); }},
    {"max_names", [](auto& o) { o.max_names = std::numeric_limits<std::size_t>::max(); }},
});

}  // namespace

TEST_CASE("a listener without a limit has connections that speak as others do") {
  for (const auto& [name, set] : of_listeners) {
    INFO(name);
    test_loop here;
    stream_listener::options options;
    set(options);
    auto listener = stream_listener::listen(here.io(), socket_address::loopback(0), options).value();
    auto talk = [&]() -> task<std::string> {
      auto connecting = stream_socket::connect(here.io(), listener.local_address().value(), options.connection);
      const stream_socket client = (co_await std::move(connecting)).value();
      const stream_socket server = (co_await listener.accept()).value();
      const std::string line = "hello\n";
      static_cast<void>(co_await client.write_all(bytes_of(line)));
      buffered_reader reader(server, std::numeric_limits<std::size_t>::max());
      const auto got = co_await reader.read_until("\n");
      co_return std::string(text_of(got.value()));
    };
    CHECK(here.run(talk()).take() == "hello\n");
  }
}

TEST_CASE("a resolver without a limit remembers names, and one without room answers as well") {
  for (const auto& [name, set] : of_resolvers) {
    INFO(name);
    test_loop here;
    blocking_pool threads;
    int asked = 0;
    resolver::options options;
    options.lookup = [&](const std::string& host) -> result<socket_address::list> {
      ++asked;
      if (host == "nowhere") return fail(errc::unknown_host);
      return socket_address::list{socket_address::loopback(1)};
    };
    set(options);
    resolver names(here.io(), threads, options);
    for (int i = 0; i < 2; ++i) {
      CHECK(here.run(names.resolve("somewhere", 80)).take().has_value());
      CHECK(here.run(names.resolve("nowhere", 80)).take().error() == errc::unknown_host);
    }
    CHECK(asked == 2);
  }
  test_loop here;
  blocking_pool threads;
  resolver::options options{.max_names = 0};
  options.lookup = [](const std::string&) -> result<socket_address::list> {
    return socket_address::list{socket_address::loopback(1)};
  };
  resolver names(here.io(), threads, options);
  for (const char* host : {"a", "b", "a"}) CHECK(here.run(names.resolve(host, 80)).take().has_value());
}
