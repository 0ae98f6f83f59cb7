// tests/net/http2_client_stress.cpp: many calls over few connections of HTTP/2, of which some are stopped or dropped.
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#if defined(BRAID_TESTS_HTTP2)

using namespace braid;

namespace {

auto echo_routes() -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  routes.get("/slow", [](http_exchange& x) -> task<void> {
    co_await sleep_for(2ms);
    x.reply(http_status::ok, "text/plain", "hello");
  });
  routes.post("/echo", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok);
    for (;;) {
      const auto piece = co_await x.read_some();
      if (!piece || piece->empty()) break;
      const std::string copy(*piece);
      if (!co_await x.write(copy)) break;
    }
  });
  return routes;
}

struct stressed {
  std::unique_ptr<http_client> client;
  std::string url;
  std::size_t answered = 0;
  std::size_t stopped = 0;
  std::size_t wrong = 0;
  std::string first_wrong;

  void note(const result<http_client::answer>& answer, const std::string& body) {
    if (answer && answer->status == http_status::ok && answer->body == body)
      ++answered;
    else if (++wrong == 1)
      first_wrong = answer ? "an answer with another body" : answer.error().message();
  }

  auto call_at_random(random_source& random) -> task<void> {
    switch (random.below(5)) {
      case 0: {
        auto asking = client->get(url + "/");
        const auto answer = co_await std::move(asking);
        co_return note(answer, "hello");
      }
      case 1: {
        std::string body(random.below(300'000), static_cast<char>('a' + random.below(26)));
        auto asking = client->fetch({.method = http_method::post, .url = url + "/echo", .body = body});
        const auto answer = co_await std::move(asking);
        co_return note(answer, body);
      }
      case 2: {
        auto limited = with_timeout(std::chrono::microseconds(random.below(4'000)), client->get(url + "/slow"));
        const auto answer = co_await std::move(limited);
        if (!answer && answer.error() == errc::deadline_exceeded)
          ++stopped;
        else
          note(answer, "hello");
        co_return;
      }
      case 3: {  // dropped before the end of its answer
        std::string body(200'000, 'x');
        auto opening = client->open({.method = http_method::post, .url = url + "/echo", .body = std::move(body)});
        const auto opened = co_await std::move(opening);
        if (opened)
          ++stopped;
        else
          note(fail(opened.error()), {});
        co_return;
      }
      default: {
        std::string body;
        auto pieces = [&, left = random.below(5)]() mutable -> task<result<std::string>> {
          if (left-- == 0) co_return std::string();
          co_await sleep_for(100us);
          std::string piece(1 + random.below(20'000), 'p');
          body += piece;
          co_return piece;
        };
        auto asking = client->fetch({.method = http_method::post, .url = url + "/echo", .pieces = std::ref(pieces)});
        const auto answer = co_await std::move(asking);
        // The server still runs calls that were stopped, and may refuse this one, which cannot be sent again.
        if (!answer && answer.error() == http_errc::refused_stream)
          ++stopped;
        else
          note(answer, body);
        co_return;
      }
    }
  }

  auto call_often(std::uint64_t seed, std::size_t calls) -> task<void> {
    random_source random(seed);
    for (; calls > 0; --calls) {
      auto calling = call_at_random(random);
      co_await std::move(calling);
    }
  }

  auto run(loop& on, std::uint64_t seed, std::size_t tasks, std::size_t calls) -> task<void> {
    client = std::make_unique<http_client>(
        on, http_client::options{.connections_per_host = 3,
                                 .http2 = {.use = http_client::http2_use::known, .stream_window = 50'000}});
    auto all = [&](scope& children) -> task<void> {
      for (std::size_t i = 0; i < tasks; ++i) children.spawn(call_often(seed + i, calls));
      co_return;
    };
    auto running = with_scope(std::ref(all));
    co_await std::move(running);
    client.reset();
  }
};

}  // namespace

TEST_CASE("each call that is not given up has its own answer, and nothing stays behind") {
  if (!testing::can_speak_http2()) return;
  const std::uint64_t seed = testing::printed_seed();
  const std::size_t tasks = 40;
  const std::size_t calls = testing::scaled(50);
  testing::looping_threads loops(2);
  const http_router routes = echo_routes();
  std::unique_ptr<http_server> server;
  stressed all;
  auto start = [&](loop& on) -> task<std::string> {
    auto listener = stream_listener::listen(on, socket_address::loopback(0)).value();
    std::string url = "http://" + listener.local_address().value().to_string();
    server = std::make_unique<http_server>(on, routes, http_server::options{.http2 = {.streams = 20}});
    auto serve = [](http_server& by, stream_listener taken) -> task<void> {
      static_cast<void>(co_await by.serve(std::move(taken)));
    };
    on.spawn(serve(*server, std::move(listener)));
    co_return url;
  };
  all.url = sync_wait(loops[0], start(loops[0]));
  sync_wait(loops[1], all.run(loops[1], seed, tasks, calls));
  auto end = [&]() -> task<http_server::totals> {
    co_await server->stop(10s);
    const http_server::totals counts = server->counts();
    server.reset();
    co_return counts;
  };
  const http_server::totals counts = sync_wait(loops[0], end());
  CAPTURE(all.first_wrong);
  CHECK(all.wrong == 0);
  CHECK(all.answered + all.stopped == tasks * calls);
  CHECK(counts.open == 0);
  CHECK(counts.http2 == 0);
}

#endif
