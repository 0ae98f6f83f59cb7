// tests/rankd/server/span_exporter_test.cpp: what comes to a collector, and what becomes of spans where it does not.
#include <rankd/server/traces/span_exporter.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/server/collector.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::eventually;
using rankd::testing::collector;
using rankd::testing::value_of;

namespace {

using namespace std::chrono_literals;

auto options_for(const std::string& url) -> span_export_options {
  return {.url = url, .interval = 1ms, .retry_after = 1ms, .last_words = 1ms};
}

auto started(span_export_options options, serve_log log = {}) -> std::unique_ptr<span_exporter> {
  return value_of(span_exporter::start(std::move(options), log));
}

/// The spans of one request.
auto some_spans(const std::string& name, std::size_t count = 1) -> std::vector<otlp_span> {
  return {count, otlp_span{.context = braid::trace_context::begin(), .name = name}};
}

}  // namespace

TEST_CASE("spans come to the collector, each once and in order") {
  const collector sink;
  const auto exporter = started(options_for(sink.url()));
  for (const char* name : {"a", "b", "c"}) exporter->add(some_spans(name, 2));
  REQUIRE(eventually([&] { return exporter->counts().exported == 6; }));
  std::string names;
  for (const auto& span : sink.spans()) names += span.at("name");
  CHECK(names == "aabbcc");
  CHECK(sink.content_type() == "application/json");
  CHECK(exporter->counts().queued == 0);
}

TEST_CASE("a collector without capacity is asked again, and one that refuses is not") {
  const collector busy({503, 429});
  const auto exporter = started(options_for(busy.url()));
  exporter->add(some_spans("kept"));
  REQUIRE(eventually([&] { return exporter->counts().exported == 1; }));
  CHECK(busy.calls() == 3);
  CHECK(exporter->counts().failed == 0);

  const collector refusing({400, 500});
  const auto other = started(options_for(refusing.url()));
  for (std::size_t refused = 1; refused <= 2; ++refused) {
    other->add(some_spans("lost"));
    REQUIRE(eventually([&] { return other->counts().failed == refused; }));
  }
  CHECK(refusing.calls() == 2);
  other->add(some_spans("taken"));
  CHECK(eventually([&] { return other->counts().exported == 1; }));
}

TEST_CASE("spans are given up after some attempts, and the log says why, once") {
  const braid::testing::scratch_folder folder;
  {
    const auto log = line_file::open(folder.path() / "log").value();
    const rankd::testing::dead_collector dead;
    span_export_options options = options_for(dead.url() + "/in/traces?key=secret");
    options.attempts = 2;
    const auto exporter = started(options, serve_log(*log, log_level::info));
    for (std::size_t failed = 1; failed <= 2; ++failed) {
      exporter->add(some_spans("lost"));
      REQUIRE(eventually([&] { return exporter->counts().failed == failed; }));
    }
  }
  const std::string text = read_text_file(folder.path() / "log").value();
  const auto line = nlohmann::json::parse(text);  // one
  CHECK(line.at("event") == "collector_failed");
  CHECK(line.at("message") == "Connection refused");
  const std::string url = line.at("url");
  CHECK(url.ends_with("/in/traces"));
  CHECK(text.find("secret") == text.npos);
}

TEST_CASE("a collector that does not answer fills the queue, and what does not fit is counted") {
  const collector silent({0});
  span_export_options options = options_for(silent.url());
  options.queue = 4;
  const auto exporter = started(options);
  exporter->add(some_spans("sent"));
  REQUIRE(eventually([&] { return silent.calls() == 1; }));
  exporter->add(some_spans("waits", 3));
  exporter->add(some_spans("too much"));
  CHECK(exporter->counts().queued == 4);
  CHECK(exporter->counts().dropped == 1);
}

