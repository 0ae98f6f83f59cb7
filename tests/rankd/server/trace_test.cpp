// tests/rankd/server/trace_test.cpp: requests that are part of a trace across processes, and the trace of this process.
#include <rankd/server/rank_server.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <tests/rankd/server/collector.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/rankd/server/slow_trace.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/watchdog.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::heard_answer;
using nlohmann::json;
using rankd::testing::reference_project;
using rankd::testing::serve_world;

namespace {

constexpr std::string_view trace_number = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view parent_field = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
constexpr std::string_view request = R"({"user_id":1,"plan":"ten"})";

auto list_lines(const std::filesystem::path& file) -> std::vector<json> {
  std::vector<json> out;
  const std::string text = read_text_file(file).value();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    out.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
  return out;
}

/// The lines of audit and log after `ask(world)`.
struct lines {
  std::vector<json> audit;
  std::vector<json> requests;  // lines `request` of the log
};
template <typename Ask>
auto lines_after(Ask ask) -> lines {
  const braid::testing::scratch_folder folder;
  {
    const auto audit = line_file::open(folder.path() / "audit").value();
    const auto log = line_file::open(folder.path() / "log").value();
    serve_world world({}, audit.get(), serve_log(*log, log_level::debug));
    ask(world);
    world.end();
  }
  lines out{.audit = list_lines(folder.path() / "audit"), .requests = {}};
  for (json& each : list_lines(folder.path() / "log"))
    if (each.at("event") == "request") out.requests.push_back(std::move(each));
  return out;
}

}  // namespace

TEST_CASE("the answer, the audit and the log have the trace of a request that is part of one") {
  std::string span;
  const lines written = lines_after([&](serve_world& world) {
    span = world.rank(request, parent_field).field("traceresponse");
    CHECK(world.rank("no json", parent_field).field("traceresponse").starts_with("00-" + std::string(trace_number)));
  });
  const auto read = braid::trace_context::parse(span);
  REQUIRE(read);
  CHECK(read->trace_id_text() == trace_number);
  CHECK(read->span_id != 0xb7ad6b7169203331U);
  CHECK(read->is_sampled);
  REQUIRE(written.audit.size() == 2);
  REQUIRE(written.requests.size() == 2);
  for (const auto* kind : {&written.audit, &written.requests})
    for (const json& line : *kind) CHECK(line.at("trace_id") == trace_number);
}

