// tests/rankd/server/grpc_call_test.cpp: calls of rankd.v1.Ranking: answers equal to those of HTTP, wrong calls,
// deadlines and cancellation.
#include <rankd/server/grpc/grpc_call.hpp>

#include <rankd/server/grpc/grpc_frame.hpp>
#include <rankd/server/grpc/grpc_messages.hpp>
#include <rankd/server/grpc/grpc_status.hpp>
#include <tests/rankd/server/grpc_caller.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <grpc/health/v1/health.pb.h>
#include <grpc/reflection/v1/reflection.pb.h>
#include <standard.pb.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::heard_answer;
using nlohmann::json;

#if defined(BRAID_TESTS_HTTP2)

namespace {

using braid::testing::can_speak_http2;

auto message_for(const std::string& plan, std::int64_t user = 1) -> v1::RankRequest {
  v1::RankRequest out;
  out.set_plan(plan);
  out.mutable_user_id()->set_integer(user);
  return out;
}

/// The value of a column as JSON.
auto value_in(const v1::Column& values, int row) -> json {
  if (values.integers_size() != 0) return values.integers(row);
  if (values.numbers_size() != 0) return values.numbers(row);
  if (values.texts_size() != 0) return values.texts(row);
  if (values.flags_size() != 0) return bool{values.flags(row)};
  json out = json::array();
  for (const float each : values.vectors(row).values()) out.push_back(each);
  return out;
}

/// The answer as HTTP would write it.
auto http_form(const v1::RankResponse& answer) -> json {
  json out{{"request_id", answer.request_id()},
           {"engine_request_id", answer.engine_request_id()},
           {"plan", answer.plan()},
           {"candidates", json::array()}};
  const v1::Rows& rows = answer.candidates();
  for (int row = 0; row < rows.ids_size(); ++row) {
    json fields = json::object();
    for (const auto& [name, values] : rows.columns()) {
      bool is_null = false;
      for (const std::uint32_t each : values.nulls()) is_null = is_null || each == static_cast<std::uint32_t>(row);
      if (!is_null) fields[name] = value_in(values, row);
    }
    out["candidates"].push_back({{"id", rows.ids(row)}, {"fields", fields}});
  }
  if (!answer.next_cursor().empty()) out["next_cursor"] = answer.next_cursor();
  if (answer.malformed_ids() != 0) out["malformed_ids"] = answer.malformed_ids();
  if (answer.malformed_values() != 0) out["malformed_values"] = answer.malformed_values();
  if (!answer.captured_json().empty()) out["captured"] = json::parse(answer.captured_json());
  return out;
}

template <typename Message>
auto only_message(std::string_view body, grpc_encoding encoding = grpc_encoding::identity) -> Message {
  Message out;
  REQUIRE(out.ParseFromString(read_grpc_message(body, encoding, 1 << 20).value()));
  return out;
}

auto decoded(std::string_view text) -> std::string {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char each : text) {
    bits = bits << 6U | static_cast<std::uint32_t>(digits.find(each));
    if ((count += 6) < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count);
  }
  return out;
}

/// The error in the status of a call.
auto error_in(const http2_answer& answer) -> v1::Error {
  rankd::grpc::Status status;
  REQUIRE(status.ParseFromString(decoded(answer.field("grpc-status-details-bin"))));
  REQUIRE(status.details_size() == 1);
  CHECK(std::to_string(status.code()) == answer.field("grpc-status"));
  CHECK(status.details(0).type_url() == "type.googleapis.com/rankd.v1.Error");
  v1::Error out;
  REQUIRE(out.ParseFromString(status.details(0).value()));
  return out;
}

/// `0` after a call without an error, otherwise the code of gRPC and that of the error.
auto outcome_of(const http2_answer& answer) -> std::string {
  const std::string status = answer.field("grpc-status");
  if (status.empty()) return "HTTP " + answer.field(":status");
  if (status == "0") return answer.heads.size() == 2 && answer.has_ended ? "0" : "no trailers";
  const bool is_head_alone = answer.heads.size() == 1 && answer.body.empty();
  return status + " " + error_in(answer).code() + (is_head_alone ? "" : " with a body");
}

/// All messages of an answer.
template <typename Message>
auto all_messages(std::string_view body) -> std::vector<Message> {
  std::vector<Message> out;
  while (const auto size = grpc_frame_bytes(body)) {
    out.push_back(only_message<Message>(body.substr(0, *size)));
    body.remove_prefix(*size);
  }
  return out;
}

