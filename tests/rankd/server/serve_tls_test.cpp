// tests/rankd/server/serve_tls_test.cpp: the same interface through TLS.
#include <rankd/server/rank_server.hpp>

#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>
#include <braid/runtime/runtime.hpp>

#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/tls_scene.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::tls_people;
using rankd::testing::serve_world;

namespace {

auto pem(const std::string& text) -> braid::tls_context::pem { return braid::tls_context::pem::text(text); }

auto guarded() -> serve_options {
  const auto& people = tls_people::known();
  serve_options options;
  options.loops = 2;
  options.tls = {.chain = pem(people.server.certificate), .key = pem(people.server.key)};
  return options;
}

auto ask(braid::loop& on, std::string url) -> braid::task<std::string> {
  const auto trusted =
      braid::tls_context::client({.authorities = pem(tls_people::known().authority.certificate)}).value();
  braid::http_client::options options;
  options.tls = trusted;
  braid::http_client client(on, std::move(options));
  braid::http_client::call call{.method = braid::http_method::post, .url = std::move(url)};
  call.body = R"({"user_id":1,"plan":"ten","request_id":"r"})";
  auto asking = client.fetch(std::move(call));
  const braid::result<braid::http_client::answer> got = co_await std::move(asking);
  co_return got ? got->body : got.error().message();
}

/// Returns the protocol that a client of both versions of HTTP and this server agree on.
auto agreed_protocol(braid::loop& on, std::uint16_t port) -> braid::task<std::string> {
  const auto trusted = braid::tls_context::client({.authorities = pem(tls_people::known().authority.certificate),
                                                   .protocols = {"http/1.1", "h2"}})
                           .value();
  auto connecting = braid::stream_socket::connect(on, braid::socket_address::loopback(port));
  braid::result<braid::stream_socket> socket = co_await std::move(connecting);
  auto shaking = braid::tls_stream::connect(trusted, std::move(*socket), "localhost");
  const braid::result<braid::tls_stream> stream = co_await std::move(shaking);
  co_return stream ? std::string(stream->protocol()) : stream.error().message();
}

}  // namespace

TEST_CASE("HTTP/2 is preferred over TLS, unless it is switched off") {
  if (!braid::http_server::has_http2()) return;
  const auto on = braid::runtime::create({.workers = 1}).value();
  serve_world both(guarded());
  CHECK(on->run(agreed_protocol(on->io(), both.server().address().port())) == "h2");
  serve_options options = guarded();
  options.http.http2.enabled = false;
  serve_world old(options);
  CHECK(on->run(agreed_protocol(on->io(), old.server().address().port())) == "http/1.1");
}

TEST_CASE("a client that trusts the server's authority gets the same bytes as without TLS") {
  serve_world plain;
  serve_world secret(guarded());
  const auto on = braid::runtime::create({.workers = 1}).value();
  const std::string url = "https://localhost:" + std::to_string(secret.server().address().port()) + "/v1/rank";
  for (int i = 0; i < 4; ++i)
    CHECK(on->run(ask(on->io(), url)) == plain.rank(R"({"user_id":1,"plan":"ten","request_id":"r"})").body);
}

TEST_CASE("who speaks no TLS gets nothing, and the server goes on") {
  serve_world secret(guarded());
  auto one = secret.caller();
  one.say(braid::testing::request_text("GET", "/healthz"));
  CHECK_THROWS_AS(if (!one.hear()) throw std::runtime_error("nothing"), std::runtime_error);
  const auto on = braid::runtime::create({.workers = 1}).value();
  const std::string url = "https://localhost:" + std::to_string(secret.server().address().port()) + "/v1/rank";
  CHECK(on->run(ask(on->io(), url)).starts_with("{\"request_id\":\"r\""));
}

TEST_CASE("a certificate that does not fit its key keeps a server from starting") {
  const auto& people = tls_people::known();
  serve_options options;
  options.tls = {.chain = pem(people.server.certificate), .key = pem(people.authority.key)};
  const fixed_plans none({});
  const auto refused =
      rank_server::start({.declared = &rankd::testing::reference_project::get().declared, .stores = {}, .plans = &none},
                         std::move(options));
  CHECK(refused.error().front().code == "bad_certificate");
}

TEST_CASE("a new certificate is shown to those who come, and one that is wrong changes nothing") {
  const auto& people = tls_people::known();
  const braid::testing::scratch_folder folder;
  const auto put = [&](const std::string& chain, const std::string& key) {
    folder.write("chain.pem", chain);
    folder.write("key.pem", key);
  };
  put(people.server.certificate, people.server.key);
  serve_options options;
  options.tls = {.chain = braid::tls_context::pem::file((folder.path() / "chain.pem").string()),
                 .key = braid::tls_context::pem::file((folder.path() / "key.pem").string())};
  serve_world secret(options);
  const auto on = braid::runtime::create({.workers = 1}).value();
  const std::string url = "https://localhost:" + std::to_string(secret.server().address().port()) + "/v1/rank";
  const auto is_answered = [&] { return on->run(ask(on->io(), url)).starts_with("{\"request_id\":\"r\""); };
  CHECK(is_answered());

  put(people.server.certificate, people.authority.key);
  const auto refused = secret.server().renew(std::nullopt);
  CHECK(refused.error().front().code == "bad_certificate");
  CHECK(is_answered());

  // One that nobody trusts: where clients do not come in any more, it is the one that is shown.
  const auto stranger = braid::testing::make_certificate({.name = "stranger"});
  put(stranger.certificate, stranger.key);
  const auto replace = rankd::testing::value_of(secret.server().renew(std::nullopt));
  CHECK(is_answered());
  replace();
  CHECK(braid::testing::eventually([&] { return !is_answered(); }));
}
