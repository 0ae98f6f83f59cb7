// tests/rankd/server/grpc_messages_test.cpp: requests of gRPC as JSON, and errors as messages.
#include <rankd/server/grpc/grpc_messages.hpp>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a request is written as the JSON that HTTP accepts, with sorted names") {
  v1::RankRequest request;
  request.set_plan("p");
  request.mutable_user_id()->set_integer(1);
  (*request.mutable_context())["b"].set_integer(9'007'199'254'740'993);
  (*request.mutable_context())["a"].set_number(0.5);
  (*request.mutable_context())["c"].mutable_list()->add_values()->set_flag(true);
  (*request.mutable_param_overrides())["n"];
  v1::Rows& rows = *request.mutable_candidates();
  rows.add_ids(1);
  rows.add_ids(2);
  v1::Column& price = (*rows.mutable_columns())["price"];
  price.add_numbers(0);
  price.add_numbers(2.5);
  price.add_nulls(0);
  (*rows.mutable_columns())["name"].add_texts("\"a\"");
  request.set_cursor("c");
  request.set_deadline_ms(5);
  request.add_explain_ids()->set_text("x");
  v1::Capture& capture = *request.add_capture();
  capture.set_node("n");
  capture.set_max_rows(3);
  CHECK(to_json(request).value() ==
        R"({"user_id":1,"plan":"p","context":{"a":0.5,"b":9007199254740993,"c":[true]},"param_overrides":{"n":null},)"
        R"("candidates":{"id":[1,2],"name":["\"a\""],"price":[null,2.5]},"cursor":"c","deadline_ms":5,)"
        R"("explain":{"ids":["x"]},"capture":[{"node":"n","max_rows":3}]})");
}

TEST_CASE("an error is a message with the status of gRPC") {
  const v1::Error error = to_message(answer_error(rank_error{"store_timeout", "no answer", "n", "/plan"}, "me"));
  CHECK(error.code() == "store_timeout");
  CHECK(error.status() == 4);
  CHECK(error.message() == "no answer");
  CHECK(error.node() == "n");
  CHECK(error.pointer() == "/plan");
  CHECK(error.request_id() == "me");
}
