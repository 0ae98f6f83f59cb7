// tests/net/http_status_test.cpp: phrases, and which responses have no body.
#include <braid/net/http_message.hpp>

#include <doctest/doctest.h>

using namespace braid;

TEST_CASE("known statuses have a phrase, others none") {
  CHECK(reason_phrase(http_status::ok) == "OK");
  CHECK(reason_phrase(http_status::header_fields_too_large) == "Request Header Fields Too Large");
  CHECK(reason_phrase(http_status{799}).empty());
  for (int status = 400; status < 405; ++status)
    if (status != 402) CHECK_FALSE(reason_phrase(static_cast<http_status>(status)).empty());
}

TEST_CASE("informational responses, 204 and 304 have no body") {
  CHECK(braid::detail::is_bodiless(http_status::continue_));
  CHECK(braid::detail::is_bodiless(http_status::no_content));
  CHECK(braid::detail::is_bodiless(http_status::not_modified));
  CHECK_FALSE(braid::detail::is_bodiless(http_status::ok));
  CHECK(braid::detail::is_informational(http_status{199}));
  CHECK_FALSE(braid::detail::is_informational(http_status::ok));
}
