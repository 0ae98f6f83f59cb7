// tests/rankd/server/events_endpoint_test.cpp: events over HTTP, and the files of captures and exposures.
#include <rankd/server/files/arrow_file.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/rank_server.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/server/arrow_reader.hpp>
#include <rankd/server/grpc/grpc_messages.hpp>
#include <tests/rankd/server/grpc_caller.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

const std::string sender = "Authorization: Bearer 0123456789abcdef\r\n";
const std::string feed = "Authorization: Bearer fedcba9876543210\r\n";

/// `ten`, and the same with a capture of the first two rows for each request.
auto capturing_plans() -> std::vector<known_plan> {
  std::vector<known_plan> plans = test_plans();
  std::string text = source("a", 10);
  text.pop_back();
  text += R"(,"capture":{"max_rows":2}})";
  plans.push_back({.name = "taps",
                   .bound = bound_from(
                       artifact_of(text, "\"a\"", R"("capabilities_required":["cap.rfc.0010.capture.v1"],)"), "taps"),
                   .problems = {}});
  return plans;
}

class event_world {
 public:
  explicit event_world(redaction hidden = {}) {
    serve_options options;
    options.listen = braid::socket_address::loopback(0);
    options.max_events = 2;
    options.tokens = value_of(token_list::parse("app [events] 0123456789abcdef\nfeed fedcba9876543210\n", "tokens"));
    server_ = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                           .stores = reference_project::get().stores,
                                           .plans = &plans_,
                                           .captures = captures_.get(),
                                           .arrow_captures = arrow_captures_.get(),
                                           .exposures = exposures_.get(),
                                           .events = log_.get(),
                                           .rules = &rules_,
                                           .redacted = std::move(hidden)},
                                          std::move(options)));
  }

  auto ask(std::string_view method, std::string_view path, const std::string& who, std::string_view body = {})
      -> heard_answer {
    braid::testing::http_caller one(server_->address());
    one.say(braid::testing::request_text(method, path, who, body));
    return one.hear().value();
  }
  auto events(std::string_view body, const std::string& who = sender) -> heard_answer {
    return ask("POST", "/v1/events", who, body);
  }
  /// The lines of a series. Nothing is written after it.
  auto list_lines(const std::string& name) -> std::vector<json> {
    close();
    std::vector<json> out;
    for (const auto& each : fs::directory_iterator(files_.path()))
      if (each.path().filename().string().starts_with(name + "-")) {
        const std::string text = read_text_file(each.path()).value();
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
          out.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
      }
    return out;
  }
  /// The same of captures in Arrow's form.
  auto lines_of_arrow() -> std::vector<json> {
    close();
    std::vector<json> out;
    for (const auto& each : fs::directory_iterator(files_.path() / "arrow"))
      for (const std::string& line : read_arrow(read_text_file(each.path()).value()).lines)
        out.push_back(json::parse(line));
    return out;
  }
  auto folder() const -> const fs::path& { return files_.path(); }
  auto address() const -> braid::socket_address { return server_->address(); }

 private:
  void close() {
    server_.reset();
    captures_.reset();
    arrow_captures_.reset();
    exposures_.reset();
  }

  scratch_folder files_;
  event_rules rules_;
  std::unique_ptr<event_log> log_ = value_of(event_log::open({.folder = files_.path()}));
  std::unique_ptr<line_file> captures_ = value_of(line_file::series({.folder = files_.path(), .name = "captures"}));
  std::unique_ptr<arrow_file> arrow_captures_ = value_of(arrow_file::open(
      {.series = {.folder = files_.path() / "arrow", .name = "captures"}, .max_delay = std::chrono::milliseconds(1)}));
  std::unique_ptr<line_file> exposures_ = value_of(line_file::series({.folder = files_.path(), .name = "exposures"}));
  fixed_plans plans_{capturing_plans()};
  std::unique_ptr<rank_server> server_;
};

auto code_of(const heard_answer& answer) -> std::string {
  return std::to_string(answer.status) + " " + json::parse(answer.body).at("error").at("code").get<std::string>();
}

}  // namespace

TEST_CASE("events are on the disk when they are answered, and counted") {
  event_world world;
  const heard_answer first = world.events(R"({"events":[{"event_id":"a","type":"click","item_id":3}]})");
  CHECK(first.status == 200);
  CHECK(first.body == "{\"accepted\":1,\"duplicates\":0}\n");
  const auto files = event_files(world.folder());
  REQUIRE(files.size() == 1);
  CHECK(read_text_file(files.front()).value().starts_with(R"({"event_id":"a","type":"click","time_ms":)"));
  CHECK(world.events(R"({"events":[{"event_id":"a","type":"click"},{"event_id":"b","type":"click"}]})").body ==
        "{\"accepted\":1,\"duplicates\":1}\n");
  CHECK(json::parse(world.ask("GET", "/v1/limits", feed).body).at("max_events") == 2);
  const std::string metrics = world.ask("GET", "/metrics", feed).body;
  CHECK(metrics.find("rankd_events_total{result=\"accepted\"} 2\n") != std::string::npos);
  CHECK(metrics.find("rankd_events_total{result=\"duplicate\"} 1\n") != std::string::npos);
  CHECK(metrics.find("endpoint=\"/v1/events\"") != std::string::npos);
}

#if defined(BRAID_TESTS_HTTP2)