using health_request = ::grpc::health::v1::HealthCheckRequest;
using health_response = ::grpc::health::v1::HealthCheckResponse;
using reflection_request = ::grpc::reflection::v1::ServerReflectionRequest;
using reflection_response = ::grpc::reflection::v1::ServerReflectionResponse;

auto health_message(const std::string& service) -> std::string {
  health_request out;
  out.set_service(service);
  return grpc_frame(out);
}

/// The status in an answer of Check, or its outcome.
auto health_in(const http2_answer& answer) -> std::string {
  if (outcome_of(answer) != "0") return outcome_of(answer);
  return health_response::ServingStatus_Name(only_message<health_response>(answer.body).status());
}

}  // namespace

TEST_CASE("an answer has the fields of the answer of HTTP to the same request") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  std::vector<v1::RankRequest> requests{message_for("reels_plan_a", 2), message_for("concat_plan", 2),
                                        message_for("ten")};
  requests.push_back(message_for("reels_plan_a", 2));
  requests.back().set_request_id("mine");
  requests.back().set_ids_only(true);
  requests.push_back(message_for("reels_plan_a", 2));
  requests.back().add_capture()->set_node("follow");
  requests.back().add_output_keys("country");
  for (const v1::RankRequest& each : requests) {
    const std::string text = to_json(each).value();
    INFO(text);
    const heard_answer expected = world.rank(text);
    REQUIRE(expected.status == 200);
    const http2_answer& answer = caller.call("Rank", grpc_frame(each));
    REQUIRE(outcome_of(answer) == "0");
    CHECK(answer.heads[0].front().second == "200");
    CHECK(http_form(only_message<v1::RankResponse>(answer.body)) == json::parse(expected.body));
  }
}

TEST_CASE("an error has the code, the message and the pointer of HTTP") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  struct row {
    std::string plan;
    std::string outcome;
  };
  for (const row& each :
       {row{"nope", "5 unknown_plan"}, row{"few", "9 row_budget_exceeded"}, row{"broken", "9 plan_left_out"},
        row{"fails", "9 test_failure"}, row{"hasty", "4 time_budget_exceeded"}, row{"", "3 missing_field"}}) {
    INFO(each.plan);
    const v1::RankRequest message = message_for(each.plan);
    const http2_answer& answer = caller.call("Rank", grpc_frame(message), {{"x-request-id", "me"}});
    CHECK(outcome_of(answer) == each.outcome);
    CHECK(answer.field("x-request-id") == "me");
    const json body = json::parse(world.rank(to_json(message).value(), "X-Request-Id: me\r\n").body);
    const v1::Error error = error_in(answer);
    CHECK(error.message() == body.at("error").value("message", ""));
    CHECK(error.pointer() == body.at("error").value("pointer", ""));
    CHECK(error.node() == body.at("error").value("node", ""));
    CHECK(error.request_id() == body.value("request_id", ""));
    CHECK(answer.field("grpc-message") == grpc_message_text(error.message()));
  }
}

