// tests/net/http_error_test.cpp: every error has a sentence and a status.
#include <braid/net/http_message.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace braid;

TEST_CASE("every error has a sentence of its own") {
  std::set<std::string> sentences;
  const int last = static_cast<int>(http_errc::speaks_http1);
  for (int code = 1; code <= last; ++code) sentences.insert(braid::detail::http_category().message(code));
  CHECK(sentences.size() == static_cast<std::size_t>(last));
  CHECK_FALSE(sentences.contains(braid::detail::http_category().message(last + 1)));
  const std::error_code error = http_errc::bad_host;
  CHECK(error.category().name() == std::string("braid.http"));
}

TEST_CASE("a message that did not come in time has timed out, and no other refusal has") {
  const int last = static_cast<int>(http_errc::speaks_http1);
  for (int code = 1; code <= last; ++code) {
    const std::error_code error = static_cast<http_errc>(code);
    CHECK((error == std::errc::timed_out) == (error == http_errc::too_slow));
  }
}

TEST_CASE("a refusal has the status that RFC 9110 gives it") {
  CHECK(status_of(http_errc::bad_field) == http_status::bad_request);
  CHECK(status_of(http_errc::bad_version) == http_status::version_not_supported);
  CHECK(status_of(http_errc::unknown_method) == http_status::not_implemented);
  CHECK(status_of(http_errc::target_too_long) == http_status::uri_too_long);
  CHECK(status_of(http_errc::head_too_large) == http_status::header_fields_too_large);
  CHECK(status_of(http_errc::body_too_large) == http_status::content_too_large);
  CHECK(status_of(http_errc::unknown_expectation) == http_status::expectation_failed);
  CHECK(status_of(http_errc::too_slow) == http_status::request_timeout);
}
