// tests/rankd/server/grpc_status_test.cpp: the fields and the codes of statuses.
#include <rankd/server/grpc/grpc_status.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("messages and binary values are written as gRPC defines them") {
  CHECK(grpc_message_text("50 % of \xc3\xa9\n") == "50 %25 of %C3%A9%0A");
  CHECK(grpc_binary_text("") == "");
  CHECK(grpc_binary_text("a") == "YQ");
  CHECK(grpc_binary_text("ab") == "YWI");
  CHECK(grpc_binary_text("abc") == "YWJj");
  CHECK(to_grpc_code(braid::http_status::too_many_requests) == grpc_code::resource_exhausted);
  CHECK(to_grpc_code(braid::http_status::service_unavailable) == grpc_code::unavailable);
  CHECK(to_grpc_code(braid::http_status::bad_gateway) == grpc_code::internal);
  CHECK(to_grpc_code(braid::http_status::gone) == grpc_code::unknown);
}

TEST_CASE("every status with which the server refuses a request has a code") {
  for (int value = 1; value <= static_cast<int>(braid::http_errc::speaks_http1); ++value) {
    INFO(value);
    CHECK(to_grpc_code(status_of(static_cast<braid::http_errc>(value))) != grpc_code::unknown);
  }
}

TEST_CASE("the fields of a status are so small that clients accept them") {
  std::string message(1023, 'x');
  for (int i = 0; i < 300; ++i) message += "\xc3\xa9";
  const grpc_failure cut = to_grpc_failure(answer_error(braid::http_status::bad_request, "code", message));
  CHECK(cut.code == grpc_code::invalid_argument);
  CHECK(cut.message == std::string(1023, 'x'));
  braid::diagnostics many;
  for (int i = 0; i < 100; ++i) many.add({"c", "/p", std::string(100, 'm'), "", "", ""});
  const grpc_failure few = to_grpc_failure(answer_error(braid::http_status::bad_request, many, "me"));
  CHECK(few.message == std::string(100, 'm'));
  CHECK(few.details.size() < 1024);
}