TEST_CASE("a wrong call gets the status that names what is wrong") {
  if (!can_speak_http2()) return;
  serve_options small;
  small.http.limits.body_bytes = 200;
  small.max_batch = 2;
  serve_world world(small);
  grpc_caller caller(world.server().address());
  const std::string ten = grpc_frame(message_for("ten"));
  std::string wrong_length = ten;
  wrong_length[4] = '\x70';
  v1::RankBatchRequest three;
  for (int i = 0; i < 3; ++i) *three.add_requests() = message_for("ten");
  v1::RankRequest two_types = message_for("ten");
  v1::Column& column = (*two_types.mutable_candidates()->mutable_columns())["price"];
  column.add_numbers(1);
  column.add_texts("1");
  v1::RankRequest far_null = message_for("ten");
  (*far_null.mutable_candidates()->mutable_columns())["price"].add_nulls(0);
  v1::RankRequest two_ids = message_for("ten");
  two_ids.mutable_candidates()->add_ids(1);
  two_ids.mutable_candidates()->add_text_ids("1");
  v1::RankRequest ids_and_keys = message_for("ten");
  ids_and_keys.set_ids_only(true);
  ids_and_keys.add_output_keys("price");
  std::string zipped;
  append_grpc_message(zipped, message_for("ten").SerializeAsString(), grpc_encoding::gzip);
  std::string bomb;
  append_grpc_message(bomb, std::string(10'000, 'x'), grpc_encoding::gzip);
  const http2_fields gzip{{"grpc-encoding", "gzip"}};
  struct row {
    std::string_view what;
    std::string outcome;
    std::string method;
    std::string body;
    http2_fields fields = {};
    std::string_view type = "application/grpc";
  };
  const std::vector<row> rows{
      {"a good call", "0", "Rank", ten},
      {"a good call with the format", "0", "Rank", ten, {}, "application/grpc+proto"},
      {"nothing", "3 bad_frame", "Rank", ""},
      {"a part of a prefix", "3 bad_frame", "Rank", ten.substr(0, 4)},
      {"a part of a message", "3 bad_frame", "Rank", ten.substr(0, ten.size() - 1)},
      {"a length that is too large", "3 bad_frame", "Rank", wrong_length},
      {"two messages", "3 bad_frame", "Rank", ten + ten},
      {"a flag that is not 0 or 1", "3 bad_frame", "Rank", grpc_frame("", '\2')},
      {"compressed without an encoding", "3 bad_frame", "Rank", zipped},
      {"compressed by gzip", "0", "Rank", zipped, gzip},
      {"compressed and cut", "3 bad_frame", "Rank", grpc_frame(std::string_view(zipped).substr(5, 20), '\1'), gzip},
      {"bytes after the compressed ones", "3 bad_frame", "Rank", grpc_frame(zipped.substr(5) + "x", '\1'), gzip},
      {"a bomb", "8 body_too_large", "Rank", bomb, gzip},
      {"not compressed, although it may be", "0", "Rank", ten, gzip},
      {"another encoding", "12 unsupported_encoding", "Rank", ten, {{"grpc-encoding", "deflate"}}},
      {"a huge message", "8 body_too_large", "Rank", grpc_frame(std::string(300, 'x'))},
      {"a huge length", "8 body_too_large", "Rank", std::string("\0\x7f\xff\xff\xff", 5)},
      {"no message of protobuf", "3 bad_message", "Rank", grpc_frame("\xff")},
      {"a text that is not UTF-8", "3 bad_message", "Rank", grpc_frame("\x1a\x01\xff")},
      {"an unknown method", "12 unknown_method", "Bank", ten},
      {"another type", "HTTP 415", "Rank", ten, {}, "application/json"},
      {"no type", "HTTP 415", "Rank", ten, {}, ""},
      {"another format", "12 unsupported_media_type", "Rank", ten, {}, "application/grpc+json"},
      {"a timeout without a unit", "3 bad_timeout", "Rank", ten, {{"grpc-timeout", "10"}}},
      {"a timeout of nine digits", "3 bad_timeout", "Rank", ten, {{"grpc-timeout", "123456789S"}}},
      {"a negative timeout", "3 bad_timeout", "Rank", ten, {{"grpc-timeout", "-1S"}}},
      {"a timeout that has passed", "4 deadline_exceeded", "Rank", ten, {{"grpc-timeout", "0n"}}},
      {"the longest timeout", "0", "Rank", ten, {{"grpc-timeout", "99999999H"}}},
      {"an id that is not printable", "3 bad_request_id", "Rank", ten, {{"x-request-id", "\xc3\xa9"}}},
      {"a column of two types", "3 bad_column", "Rank", grpc_frame(two_types)},
      {"a null behind the rows", "3 bad_column", "Rank", grpc_frame(far_null)},
      {"two kinds of ids", "3 bad_rows", "Rank", grpc_frame(two_ids)},
      {"keys and none of them", "3 wrong_value", "Rank", grpc_frame(ids_and_keys)},
      {"a batch that is too large", "8 batch_too_large", "RankBatch", grpc_frame(three)},
      {"events that nothing accepts", "5 no_events", "Events", grpc_frame("")},
  };
  for (const row& each : rows) {
    INFO(each.what);
    CHECK(outcome_of(caller.call(each.method, each.body, each.fields, each.type)) == each.outcome);
  }
}

TEST_CASE("a refusal before the method runs is a valid answer of gRPC") {
  if (!can_speak_http2()) return;
  serve_options small;
  small.http.limits.body_bytes = 200;
  small.http.limits.head_bytes = 1000;
  small.http.limits.fields = 8;
  serve_world world(small);
  grpc_caller caller(world.server().address());
  const std::string ten = grpc_frame(message_for("ten"));
  http2_fields many;
  for (int i = 0; i < 9; ++i) many.emplace_back("x", "1");
  struct row {
    std::string_view what;
    std::string outcome;
    std::string method;
    http2_fields fields = {};
    std::string host = "localhost";
    std::string verb = "POST";
    std::string_view type = "application/grpc";
  };
  const std::vector<row> rows{
      {"a good call", "0", "Rank"},
      {"a foreign host", "7 foreign_host", "Rank", {}, "evil.example"},
      {"a page of another site", "7 cross_site", "Rank", {{"sec-fetch-site", "cross-site"}}},
      {"an unknown service", "12 unknown_path", "/other.Service/Rank"},
      {"a service in a folder", "12 unknown_path", "/a/rankd.v1.Ranking/Rank"},
      {"an endpoint of JSON", "12 unsupported_media_type", "/v1/rank"},
      {"another method of HTTP", "12 method_not_allowed", "Rank", {}, "localhost", "PUT"},
      {"another method of HTTP for the health",
       "12 method_not_allowed",
       "/grpc.health.v1.Health/Check",
       {},
       "localhost",
       "PUT"},
      {"a method that HTTP lacks", "12 unknown_method", "Rank", {}, "localhost", "BREW"},
      {"a body that says it is too large", "8 body_too_large", "Rank", {{"content-length", "201"}}},
      {"a head that is too large", "8 head_too_large", "Rank", {{"x", std::string(1000, 'y')}}},
      {"too many fields", "8 too_many_fields", "Rank", many},
      {"two hosts", "3 bad_host", "Rank", {{"host", "127.0.0.1"}}},
      {"an unknown expectation", "3 unknown_expectation", "Rank", {{"expect", "tea"}}},
      {"another format", "12 unknown_path", "/other", {}, "localhost", "POST", "application/grpc+json"},
      {"a foreign host without the type", "HTTP 403", "Rank", {}, "evil.example", "POST", "application/json"},
      {"an unknown path without the type", "HTTP 404", "/other", {}, "localhost", "POST", ""},
      {"a large head without the type", "HTTP 431", "Rank", {{"x", std::string(1000, 'y')}}, "localhost", "POST", ""},
  };
  for (const row& each : rows) {
    INFO(each.what);
    caller.host = each.host;
    caller.verb = each.verb;
    const http2_answer& answer = caller.call(each.method, ten, each.fields, each.type);
    CHECK(outcome_of(answer) == each.outcome);
    if (each.outcome.starts_with("HTTP")) continue;
    const bool is_whole = answer.heads[0].front() == std::pair<std::string, std::string>(":status", "200");
    CHECK(is_whole);
    if (each.outcome != "0") CHECK(answer.field("content-type") == "application/grpc");
    if (each.outcome != "0") CHECK(answer.field("grpc-message") == grpc_message_text(error_in(answer).message()));
  }
}

TEST_CASE("an answer is compressed if the request was") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  std::string body;
  append_grpc_message(body, message_for("ten").SerializeAsString(), grpc_encoding::gzip);
  const http2_answer& answer =
      caller.call("Rank", body, {{"grpc-encoding", "gzip"}, {"grpc-accept-encoding", "identity, deflate, gzip"}});
  REQUIRE(outcome_of(answer) == "0");
  bool says_so = false;
  for (const auto& [name, value] : answer.heads[0]) says_so = says_so || (name == "grpc-encoding" && value == "gzip");
  CHECK(says_so);
  CHECK(only_message<v1::RankResponse>(answer.body, grpc_encoding::gzip).candidates().ids_size() == 10);
}

TEST_CASE("tokens and their rights count as for HTTP") {
  if (!can_speak_http2()) return;
  serve_options guarded;
  guarded.tokens = value_of(token_list::parse("feed 0123456789abcdef\n", "tokens"));
  serve_world world(guarded);
  grpc_caller caller(world.server().address());
  const std::string ten = grpc_frame(message_for("ten"));
  const http2_fields token{{"authorization", "Bearer 0123456789abcdef"}};
  CHECK(outcome_of(caller.call("Rank", ten)) == "16 unauthorized");
  CHECK(outcome_of(caller.call("Other", ten)) == "16 unauthorized");
  CHECK(outcome_of(caller.call("Rank", ten, {{"authorization", "Bearer 1123456789abcdef"}})) == "16 unauthorized");
  CHECK(outcome_of(caller.call("Rank", ten, token)) == "0");
  v1::RankRequest forced = message_for("ten");
  (*forced.mutable_experiments())["e"] = "a";
  CHECK(outcome_of(caller.call("Rank", grpc_frame(forced), token)) == "7 force_forbidden");
}

TEST_CASE("the timeout of a call is the deadline of its request, and a cancelled call ends its plan") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  const std::string slow = grpc_frame(message_for("slow"));
  // The budget of `hasty` is a second. If the shorter timeout did not count, the budget would end the request.
  REQUIRE(outcome_of(caller.call("Rank", grpc_frame(message_for("hasty")), {{"grpc-timeout", "20m"}})) ==
          "4 deadline_exceeded");
  v1::RankRequest shorter = message_for("slow");
  shorter.set_deadline_ms(20);
  CHECK(outcome_of(caller.call("Rank", grpc_frame(shorter), {{"grpc-timeout", "1H"}})) == "4 deadline_exceeded");
  const auto in_flight = [&] {
    const std::string text = world.ask("GET", "/metrics").body;
    return text.substr(text.find("\nrankd_in_flight ") + 17, 1);
  };
  const std::uint32_t call = caller.start("Rank", slow, {{"grpc-timeout", "1H"}});
  REQUIRE(eventually([&] { return in_flight() == "1"; }));
  caller.cancel(call);
  CHECK(eventually([&] { return in_flight() == "0"; }));
  CHECK(outcome_of(caller.call("Rank", grpc_frame(message_for("ten")))) == "0");
}

