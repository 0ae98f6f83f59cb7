// tests/net/http2_tools_test.cpp: curl and h2load, clients of HTTP/2 by others, and the server.
#include <braid/net/http_server.hpp>

#include <braid/io/process.hpp>

#include <tests/support/http2_peer.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/tls_scene.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#if defined(BRAID_TESTS_HTTP2)

using namespace braid;
using namespace braid::testing;

namespace {

auto tool_routes() -> http_router {
  http_router routes;
  routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
  routes.get("/large", [](http_exchange& x) -> task<void> {
    x.begin(http_status::ok, "text/plain");
    for (int i = 0; i < 100; ++i)
      if (!co_await x.write(std::string(10'000, 'x'))) co_return;
  });
  routes.post("/size", [](http_exchange& x) -> task<void> {
    const result<std::string> body = co_await x.read_all();
    if (body) x.reply(http_status::ok, "text/plain", std::to_string(body->size()));
  });
  return routes;
}

/// The output of a program, or nothing if it is not installed or fails.
auto run_tool(loop& io, std::string program, std::vector<std::string> arguments) -> task<std::optional<std::string>> {
  const child_process::options options{.program = std::move(program),
                                       .arguments = std::move(arguments),
                                       .in = child_process::stream::null,
                                       .out = child_process::stream::pipe};
  auto started = child_process::start(io, options);
  if (!started) co_return std::nullopt;
  std::string out;
  std::array<std::byte, 4096> room{};
  for (;;) {
    const result<std::size_t> got = co_await started->out().read_some(room);
    if (!got || *got == 0) break;
    out += text_of(std::span(room).first(*got));
  }
  const auto ended = co_await started->wait();
  if (!ended || !ended->is_success()) co_return "failed: " + out;
  co_return out;
}

struct tool_scene : http_scene {
  explicit tool_scene(http_server::options options = {}) : http_scene(routes, std::move(options)) {}

  auto run(std::string program, std::vector<std::string> arguments) -> std::optional<std::string> {
    auto running = run_tool(here.io(), std::move(program), std::move(arguments));
    return here.run(std::move(running)).take();
  }
  /// Returns whether the tool can be run; says so if not.
  auto has(const std::string& program) -> bool {
    const bool is_there = run(program, {"--version"}).has_value();
    if (!is_there) MESSAGE(program, " is not installed: the server is not tested with it");
    return is_there;
  }
  [[nodiscard]] auto at(std::string_view path) const -> std::string { return (address().to_string()) += path; }

  static inline const http_router routes = tool_routes();
};

constexpr const char* version_of_http = "%{http_version} %{size_download}";

}  // namespace

TEST_CASE("curl speaks HTTP/2 with the server by prior knowledge") {
  if (!can_speak_http2()) return;
  tool_scene scene;
  if (!scene.has("curl")) return;
  const std::vector<std::string> usual{"--silent", "--http2-prior-knowledge", "--write-out", version_of_http};
  const auto curl = [&](std::vector<std::string> rest) {
    std::vector<std::string> words = usual;
    words.insert(words.end(), rest.begin(), rest.end());
    return scene.run("curl", words).value();
  };
  CHECK(curl({"http://" + scene.at("/")}) == "hello2 5");
  CHECK(curl({"--output", "/dev/null", "http://" + scene.at("/large")}) == "2 1000000");
  const scratch_folder folder;
  const std::string file = folder.write("body", std::string(1'000'000, 'x'));
  CHECK(curl({"--data-binary", "@" + file, "http://" + scene.at("/size")}) == "10000002 7");
  CHECK(curl({"--head", "--output", "/dev/null", "http://" + scene.at("/")}) == "2 0");
  // Over HTTP/1.1, curl asks for an upgrade, which the server ignores.
  CHECK(scene.run("curl", {"--silent", "--http2", "--write-out", version_of_http, "http://" + scene.at("/")}) ==
        "hello1.1 5");
}

TEST_CASE("curl chooses HTTP/2 by ALPN") {
  if (!can_speak_http2()) return;
  tls_context::server_options serving = known_server();
  serving.protocols = {"h2", "http/1.1"};
  tool_scene scene({.tls = server_context(serving)});
  if (!scene.has("curl")) return;
  const scratch_folder folder;
  const std::string authority = folder.write("authority.pem", tls_people::known().authority.certificate);
  const std::string url = "https://localhost:" + std::to_string(scene.address().port()) + "/";
  const auto curl = [&](std::string version) {
    return scene.run("curl", {"--silent", "--noproxy", "*", "--cacert", authority, std::move(version), "--write-out",
                              version_of_http, url});
  };
  CHECK(curl("--http2") == "hello2 5");
  CHECK(curl("--http1.1") == "hello1.1 5");
}

TEST_CASE("h2load has all of its requests answered") {
  if (!can_speak_http2()) return;
  tool_scene scene;
  if (!scene.has("h2load")) return;
  const auto said = scene.run("h2load", {"-n", "500", "-c", "4", "-m", "20", "http://" + scene.at("/")});
  REQUIRE(said.has_value());
  CHECK(said->find("500 succeeded, 0 failed, 0 errored, 0 timeout") != std::string::npos);
  CHECK(scene.server().counts().requests == 500);
  CHECK(scene.server().counts().refused == 0);
}

#endif
