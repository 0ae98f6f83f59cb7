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
  CHECK(outcome_of(caller.call("Rank", slow, {{"grpc-timeout", "20m"}})) == "4 deadline_exceeded");
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

#endif