TEST_CASE("a batch sends each answer when it is ready") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  v1::RankBatchRequest batch;
  *batch.add_requests() = message_for("slow");
  *batch.add_requests() = message_for("ten");
  const std::uint32_t call = caller.start("RankBatch", grpc_frame(batch));
  const auto first = only_message<v1::RankBatchResponse>(caller.hear_bytes(call));
  CHECK(first.index() == 1);
  CHECK(http_form(first.response()) == json::parse(world.rank(to_json(batch.requests(1)).value()).body));
  caller.cancel(call);

  batch.clear_requests();
  *batch.add_requests() = message_for("nope");
  const http2_answer& failed = caller.call("RankBatch", grpc_frame(batch));
  CHECK(outcome_of(failed) == "0");
  const auto answer = only_message<v1::RankBatchResponse>(failed.body);
  CHECK(answer.error().code() == "unknown_plan");
  CHECK(answer.error().status() == 5);
  CHECK(outcome_of(caller.call("RankBatch", grpc_frame(""))) == "0");  // no requests, no answers
}

TEST_CASE("the health is that of readyz") {
  if (!can_speak_http2()) return;
  serve_options guarded;
  guarded.tokens = value_of(token_list::parse("feed 0123456789abcdef\n", "tokens"));
  serve_world world(guarded);
  grpc_caller caller(world.server().address());
  const std::string path = "/grpc.health.v1.Health/Check";
  CHECK(health_in(caller.call(path, health_message(""))) == "SERVING");
  CHECK(health_in(caller.call(path, health_message("rankd.v1.Ranking"))) == "SERVING");
  CHECK(health_in(caller.call(path, health_message("rankd.v1"))) == "5 unknown_service");
  CHECK(health_in(caller.call(path, "")) == "3 bad_frame");
  CHECK(health_in(caller.call(path, health_message("").substr(0, 4))) == "3 bad_frame");
  CHECK(health_in(caller.call(path, health_message(std::string(5'000, 'x')))) == "8 body_too_large");
  CHECK(health_in(caller.call(path, grpc_frame("\xff"))) == "3 bad_message");
  CHECK(health_in(caller.call(path, health_message(""), {{"grpc-encoding", "deflate"}})) == "12 unsupported_encoding");
  CHECK(health_in(caller.call(path, health_message(""), {}, "application/json")) == "HTTP 415");
  CHECK(world.ask("GET", "/readyz").status == 200);
  world.server().announce_stop();
  CHECK(world.ask("GET", "/readyz").status == 503);
  CHECK(health_in(caller.call(path, health_message(""))) == "NOT_SERVING");
  CHECK(health_in(caller.call(path, health_message("rankd.v1.Ranking"))) == "NOT_SERVING");
}

TEST_CASE("a watched health is sent at once and when it changes, and the drain ends the call") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  const std::string path = "/grpc.health.v1.Health/Watch";
  const std::uint32_t known = caller.start(path, health_message("rankd.v1.Ranking"));
  const std::uint32_t unknown = caller.start(path, health_message("other"));
  const std::uint32_t left = caller.start(path, health_message(""));
  const std::string first = caller.hear_bytes(known);
  CHECK(only_message<health_response>(first).status() == health_response::SERVING);
  CHECK(only_message<health_response>(caller.hear_bytes(unknown)).status() == health_response::SERVICE_UNKNOWN);
  CHECK(only_message<health_response>(caller.hear_bytes(left)).status() == health_response::SERVING);
  caller.cancel(left);
  CHECK(outcome_of(caller.call(path, grpc_frame("\xff"))) == "3 bad_message");
  world.server().announce_stop();
  const http2_answer& answer = caller.hear(known);
  const auto states = all_messages<health_response>(answer.body);
  REQUIRE(states.size() == 2);
  CHECK(states[1].status() == health_response::NOT_SERVING);
  CHECK(answer.field("grpc-status") == "14");
  CHECK(error_in(answer).code() == "stopping");
  CHECK(all_messages<health_response>(caller.hear(unknown).body).size() == 1);
}

TEST_CASE("reflection describes all services of the server") {
  if (!can_speak_http2()) return;
  serve_world world;
  grpc_caller caller(world.server().address());
  for (const std::string version : {"v1", "v1alpha"}) {
    const std::string path = "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo";
    const std::uint32_t call = caller.begin(path);
    std::size_t seen = 0;
    const auto ask = [&](const reflection_request& request) {
      caller.send(call, grpc_frame(request));
      const std::string body = caller.hear_bytes(call, seen);
      const auto messages = all_messages<reflection_response>(std::string_view(body).substr(seen));
      seen = body.size();
      REQUIRE(messages.size() == 1);
      CHECK(messages[0].original_request().SerializeAsString() == request.SerializeAsString());
      return messages[0];
    };
    reflection_request request;
    request.set_host("me");
    request.set_list_services("*");
    const reflection_response listed = ask(request);
    CHECK(listed.valid_host() == "me");
    std::string services;
    for (const auto& each : listed.list_services_response().service()) services += each.name() + " ";
    CHECK(services ==
          "rankd.v1.Ranking grpc.health.v1.Health grpc.reflection.v1.ServerReflection "
          "grpc.reflection.v1alpha.ServerReflection ");
    const auto file_of = [](const reflection_response& response) {
      if (response.has_error_response())
        return std::to_string(response.error_response().error_code()) + " " + response.error_response().error_message();
      rankd::grpc::File file;
      REQUIRE(response.file_descriptor_response().file_descriptor_proto_size() == 1);
      REQUIRE(file.ParseFromString(response.file_descriptor_response().file_descriptor_proto(0)));
      return file.name();
    };
    for (const auto& [symbol, file] : std::vector<std::pair<std::string, std::string>>{
             {"rankd.v1.Ranking", "rankd.proto"},
             {"rankd.v1.Ranking.RankBatch", "rankd.proto"},
             {"rankd.v1.RankRequest", "rankd.proto"},
             {"rankd.v1.RankRequest.plan", "rankd.proto"},
             {"rankd.v1.RankRequest.ContextEntry", "rankd.proto"},
             {"grpc.health.v1.Health", "grpc/health/v1/health.proto"},
             {"grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"},
             {"grpc.health.v1.HealthCheckResponse.SERVING", "grpc/health/v1/health.proto"},
             {"grpc.reflection.v1.ServerReflectionRequest", "grpc/reflection/v1/reflection.proto"},
             {"grpc.reflection.v1alpha.ServerReflection", "grpc/reflection/v1alpha/reflection.proto"},
             {"rankd.v1", "5 this server has no symbol `rankd.v1`"},
             {"", "5 this server has no symbol ``"}}) {
      INFO(symbol);
      request.set_file_containing_symbol(symbol);
      CHECK(file_of(ask(request)) == file);
    }
    request.set_file_by_filename("rankd.proto");
    CHECK(file_of(ask(request)) == "rankd.proto");
    request.set_file_by_filename("packaging/rankd.proto");
    CHECK(file_of(ask(request)) == "5 this server has no file `packaging/rankd.proto`");
    request.mutable_file_containing_extension()->set_containing_type("rankd.v1.RankRequest");
    const std::string unsupported =
        "12 this server supports file_by_filename, file_containing_symbol and list_services";
    CHECK(file_of(ask(request)) == unsupported);
    request.set_all_extension_numbers_of_type("rankd.v1.RankRequest");
    CHECK(file_of(ask(request)) == unsupported);
    request.clear_message_request();
    CHECK(file_of(ask(request)) == unsupported);
    caller.send(call, grpc_frame("\xff"));
    CHECK(caller.hear(call).field("grpc-status") == "3");
  }
}

#endif
