// tests/net/http_slow_stress.cpp: very many slow clients beside good ones, which notice nothing.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <sys/resource.h>

using namespace braid;

namespace {

/// As many as the system grants; each connection has two ends here.
auto connections_possible() -> std::size_t {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_max < 200 ? 0 : (limit.rlim_max - 200) / 2;
}

struct crowd {
  http_router routes;
  std::size_t refused = 0;  // slow ones that were told so
  std::size_t good = 0;

  crowd() {
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, {}, "well"); });
  }

  auto serve(http_server& server, stream_listener listener) -> task<void> {
    static_cast<void>(co_await server.serve(std::move(listener)));
  }

  /// Says a byte of a request each time, until the server has had enough.
  auto be_slow(loop& on, socket_address to) -> task<void> {
    auto socket = co_await stream_socket::connect(on, to);
    if (!socket) co_return;
    for (const char& c : std::string_view("GET / HT")) {
      if (!co_await socket->write_all(bytes_of({&c, 1}))) break;
      co_await sleep_for(20ms);
    }
    std::array<std::byte, 64> room{};
    const auto heard = co_await socket->read_some(room);
    if (heard && text_of(std::span(room).first(*heard)).starts_with("HTTP/1.1 408")) ++refused;
  }

  auto be_good(http_client& client, std::string url, std::size_t calls) -> task<void> {
    for (; calls > 0; --calls) {
      const auto answer = co_await client.get(url);
      if (answer && answer->body == "well") ++good;
    }
  }

  auto run(loop& on, std::size_t slow, std::size_t calls) -> task<void> {
    auto listener = stream_listener::listen(on, socket_address::loopback(0)).value();
    const socket_address at = listener.local_address().value();
    http_server server(on, routes, {.head_timeout = 3s});
    http_client client(on);
    auto all = [&](scope& children) -> task<void> {
      children.spawn(serve(server, std::move(listener)));
      auto guests = [&](scope& clients) -> task<void> {
        for (std::size_t i = 0; i < slow; ++i) clients.spawn(be_slow(on, at));
        for (int i = 0; i < 10; ++i) clients.spawn(be_good(client, "http://" + at.to_string(), calls));
        co_return;
      };
      co_await with_scope(std::ref(guests));
      CHECK(server.counts().timeouts == slow);
      co_await server.stop(1s);
    };
    co_await with_scope(std::ref(all));
  }
};

}  // namespace

TEST_CASE("slow clients are refused in time, and good ones are served beside them") {
  const std::size_t slow = testing::scaled(200);
  REQUIRE_MESSAGE(connections_possible() >= slow, "the limit of open files (ulimit -Hn) is too low for this size");
  testing::looping_threads loops(1);
  crowd all;
  sync_wait(loops[0], all.run(loops[0], slow, 50));
  CHECK(all.refused == slow);
  CHECK(all.good == 500);
  std::printf("%zu slow connections\n", slow);
}
