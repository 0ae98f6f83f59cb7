// tests/net/http_router_test.cpp: patterns find their handlers, and nothing else does.
#include <braid/net/http_server.hpp>

#include <tests/support/child.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <string_view>

using namespace braid;

namespace {

/// A router whose handlers say which one they are by their address.
struct marked_router {
  http_router routes;

  auto add(http_method method, std::string_view pattern) -> const http_router::handler* {
    routes.add(method, pattern, [](http_exchange&) {});
    std::string path(pattern);  // fits itself, braces and all, where nothing else does better
    return routes.find(method, path).handler();
  }
  [[nodiscard]] auto at(std::string_view path, http_method method = http_method::get) const {
    return routes.find(method, path);
  }
};

}  // namespace

TEST_CASE("a path finds the pattern that is the same") {
  marked_router all;
  const auto* root = all.add(http_method::get, "/");
  const auto* users = all.add(http_method::get, "/users");
  const auto* folder = all.add(http_method::get, "/users/");
  CHECK(all.at("/").handler() == root);
  CHECK(all.at("/users").handler() == users);
  CHECK(all.at("/users/").handler() == folder);
  CHECK(root != users);
  CHECK(users != folder);
  for (const std::string_view path : {"", "*", "users", "//", "/user", "/userss", "/users//", "/Users", "/users/x"})
    CHECK(all.at(path).handler() == nullptr);
}

TEST_CASE("each verb of the router is its method") {
  http_router routes;
  const auto nothing = [](http_exchange&) {};
  routes.get("/", nothing).post("/", nothing).put("/", nothing).patch("/", nothing).delete_("/", nothing);
  CHECK(routes.find(http_method::get, "/").allowed().to_string() == "GET, HEAD, POST, PUT, DELETE, PATCH");
}

TEST_CASE("a name stands for one segment that is not empty") {
  marked_router all;
  const auto* user = all.add(http_method::get, "/users/{id}");
  const auto* post = all.add(http_method::get, "/users/{id}/posts/{post}");
  const auto one = all.at("/users/7%2F8");
  CHECK(one.handler() == user);
  CHECK(one.value("id") == "7%2F8");
  CHECK_FALSE(one.value("post").has_value());
  const auto both = all.at("/users/a/posts/b");
  CHECK(both.handler() == post);
  CHECK(both.value("id") == "a");
  CHECK(both.value("post") == "b");
  CHECK(all.at("/users/").handler() == nullptr);
  CHECK(all.at("/users//posts/b").handler() == nullptr);
  CHECK(all.at("/users/a/posts").handler() == nullptr);
}

TEST_CASE("a match has the pattern as it was added") {
  marked_router all;
  all.add(http_method::get, "/users/{id}");
  all.add(http_method::post, "/files/{path...}");
  CHECK(all.at("/users/7").pattern() == "/users/{id}");
  CHECK(all.at("/users/7", http_method::head).pattern() == "/users/{id}");
  CHECK(all.at("/files/a/b", http_method::post).pattern() == "/files/{path...}");
  CHECK(all.at("/files/a/b").pattern().empty());
  CHECK(all.at("/users").pattern().empty());
}

TEST_CASE("a rest takes everything that is left, but not nothing") {
  marked_router all;
  const auto* files = all.add(http_method::get, "/files/{path...}");
  CHECK(all.at("/files/a/b//c").handler() == files);
  CHECK(all.at("/files/a/b//c").value("path") == "a/b//c");
  CHECK(all.at("/files/").handler() == nullptr);
  CHECK(all.at("/files").handler() == nullptr);
}

TEST_CASE("what is written out wins over a name, and that over a rest") {
  marked_router all;
  const auto* rest = all.add(http_method::get, "/a/{x...}");
  const auto* name = all.add(http_method::get, "/a/{x}");
  const auto* word = all.add(http_method::get, "/a/b");
  const auto* deep = all.add(http_method::get, "/a/b/c");
  CHECK(all.at("/a/b").handler() == word);
  CHECK(all.at("/a/c").handler() == name);
  CHECK(all.at("/a/b/c").handler() == deep);
  CHECK(all.at("/a/b/d").handler() == rest);
  CHECK(all.at("/a/b/d").value("x") == "b/d");
}

TEST_CASE("a search that went wrong goes back") {
  marked_router all;
  all.add(http_method::get, "/{a}/x/1");
  const auto* other = all.add(http_method::get, "/{b}/{c}/2");
  const auto found = all.at("/p/x/2");
  CHECK(found.handler() == other);
  CHECK(found.value("b") == "p");
  CHECK(found.value("c") == "x");
}

