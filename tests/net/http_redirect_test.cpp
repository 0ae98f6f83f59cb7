// tests/net/http_redirect_test.cpp: redirects that are relative to the URL that was asked for, or spell its host
// differently.
#include <braid/net/http_client.hpp>

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

using namespace braid;
using testing::http_scene;

TEST_CASE("a redirect may be relative to where it was found") {
  http_router routes;
  std::string location;
  const auto move = [&](http_exchange& x) {
    CHECK(x.set_field("Location", location).has_value());
    x.reply(http_status::found);
  };
  routes.get("/a/b/c", move);
  routes.get("/{path...}", [](http_exchange& x) { x.reply(http_status::ok, x.request().target); });
  http_scene scene(routes);
  http_client client(scene.here.io(), testing::tested(http_client::options{.redirects = 1}));
  const auto url = [&](std::string_view path) { return testing::tested_url(scene.address(), path); };
  const auto led_to = [&](std::string where) {
    location = std::move(where);
    const auto answer = scene.here.run(client.get(url("/a/b/c?q=1"))).take();
    REQUIRE(answer.has_value());
    CHECK(answer->url == url(answer->body));
    return answer->body;
  };
  CHECK(led_to("next") == "/a/b/next");
  CHECK(led_to("./next") == "/a/b/next");
  CHECK(led_to("../up") == "/a/up");
  CHECK(led_to("../../../up") == "/up");
  CHECK(led_to("/root/./x") == "/root/x");
  CHECK(led_to("d?q=2") == "/a/b/d?q=2");
  const std::string whole = url("/whole");
  CHECK(led_to(whole.substr(whole.find("//"))) == "/whole");
  CHECK(led_to(whole) == "/whole");
  location = "?q";
  CHECK(scene.here.run(client.get(url("/a/b/c"))).take().error() == http_errc::too_many_redirects);
}

TEST_CASE("a host in upper and lower case is one host, also after a redirect, and localhost needs no resolver") {
  if (testing::tests_tls()) return;  // the URLs below are of http
  http_router routes;
  std::string location;
  routes.get("/moved", [&](http_exchange& x) {
    CHECK(x.set_field("Location", location).has_value());
    x.reply(http_status::found);
  });
  routes.get("/secret", [](http_exchange& x) {
    x.reply(http_status::ok, x.request().fields.find("Authorization").value_or("none"));
  });
  http_scene scene(routes);
  http_client client(scene.here.io(), {.redirects = 1});
  const std::string port = ":" + std::to_string(scene.address().port());
  location = "http://LOCALHOST" + port + "/secret";
  for (const std::string_view host : {"localhost", "Localhost", "LOCALHOST"}) {
    INFO(host);
    http_client::call call{.url = "http://" + std::string(host) + port + "/moved",
                           .fields = {{"Authorization", "key"}}};
    const auto answer = scene.here.run(client.fetch(std::move(call))).take();
    REQUIRE(answer.has_value());
    CHECK(answer->body == "key");
  }
  CHECK(scene.server().counts().accepted == 1);
  const auto with_root = scene.here.run(client.get("http://localhost." + port + "/secret")).take();
  REQUIRE(with_root.has_value());
  CHECK(with_root->body == "none");
}
