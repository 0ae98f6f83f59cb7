// tests/net/http_client_memory_test.cpp: whichever allocation fails for a call of a client, that call fails with an
// error or an exception, and the client goes on.
#include <braid/net/http_client.hpp>

#include <braid/net/http_server.hpp>

#include <tests/support/http_child.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/spare_frames.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

using namespace braid;
using testing::failures;
using testing::http_child;
using testing::no_spare_frames;
using testing::scarce_memory;
using testing::scarcity;
using testing::survives;
using testing::test_loop;

namespace {

using answered = result<http_client::answer>;

/// What a call of the client gives whose allocation `n` fails, counted from 0; and `then` how many after it.
template <typename Ask>
auto answer_without(test_loop& here, http_client& client, long n, scarcity then, Ask& ask) -> answered {
  answered answer = fail(errc::unfinished);
  bool is_over = false;
  auto asking = [&]() -> task<void> {
    try {
      answer = co_await ask(client);
    } catch (...) {
      if (!testing::is_shortage(std::current_exception())) std::terminate();
      answer = fail(std::make_error_code(std::errc::not_enough_memory));
    }
    is_over = true;
  };
  {
    const no_spare_frames cold;
    const scarce_memory scarce(n, then);
    const bool has_begun = survives([&] { here.io().spawn(asking()); });
    is_over = is_over || !has_begun;
    for (int turns = 0; turns < 50 && !is_over; ++turns) here.run_once(1);
  }
  REQUIRE(here.run_until([&] { return is_over; }));
  return answer;
}

/// Fails the calls of a client at each allocation of theirs. `ask` makes the call anew each time.
template <typename Ask>
void fail_calls(const http_child& server, std::string_view expected, bool is_new, scarcity then, Ask& ask) {
  CAPTURE(is_new);
  CAPTURE(then == scarcity::rest);
  long hit = 0;
  test_loop here;
  auto client = std::make_unique<http_client>(here.io());
  for (long n = 0, passed = 0; passed < 3; ++n) {
    CAPTURE(n);
    REQUIRE(n < 2'000);
    if (is_new) client = std::make_unique<http_client>(here.io());
    const answered answer = answer_without(here, *client, n, then, ask);
    hit += failures();
    passed = failures() == 0 ? passed + 1 : 0;
    if (answer)
      CHECK(answer->body == expected);
    else
      CHECK((answer.error() == std::errc::not_enough_memory || answer.error() == errc::unfinished));
    const answered next = here.run(client->get(server.url())).take();
    REQUIRE(next.has_value());
    CHECK(next->body == "hello");
  }
  CHECK((hit > 0 || testing::under_thread_sanitizer));
  client.reset();
}

/// The same on new connections and on kept ones, for one allocation and for all from it on.
template <typename Ask>
void fail_calls(const http_child& server, std::string_view expected, Ask ask) {
  for (const bool is_new : {true, false})
    for (const scarcity then : {scarcity::one, scarcity::rest}) fail_calls(server, expected, is_new, then, ask);
}

}  // namespace

TEST_CASE("whichever allocation fails for a short call, the client answers the next one") {
  const http_child server;
  fail_calls(server, "hello", [&](http_client& by) { return by.get(server.url()); });
}

TEST_CASE(
    "whichever allocation fails for a call that is sent while its answer comes, the client answers the next one") {
  const http_child server;
  const std::string body(100'000, 'x');
  fail_calls(server, body, [&](http_client& by) {
    return by.fetch({.method = http_method::post, .url = server.url(), .body = body});
  });
}

TEST_CASE("whichever allocation fails for a call in pieces, the client answers the next one") {
  const http_child server;
  fail_calls(server, "one two ", [&](http_client& by) {
    http_client::call call{.method = http_method::post, .url = server.url()};
    call.pieces = [left = 2]() mutable -> task<result<std::string>> {
      const int now = left--;
      co_return now == 2 ? "one " : now == 1 ? "two " : "";
    };
    return by.fetch(std::move(call));
  });
}

TEST_CASE("a router, a server and a client are made, or say that there is no memory") {
  testing::fail_everywhere([]() -> void {
    auto io = loop::create();
    if (!io) {
      CHECK(io.error() == std::errc::not_enough_memory);
      return;
    }
    http_router routes;
    routes.get("/one/and/two", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.post("/", [](http_exchange&) -> task<void> { co_return; });
    http_server::options options;
    options.format_refusal = [](const http_server::refusal&) { return http_server::refusal_text(); };
    const http_server server(**io, routes, options);
    const http_client client(**io);
  });
}
