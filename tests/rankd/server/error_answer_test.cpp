// tests/rankd/server/error_answer_test.cpp: failures as status and JSON.
#include <rankd/server/endpoints/error_answer.hpp>

#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::http_status;
using nlohmann::json;

TEST_CASE("an error is an object with code, sentence and place, and the request's id beside it") {
  const error_answer one = answer_error({"bad", "a \"sentence\"", "n", "/p"}, "id");
  CHECK(json::parse(one.body) ==
        json::parse(
            R"({"error":{"code":"bad","message":"a \"sentence\"","node":"n","pointer":"/p"},"request_id":"id"})"));
  CHECK(one.code == "bad");
  const error_answer bare = answer_error(http_status::not_found, "x", "y");
  CHECK(bare.body == "{\"error\":{\"code\":\"x\",\"message\":\"y\"}}\n");
  CHECK(bare.status == http_status::not_found);
  CHECK(with_request_id(bare.body, "i\"d") == answer_error(http_status::not_found, "x", "y", "i\"d").body);
}

TEST_CASE("several diagnostics are all told, one is the error") {
  braid::diagnostics problems;
  problems.add({.code = "a", .pointer = "/a", .message = "first", .hint = "do", .node = {}, .source = "request"});
  const json alone = json::parse(answer_error(http_status::bad_request, problems, "id").body);
  CHECK(alone.at("error").at("message") == "first; do");
  CHECK(!alone.contains("diagnostics"));
  problems.add({.code = "b", .pointer = "", .message = "second", .hint = {}, .node = {}, .source = "f.json"});
  const json both = json::parse(answer_error(http_status::bad_request, problems, "id").body);
  CHECK(both.at("error").at("code") == "a");
  CHECK(both.at("diagnostics").size() == 2);
  CHECK(both.at("request_id") == "id");
}

TEST_CASE("what a plan ends with is the plan's fault, unless it is the store's, the time's or ours") {
  CHECK(status_of_run("non_finite_value") == http_status::unprocessable_content);
  CHECK(status_of_run("deadline_exceeded") == http_status::gateway_timeout);
  CHECK(status_of_run("time_budget_exceeded") == http_status::gateway_timeout);
  CHECK(status_of_run("row_budget_exceeded") == http_status::unprocessable_content);
  CHECK(status_of_run("memory_budget_exceeded") == http_status::unprocessable_content);
  CHECK(status_of_run("node_timeout") == http_status::gateway_timeout);
  CHECK(status_of_run("store_unreachable") == http_status::service_unavailable);
  CHECK(status_of_run("store_untrusted") == http_status::bad_gateway);
  CHECK(status_of_run("store_bad_reply") == http_status::bad_gateway);
  CHECK(status_of_run("internal_error") == http_status::internal_server_error);
}

TEST_CASE("each fault of a message has a code of its own") {
  std::set<std::string_view> codes;
  for (int fault = 1; fault <= static_cast<int>(braid::http_errc::too_slow); ++fault)
    CHECK(codes.insert(code_of(static_cast<braid::http_errc>(fault))).second);
  CHECK(!codes.contains("internal_error"));
}