TEST_CASE("a call that takes too long is given up") {
  const collector slow({0});
  span_export_options options = options_for(slow.url());
  options.timeout = 1s;
  options.attempts = 20;  // a busy machine may be late again
  const auto exporter = started(options);
  exporter->add(some_spans("again"));
  CHECK(eventually([&] { return exporter->counts().exported == 1; }));
  CHECK(slow.calls() >= 2);
}

TEST_CASE("the end does not wait for a name that nobody answers") {
  const braid::testing::watchdog guard(60s);
  struct silence {
    std::latch asked{1};
    std::latch over{1};
  };
  const auto names = std::make_shared<silence>();
  span_export_options options = options_for("http://collector.invalid:4318");
  options.lookup = [names](const std::string& host) -> braid::result<braid::socket_address::list> {
    CHECK(host == "collector.invalid");
    names->asked.count_down();
    names->over.wait();
    return braid::fail(braid::errc::unknown_host);
  };
  auto exporter = started(options);
  exporter->add(some_spans("lost"));
  names->asked.wait();
  exporter.reset();
  names->over.count_down();
}

TEST_CASE("spans that the collector rejects by themselves are not counted as exported") {
  const collector strict({}, R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}})");
  const auto exporter = started(options_for(strict.url()));
  exporter->add(some_spans("some", 5));
  REQUIRE(eventually([&] { return exporter->counts().queued == 0; }));
  CHECK(exporter->counts().exported == 3);
  CHECK(exporter->counts().failed == 2);
}

TEST_CASE("the answer of a collector is bounded in bytes and in depth") {
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  const collector nested({}, R"({"more":)" + deep + R"(,"partialSuccess":{"rejectedSpans":2,"more":)" + deep + "}}");
  const auto exporter = started(options_for(nested.url()));
  exporter->add(some_spans("some", 5));
  REQUIRE(eventually([&] { return exporter->counts().queued == 0; }));
  CHECK(exporter->counts().exported == 3);

  const collector endless({}, "{}" + std::string(100'000, ' '));
  const auto other = started(options_for(endless.url()));
  other->add(some_spans("some", 5));
  REQUIRE(eventually([&] { return other->counts().queued == 0; }));
  CHECK(other->counts().failed == 5);
}

TEST_CASE("no batch is larger than it may be, unless one request is") {
  const collector sink;
  span_export_options options = options_for(sink.url());
  options.batch = 3;
  const auto exporter = started(options);
  for (const std::size_t count : {2U, 2U, 5U, 1U, 1U, 1U}) exporter->add(some_spans("x", count));
  REQUIRE(eventually([&] { return exporter->counts().exported == 12; }));
  for (const std::size_t size : sink.sizes()) CHECK((size <= 3 || size == 5));
}

TEST_CASE("what waits is sent when the exporter ends") {
  const collector sink;
  span_export_options options = options_for(sink.url());
  options.last_words = 1min;
  auto exporter = started(options);
  exporter->add(some_spans("last"));
  exporter.reset();
  CHECK(sink.spans().size() == 1);
}

TEST_CASE("traces are sampled by their number") {
  const auto sampled = [](double share, std::uint64_t low) {
    span_export_options options = options_for("http://127.0.0.1:1");
    options.share = share;
    return started(options)->samples({.trace_id = {0, low}, .span_id = 1});
  };
  CHECK_FALSE(sampled(0, 0));
  CHECK(sampled(1, ~std::uint64_t{0}));
  CHECK(sampled(0.5, 0x7fffffffffffffff));
  CHECK_FALSE(sampled(0.5, 0x8000000000000000));
}

TEST_CASE("a URL without a path means the path of OTLP, and other texts are refused") {
  CHECK(collector_url("http://localhost:4318").value() == "http://localhost:4318/v1/traces");
  CHECK(collector_url("https://c.example/").value() == "https://c.example/v1/traces");
  CHECK(collector_url("http://c.example:80/in/traces?key=1").value() == "http://c.example/in/traces?key=1");
  CHECK_FALSE(collector_url("c.example:4317"));
  CHECK(span_exporter::start({.url = "grpc://c"}, {}).error().front().code == "bad_url");
}
