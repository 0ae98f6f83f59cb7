// tests/net/trace_context_test.cpp: traceparent and tracestate, read, written, and carried from a server to its calls.
#include <braid/net/trace_context.hpp>

#include <braid/coro/when_all.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace braid;
using testing::http_scene;

namespace {

constexpr std::string_view trace_number = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

struct router_member {
  http_router routes;
};

/// What a client sends on in a handler of `/`, as `/end` gets it; `none` where it sends nothing.
struct relay_scene : router_member, http_scene {
  explicit relay_scene(http_server::options how) : http_scene(routes, std::move(how)), client(here.io(), trusting()) {
    routes.get("/", [this](http_exchange& x) { return pass_on(x, {}); });
    routes.get("/own", [this](http_exchange& x) { return pass_on(x, {{"traceparent", "own"}}); });
    routes.get("/state", [this](http_exchange& x) { return pass_on(x, {{"Tracestate", "own=1"}}); });
    routes.get("/end", [this](http_exchange& x) {
      parent = x.request().fields.find("traceparent").value_or("none");
      state = x.request().fields.find("tracestate").value_or("none");
      x.reply(http_status::ok);
    });
  }

  static auto trusting() -> http_client::options { return testing::tested(http_client::options()); }

  auto pass_on(http_exchange& x, std::vector<std::pair<std::string, std::string>> fields) -> task<void> {
    const trace_context* const now = co_await trace_context::current.get();
    if (now != nullptr) seen = *now;
    http_client::call call{.url = testing::tested_url(address(), "/end"), .fields = std::move(fields)};
    auto calling = client.fetch(std::move(call));
    const auto answer = co_await std::move(calling);
    x.reply(answer ? answer->status : http_status::internal_server_error);
  }

  /// Asks for `path` with these fields, each with its line end.
  void ask(std::string_view fields, std::string_view path = "/") {
    parent.clear();
    state.clear();
    seen.reset();
    const auto one = talker();
    one->say("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n");
    REQUIRE(one->hears("HTTP/1.1 200"));
  }

  http_client client;
  std::string parent;
  std::string state;
  std::optional<trace_context> seen;
};

auto parent_of(std::string_view value) -> std::string { return "Traceparent: " + std::string(value) + "\r\n"; }
auto state_field(std::string_view value) -> std::string { return "tracestate: " + std::string(value) + "\r\n"; }

}  // namespace

TEST_CASE("a traceparent is read and written as it came") {
  const auto read = trace_context::parse(sampled);
  REQUIRE(read);
  CHECK(read->trace_id_text() == trace_number);
  CHECK(read->span_id == 0xb7ad6b7169203331U);
  CHECK(read->parent_id == 0);
  CHECK(read->is_sampled);
  CHECK(read->traceparent() == sampled);
  const trace_context child = read->child();
  CHECK(child.trace_id == read->trace_id);
  CHECK(child.parent_id == read->span_id);
  CHECK(child.span_id != read->span_id);
  CHECK(child.span_id != 0);
  CHECK(child.is_sampled);
}

TEST_CASE("flags that are unknown are not written, and a later version is read as the first one") {
  const auto read = [](std::string_view text) {
    const auto found = trace_context::parse(text);
    return found ? found->traceparent() : std::string("none");
  };
  const std::string start = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
  const std::string later = "cc" + start.substr(2);
  CHECK(read(start + "ff") == start + "01");
  CHECK(read(start + "02") == start + "00");
  CHECK(read(later + "01") == start + "01");
  CHECK(read(later + "01-what-comes-later") == start + "01");
  CHECK(read(later + "01.what") == "none");
  CHECK(read(later + "0") == "none");
  CHECK(read(start + "01-more") == "none");
  CHECK(read("ff" + start.substr(2) + "01") == "none");
}