TEST_CASE("a path without a handler for the method says which it has") {
  marked_router all;
  all.add(http_method::get, "/a");
  all.add(http_method::delete_, "/{x}");
  const auto none = all.at("/a", http_method::put);
  CHECK(none.handler() == nullptr);
  CHECK(none.allowed().to_string() == "GET, HEAD, DELETE");
  CHECK(all.at("/a", http_method::delete_).value("x") == "a");
  CHECK(all.at("/b/c", http_method::put).allowed().empty());
}

TEST_CASE("HEAD is answered by GET, unless it has a handler of its own") {
  marked_router all;
  const auto* get = all.add(http_method::get, "/a");
  CHECK(all.at("/a", http_method::head).handler() == get);
  const auto* head = all.add(http_method::head, "/a");
  CHECK(all.at("/a", http_method::head).handler() == head);
  CHECK(head != get);
}

TEST_CASE("a pattern that has a name twice ends the program") {
  for (const std::string_view pattern : {"/{a}/{a}", "/x/{a}/y/{a...}"}) {
    const testing::child_end end = testing::run_in_child([&] { http_router().get(pattern, [](http_exchange&) {}); });
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find("the route `" + std::string(pattern) + "` has a name twice") != std::string::npos);
  }
  marked_router all;
  all.add(http_method::get, "/{a}/{b}");
  all.add(http_method::get, "/{a}/{b}/{c...}");
  CHECK(all.at("/1/2/3").value("a") == "1");
}

TEST_CASE("a route that does not fit the router ends the program with its pattern and what is wrong") {
  const auto nothing = [](http_exchange&) {};
  const auto refusal_of = [&](auto&& add) {
    const testing::child_end end = testing::run_in_child([&] {
      http_router routes;
      add(routes);
    });
    CHECK(end.signal == SIGABRT);
    return end.errors;
  };
  const std::string twice = refusal_of([&](http_router& routes) {
    routes.get("/users/{id}", nothing);
    routes.get("/users/{name}", nothing);
  });
  CHECK(twice.contains("the route `/users/{name}` is added twice for GET: `/users/{id}` already has a handler"));
  CHECK(refusal_of([&](http_router& routes) {
          routes.get("users", nothing);
        }).contains("the route `users` must begin with a slash"));
  CHECK(refusal_of([&](http_router& routes) { routes.get("/a{b}", nothing); }).contains("the route `/a{b}` must have"));
  CHECK(refusal_of([&](http_router& routes) { routes.get("/{b", nothing); }).contains("the route `/{b` must have"));
  CHECK(refusal_of([&](http_router& routes) { routes.get("/{a...}/b", nothing); }).contains("at its end only"));
  CHECK(refusal_of([&](http_router& routes) {
          routes.get("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}", nothing);
        }).contains("has more than eight names"));
  CHECK(refusal_of([&](http_router& routes) {
          routes.get("/", {.deadline = 1s}, nothing);
        }).contains("the route `/` has a deadline, but its handler is a plain function"));
}

TEST_CASE("each verb takes options of the route, which its match has") {
  http_router routes;
  const auto nothing = [](http_exchange&) {};
  routes.get("/", {.name = "g"}, nothing).post("/", {.name = "p"}, nothing).put("/", {.name = "u"}, nothing);
  routes.patch("/", {.name = "a"}, nothing).delete_("/", {.name = "d"}, nothing);
  routes.add(http_method::options, "/", {.name = "o"}, nothing);
  const auto name_of_route = [&](http_method method) { return routes.find(method, "/").options()->name; };
  CHECK(name_of_route(http_method::get) == "g");
  CHECK(name_of_route(http_method::head) == "g");
  CHECK(name_of_route(http_method::post) == "p");
  CHECK(name_of_route(http_method::put) == "u");
  CHECK(name_of_route(http_method::patch) == "a");
  CHECK(name_of_route(http_method::delete_) == "d");
  CHECK(name_of_route(http_method::options) == "o");
  CHECK(routes.find(http_method::get, "/none").options() == nullptr);
}

TEST_CASE("a handler is a plain function or a coroutine") {
  http_router routes;
  routes.get("/plain", [](http_exchange&) {});
  routes.get("/task", [](http_exchange&) -> task<void> { co_return; });
  CHECK(routes.find(http_method::get, "/plain").handler()->index() == 0);
  CHECK(routes.find(http_method::get, "/task").handler()->index() == 1);
}