TEST_CASE("a request without traceparent is part of no trace, and one with a wrong one begins its own") {
  heard_answer plain;
  heard_answer wrong;
  const lines written = lines_after([&](serve_world& world) {
    plain = world.rank(request);
    wrong = world.rank(request, "traceparent: 00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
  });
  CHECK(plain.field("traceresponse").empty());
  const auto own = braid::trace_context::parse(wrong.field("traceresponse"));
  REQUIRE(own);
  CHECK(own->trace_id_text() != trace_number);
  CHECK_FALSE(own->is_sampled);
  REQUIRE(written.audit.size() == 2);
  CHECK_FALSE(written.audit[0].contains("trace_id"));
  CHECK_FALSE(written.requests[0].contains("trace_id"));
  CHECK(written.audit[1].at("trace_id") == own->trace_id_text());
}

TEST_CASE("each request of a batch is a line in the trace of the call") {
  const lines written = lines_after([&](serve_world& world) {
    const heard_answer answer =
        world.ask("POST", "/v1/rank/batch", R"({"requests":[{"user_id":1,"plan":"ten"},{"user_id":2,"plan":"ten"}]})",
                  parent_field);
    CHECK(answer.field("traceresponse").find(trace_number) == 3);
  });
  REQUIRE(written.audit.size() == 2);
  for (const json& line : written.audit) CHECK(line.at("trace_id") == trace_number);
}

namespace {

/// A server whose spans come to a collector.
struct exporting_world {
  explicit exporting_world(double share = 1, redaction redacted = {}, serve_options options = {})
      : spans(rankd::testing::value_of(
            span_exporter::start({.url = sink.url(), .share = share, .interval = std::chrono::milliseconds(1)}, {}))),
        world(std::move(options), nullptr, {}, reference_project::get().stores, nullptr, std::move(redacted), nullptr,
              spans.get()) {}

  /// The spans of the collector, once there are so many.
  auto wait_for(std::size_t count) -> std::vector<json> {
    REQUIRE(braid::testing::eventually([&] { return sink.spans().size() >= count; }));
    return sink.spans();
  }

  rankd::testing::collector sink;
  std::unique_ptr<span_exporter> spans;
  serve_world world;
};

auto read_attributes(const json& span) -> json {
  json out = json::object();
  for (const json& each : span.at("attributes")) out[each.at("key").get<std::string>()] = each.at("value").front();
  return out;
}

}  // namespace

TEST_CASE("a request that is sampled by its client is a span under the client's, with one for each node") {
  exporting_world here(0);
  CHECK(here.world.rank(R"({"user_id":1,"plan":"ten","request_id":"r"})", parent_field).status == 200);
  const std::vector<json> spans = here.wait_for(2);
  REQUIRE(spans.size() == 2);
  const json& own = spans[0];
  CHECK(own.at("traceId") == trace_number);
  CHECK(own.at("parentSpanId") == "b7ad6b7169203331");
  CHECK(own.at("name") == "POST /v1/rank");
  CHECK(own.at("kind") == 2);
  CHECK(own.at("status") == json::object());
  CHECK(read_attributes(own) == json::parse(R"({"http.request.method":"POST","http.route":"/v1/rank",
      "http.response.status_code":"200","rankd.plan":"ten","rankd.code":"ok","rankd.request_id":"r",
      "rankd.candidates":"10","rankd.degraded":false})"));
  const json& node = spans[1];
  CHECK(node.at("traceId") == trace_number);
  CHECK(node.at("parentSpanId") == own.at("spanId"));
  CHECK(node.at("name") == "a");
  CHECK(node.at("kind") == 1);
  CHECK(read_attributes(node).at("rankd.op") == "test::fixed_source");
  CHECK(read_attributes(node).at("rankd.rows") == "10");
  const auto time = [](const json& span, const char* end) { return std::stoll(span.at(end).get<std::string>()); };
  CHECK(time(node, "startTimeUnixNano") >= time(own, "startTimeUnixNano"));
  CHECK(time(node, "endTimeUnixNano") <= time(own, "endTimeUnixNano"));
}

TEST_CASE("what begins here is exported by its share, and what a client does not sample is not") {
  exporting_world none(0);
  const std::string plain = none.world.rank(request).field("traceresponse");
  CHECK(plain.ends_with("-00"));
  const std::string unsampled = "traceparent: 00-" + std::string(trace_number) + "-b7ad6b7169203331-00\r\n";
  CHECK(none.world.rank(request, unsampled).field("traceresponse").ends_with("-00"));
  static_cast<void>(none.world.rank(request, parent_field));  // the first that comes
  CHECK(none.wait_for(2).front().at("traceId") == trace_number);
  CHECK(braid::testing::eventually([&] { return none.spans->counts().queued == 0; }));
  CHECK(none.spans->counts().exported == 2);

  exporting_world all;
  CHECK(all.world.rank(request).field("traceresponse").ends_with("-01"));
  CHECK_FALSE(all.wait_for(2).front().contains("parentSpanId"));
}

TEST_CASE("spans say what failed by the server's fault, and have nothing that the audit must not have") {
  exporting_world here(1, rankd::testing::value_of(redaction::make({"request_id"}, reference_project::get().declared)));
  CHECK(here.world.rank(R"({"user_id":1,"plan":"slow","deadline_ms":1})").status == 504);
  const json late = here.wait_for(1).front();
  CHECK(late.at("status") == json{{"code", 2}, {"message", "deadline_exceeded"}});
  CHECK_FALSE(read_attributes(late).contains("rankd.request_id"));
  const std::size_t before = here.sink.spans().size();
  CHECK(here.world.rank(R"({"user_id":1,"plan":"none"})").status == 404);
  const json wrong = here.wait_for(before + 1).back();
  CHECK(wrong.at("status") == json::object());
  CHECK(read_attributes(wrong).at("rankd.code") == "unknown_plan");
}

TEST_CASE("the requests of a batch are spans of the call") {
  exporting_world here;
  CHECK(here.world
            .ask("POST", "/v1/rank/batch", R"({"requests":[{"user_id":1,"plan":"ten"},{"user_id":2,"plan":"ten"}]})",
                 parent_field)
            .status == 200);
  const std::vector<json> spans = here.wait_for(5);
  std::string names;
  for (const json& each : spans) names += each.at("name").get<std::string>() + " ";
  CHECK(names == "rank a rank a POST /v1/rank/batch ");
  CHECK(spans[0].at("parentSpanId") == spans[4].at("spanId"));
  CHECK(spans[2].at("parentSpanId") == spans[4].at("spanId"));
  CHECK(spans[4].at("parentSpanId") == "b7ad6b7169203331");
  for (const std::size_t part : {0U, 2U})
    CHECK(spans[part].at("startTimeUnixNano") == spans[4].at("startTimeUnixNano"));
}

TEST_CASE("spans of strangers are not exported, whatever flag they send") {
  serve_options guarded;
  guarded.tokens = rankd::testing::value_of(token_list::parse("0123456789abcdef", "tokens"));
  exporting_world here(1, {}, guarded);
  for (const char* path : {"/v1/rank", "/v1/rank/batch"}) {
    CHECK(here.world.ask("POST", path, request, parent_field).status == 401);
    CHECK(here.world.ask("POST", path, request).status == 401);
  }
  const std::string known = std::string(parent_field) + "Authorization: Bearer 0123456789abcdef\r\n";
  CHECK(here.world.rank(request, known).status == 200);
  const std::vector<json> spans = here.wait_for(2);
  REQUIRE(spans.size() == 2);
  CHECK(read_attributes(spans[0]).at("http.response.status_code") == "200");
}

TEST_CASE("a collector that is dead delays no request, and the metrics count what it missed") {
  const rankd::testing::dead_collector dead;
  const auto spans = rankd::testing::value_of(
      span_exporter::start({.url = dead.url(), .queue = 2, .interval = std::chrono::hours(1), .last_words = {}}, {}));
  serve_world world({}, nullptr, {}, reference_project::get().stores, nullptr, {}, nullptr, spans.get());
  for (int i = 0; i < 3; ++i) CHECK(world.rank(request).status == 200);
  const std::string text = world.ask("GET", "/metrics").body;
  CHECK(text.find("\nrankd_spans_dropped_total{reason=\"queue_full\"} 4\n") != std::string::npos);
  CHECK(text.find("\nrankd_spans_queued 2\n") != std::string::npos);
  CHECK(serve_world().ask("GET", "/metrics").body.find("rankd_spans_") == std::string::npos);
}

TEST_CASE("one call at a time gets the last seconds, and others are told to come later") {
  const braid::testing::watchdog guard(std::chrono::seconds(60));
  const rankd::testing::slow_trace slow;
  serve_options options = slow.options();
  options.loops = 2;
  serve_world world(options);
  auto first = world.caller();
  first.say(braid::testing::request_text("GET", "/v1/trace", {}, {}));
  slow.wait();
  for (int i = 0; i < 8; ++i) {  // over both loops
    const heard_answer other = world.ask("GET", "/v1/trace");
    CHECK(other.status == 429);
    CHECK(other.field("Retry-After") == "1");
    CHECK(other.body.find(R"("code":"trace_busy")") != std::string::npos);
  }
  slow.finish();
  CHECK(first.hear().value().body == "the trace");
  CHECK(braid::testing::eventually([&] { return world.ask("GET", "/v1/trace").status == 200; }));
}

TEST_CASE("the last seconds are refused with a sentence where nothing keeps them, and the seconds are checked") {
  serve_world world;
  const auto error = [&](const std::string& query) {
    const heard_answer answer = world.ask("GET", "/v1/trace" + query);
    return std::to_string(answer.status) + " " + json::parse(answer.body).at("error").at("code").get<std::string>();
  };
  CHECK(error("") == "409 trace_off");
  CHECK(error("?seconds=2") == "409 trace_off");
  for (const char* seconds : {"0", "601", "-1", "2s", "", "1.5"})
    CHECK(error("?seconds=" + std::string(seconds)) == "400 bad_seconds");
  CHECK(json::parse(world.ask("GET", "/v1/trace").body).at("error").at("message") ==
        "the server keeps no trace of the last seconds; to enable this, start it with the variable "
        "BRAID_TRACE=FILE,last=8s");
}