TEST_CASE("a traceparent with anything wrong is none") {
  for (const std::string_view bad : {"", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-011",
                                     "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333g-01",
                                     "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0A",
                                     "0G-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01",
                                     "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331.01",
                                     " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}) {
    CAPTURE(bad);
    CHECK_FALSE(trace_context::parse(bad));
  }
  // A half of zeros is a number like others.
  CHECK(trace_context::parse("00-0000000000000000844800000000000c-b7ad6b7169203331-01"));
}

TEST_CASE("new traces have other numbers each, are not sampled and have no parent") {
  const trace_context one = trace_context::begin();
  const trace_context two = trace_context::begin();
  CHECK(one.trace_id != two.trace_id);
  CHECK(one.span_id != two.span_id);
  CHECK_FALSE(one.is_sampled);
  CHECK(one.parent_id == 0);
  CHECK(trace_context::parse(one.traceparent()));
}

TEST_CASE("calls of a handler carry on the trace of its request, where the server follows traces") {
  relay_scene scene({.traces = true});
  scene.ask(parent_of(sampled) + state_field("a=1,b@c=x y"));
  REQUIRE(scene.seen);
  CHECK(scene.seen->trace_id_text() == trace_number);
  CHECK(scene.seen->parent_id == 0xb7ad6b7169203331U);
  CHECK(scene.parent == scene.seen->traceparent());
  CHECK(scene.state == "a=1,b@c=x y");

  scene.ask(parent_of(sampled) + state_field("a=1"), "/own");
  CHECK(scene.parent == "own");
  CHECK(scene.state == "none");
  scene.ask(parent_of(sampled) + state_field("a=1"), "/state");
  CHECK(scene.parent == "none");
  CHECK(scene.state == "own=1");
}

TEST_CASE("a request without a usable traceparent begins a new trace, and its tracestate is not read") {
  relay_scene scene({.traces = true});
  for (const std::string& fields :
       {std::string(), parent_of("00-1-2-3"), parent_of(sampled) + parent_of(sampled), state_field("a=1")}) {
    CAPTURE(fields);
    scene.ask(fields + (fields.empty() ? "" : state_field("b=2")));
    REQUIRE(scene.seen);
    CHECK(scene.seen->trace_id_text() != trace_number);
    CHECK(scene.seen->parent_id == 0);
    CHECK(scene.parent == scene.seen->traceparent());
    CHECK(scene.state == "none");
  }
}

TEST_CASE("a server that does not follow traces passes none on") {
  relay_scene scene({});
  scene.ask(parent_of(sampled) + state_field("a=1"));
  CHECK_FALSE(scene.seen);
  CHECK(scene.parent == "none");
  CHECK(scene.state == "none");
}

TEST_CASE("a tracestate is passed on as it came, in full members up to its limits, or not at all") {
  relay_scene scene({.traces = true});
  const auto passed = [&](const std::string& fields) {
    scene.ask(parent_of(sampled) + fields);
    return scene.state;
  };
  const auto members = [](int count, std::size_t size) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      const std::string key = (out.empty() ? "k" : ",k") + std::to_string(i) + "=";
      out += key + std::string(size, 'v');
    }
    return out;
  };
  CHECK(passed(state_field("a=1 , b=2,,")) == "a=1 , b=2,,");
  CHECK(passed(state_field("a=1") + state_field("b=2")) == "a=1,b=2");
  CHECK(passed(state_field(members(32, 1))) == members(32, 1));
  CHECK(passed(state_field(members(33, 1))) == "none");
  CHECK(passed(state_field("A=1")) == "none");
  CHECK(passed(state_field("a=1,b")) == "none");
  CHECK(passed(state_field("a=1,b=")) == "none");
  CHECK(passed(state_field("a=1=2")) == "none");
  CHECK(passed(state_field("a=" + std::string(257, 'v'))) == "none");
  CHECK(passed(state_field(",")) == "none");
  // 20 members of 30 characters and some are more than 512: those at the end go.
  const std::string shorter = passed(state_field(members(20, 30)));
  CHECK(shorter.size() <= 512);
  CHECK(shorter == members(20, 30).substr(0, shorter.size()));
  CHECK(members(20, 30).substr(shorter.size()).starts_with(",k"));
  // A member of more than 128 goes first.
  CHECK(passed(state_field("long=" + std::string(200, 'x') + "," + members(12, 30))) == members(12, 30));
}

TEST_CASE("a trace that a program begins itself goes with its calls, and not with those of other tasks") {
  relay_scene scene({});
  const auto get = [&](std::string& parent) -> task<void> {
    auto calling = scene.client.get(testing::tested_url(scene.address(), "/end"));
    static_cast<void>(co_await std::move(calling));
    parent = scene.parent;
  };
  std::string with;
  std::string without;
  const trace_context own = trace_context::begin();
  const auto both = [&]() -> task<void> {
    auto bound = trace_context::current.bind(own, get(with));
    co_await std::move(bound);
    auto other = get(without);
    co_await std::move(other);
  };
  scene.here.run(both()).take();
  CHECK(with == own.traceparent());
  CHECK(without == "none");
}