TEST_CASE("events by gRPC are the events of HTTP") {
  if (!braid::testing::can_speak_http2()) return;
  event_world world;
  grpc_caller caller(world.address());
  const braid::testing::http2_fields token{{"authorization", "Bearer 0123456789abcdef"}};
  v1::EventsRequest request;
  v1::Event& click = *request.add_events();
  click.set_event_id("a");
  click.set_type("click");
  click.mutable_item_id()->set_integer(3);
  click.mutable_user_id()->set_integer(4);
  click.set_time_ms(5);
  (*click.mutable_fields())["place"].set_text("top");
  CHECK(to_json(request) == R"({"events":[{"event_id":"a","type":"click","time_ms":5,"user_id":4,"item_id":3,)"
                            R"("fields":{"place":"top"}}]})");
  request.mutable_events(0)->clear_fields();
  const auto& first = caller.call("Events", grpc_frame(request), token);
  REQUIRE(first.field("grpc-status") == "0");
  v1::EventsResponse answer;
  REQUIRE(answer.ParseFromString(first.body.substr(5)));
  CHECK(answer.accepted() == 1);
  CHECK(world.events(to_json(request)).body == "{\"accepted\":0,\"duplicates\":1}\n");
  request.mutable_events(0)->set_type("none");
  CHECK(caller.call("Events", grpc_frame(request), token).field("grpc-status") == "3");
  CHECK(caller.call("Events", grpc_frame(request)).field("grpc-status") == "16");
  CHECK(
      caller.call("Events", grpc_frame(request), {{"authorization", "Bearer fedcba9876543210"}}).field("grpc-status") ==
      "7");
}

#endif

TEST_CASE("a call with events that are wrong, too many, or not allowed takes none of them") {
  event_world world;
  CHECK(code_of(world.events(R"({"events":[]})", feed)) == "403 events_forbidden");
  CHECK(code_of(world.events(R"({"events":[]})", "")) == "401 unauthorized");
  CHECK(code_of(world.events("{")) == "400 json_syntax");
  CHECK(code_of(world.events(R"({"events":[{"event_id":"a","type":"click"},{"event_id":"b","type":"none"}]})")) ==
        "400 unknown_event");
  CHECK(code_of(world.events(R"({"events":[1,2,3]})")) == "413 events_too_large");
  CHECK(code_of(world.ask("GET", "/v1/events", sender)) == "405 method_not_allowed");
  CHECK(read_text_file(event_files(world.folder()).front()).value().empty());
}

TEST_CASE("without a folder for events a server takes none") {
  serve_world world;
  braid::testing::http_caller one(world.server().address());
  one.say(braid::testing::request_text("POST", "/v1/events", {}, R"({"events":[]})"));
  CHECK(code_of(one.hear().value()) == "404 no_events");
}

TEST_CASE("what plans capture and what answers show are lines of their files") {
  event_world world;
  CHECK(world.ask("POST", "/v1/rank", feed, R"({"request_id":"r","user_id":4,"plan":"taps"})").status == 200);
  CHECK(world.ask("POST", "/v1/rank", feed, R"({"request_id":"s","plan":"ten"})").status == 200);
  CHECK(world.ask("POST", "/v1/rank", feed, R"({"request_id":"t","plan":"fails"})").status == 422);
  const std::vector<json> captured = world.list_lines("captures");
  REQUIRE(captured.size() == 1);
  CHECK(captured[0].at("request_id") == "r");
  CHECK(captured[0].at("plan") == "taps");
  CHECK(captured[0].at("plan_digest").get<std::string>().size() == 64);
  CHECK(captured[0].at("node") == "a");
  CHECK(captured[0].at("side") == "out");
  CHECK(captured[0].at("rows").dump() == R"({"id":[1,2]})");
  CHECK(captured[0].at("cut") == 8);
  CHECK(world.lines_of_arrow() == captured);
  const std::vector<json> shown = world.list_lines("exposures");
  REQUIRE(shown.size() == 2);
  CHECK(shown[0].at("user_id") == 4);
  CHECK(shown[0].at("rows").at("id").size() == 10);
  CHECK(shown[0].at("plan") == "taps");
  CHECK_FALSE(shown[0].contains("request"));
  CHECK(shown[1].at("request_id") == "s");
}

TEST_CASE("row sets that files of captures hold, or that are lost, are counted in both forms") {
  event_world world;
  CHECK(world.ask("POST", "/v1/rank", feed, R"({"request_id":"r","user_id":4,"plan":"taps"})").status == 200);
  const auto shows = [&](const std::string& sample) {
    return world.ask("GET", "/metrics", feed).body.find(sample) != std::string::npos;
  };
  CHECK(braid::testing::eventually([&] { return shows("rankd_data_lines_total{file=\"captures\"} 2\n"); }));
  CHECK(shows("rankd_data_lines_lost_total{file=\"captures\"} 0\n"));
}

TEST_CASE("what the project redacts is in none of these files") {
  event_world world(value_of(redaction::make({"user_id", "request_id"}, reference_project::get().declared)));
  CHECK(world.ask("POST", "/v1/rank", feed, R"({"request_id":"r","user_id":4,"plan":"taps"})").status == 200);
  for (const std::string name : {"captures", "exposures"})
    for (const json& line : world.list_lines(name)) {
      CHECK_FALSE(line.contains("request_id"));
      CHECK_FALSE(line.contains("user_id"));
      CHECK((!line.contains("request") || !line.at("request").contains("user_id")));
    }
  const std::vector<json> rows = world.lines_of_arrow();
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].contains("request_id"));
}
