// tests/rankd/server/otlp_span_test.cpp: spans have the names and the forms that OTLP's JSON wants.
#include <rankd/server/traces/otlp_span.hpp>

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

/// The spans of a request to a collector, which has them at the one place where they may be.
auto spans_in(const std::string& text) -> json {
  const json whole = json::parse(text);
  CHECK(whole.size() == 1);
  const json& resource = whole.at("resourceSpans");
  REQUIRE(resource.size() == 1);
  const json& scope = resource.at(0).at("scopeSpans");
  REQUIRE(scope.size() == 1);
  CHECK(scope.at(0).at("scope").at("name") == "rankd");
  return scope.at(0).at("spans");
}

}  // namespace

TEST_CASE("a span has its numbers as digits, its times as strings and its attributes by type") {
  using namespace std::chrono_literals;
  const otlp_span first{
      .context = {.trace_id = {0x0af7651916cd43dd, 0x8448eb211c80319c}, .span_id = 0xb7ad6b7169203331, .state = "a=1"},
      .name = "POST /v1/rank",
      .what = otlp_span::kind::server,
      .begin = std::chrono::system_clock::time_point(1'700'000'000s + 5us),
      .took = 1500us,
      .attributes = {{"rankd.plan", "feed \"x\""}, {"rankd.candidates", std::int64_t{-3}}, {"rankd.degraded", true}}};
  otlp_span second{.context = first.context.child(), .name = "node", .begin = first.begin, .error = "timed_out"};
  second.context.state.clear();
  second.context.span_id = 0x1;
  const std::vector<otlp_span> both{first, second};
  CHECK(spans_in(otlp_json(both)) == json::parse(R"([
    {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331","traceState":"a=1","name":"POST /v1/rank",
     "kind":2,"startTimeUnixNano":"1700000000000005000","endTimeUnixNano":"1700000000001505000",
     "attributes":[{"key":"rankd.plan","value":{"stringValue":"feed \"x\""}},
                   {"key":"rankd.candidates","value":{"intValue":"-3"}},
                   {"key":"rankd.degraded","value":{"boolValue":true}}],"status":{}},
    {"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"0000000000000001","parentSpanId":"b7ad6b7169203331",
     "name":"node","kind":1,"startTimeUnixNano":"1700000000000005000","endTimeUnixNano":"1700000000000005000",
     "attributes":[],"status":{"code":2,"message":"timed_out"}}])"));
}

TEST_CASE("spans say what service they are of") {
  const json resource = json::parse(otlp_json({})).at("resourceSpans").at(0).at("resource");
  std::vector<std::string> keys;
  for (const json& each : resource.at("attributes")) keys.push_back(each.at("key"));
  CHECK(keys == std::vector<std::string>{"service.name", "service.version", "host.name", "process.pid"});
  CHECK(resource.at("attributes").at(0).at("value") == json{{"stringValue", "rankd"}});
  CHECK(resource.at("attributes").at(3).at("value").at("intValue").is_string());
}
