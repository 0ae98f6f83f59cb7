// tests/net/http_url_test.cpp: URLs, and what stands in their queries.
#include <braid/net/http_client.hpp>

#include <braid/net/http_message.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace braid;

TEST_CASE("a URL has a host, a port and a target") {
  const auto full = http_url::parse("HTTP://example.org:8080/a/b?c=d#e");
  REQUIRE(full.has_value());
  CHECK(full->host == "example.org:8080");
  CHECK(full->name == "example.org");
  CHECK(full->port == 8080);
  CHECK(full->target == "/a/b?c=d");
  const auto bare = http_url::parse("http://a");
  REQUIRE(bare.has_value());
  CHECK(bare->host == "a");
  CHECK(bare->port == 80);
  CHECK(bare->target == "/");
  CHECK(http_url::parse("http://a?b")->target == "/?b");
  CHECK(http_url::parse("http://a#b")->target == "/");
  CHECK(http_url::parse("http://a:80/")->host == "a");
  CHECK(http_url::parse("http://a:/")->port == 80);
}

TEST_CASE("a URL of https has a port of its own, and is of another origin") {
  const auto secure = http_url::parse("HTTPS://a/b");
  REQUIRE(secure.has_value());
  CHECK(secure->scheme == http_scheme::https);
  CHECK(secure->port == 443);
  CHECK(secure->host == "a");
  CHECK(secure->origin() == "https://a");
  CHECK(http_url::parse("https://a:443/")->host == "a");
  CHECK(http_url::parse("https://a:80/")->origin() == "https://a:80");
  CHECK(http_url::parse("http://a:443/")->origin() == "http://a:443");
  CHECK(http_url::parse("http://a/")->scheme == http_scheme::http);
}

TEST_CASE("an address of version 6 stands in brackets") {
  const auto address = http_url::parse("http://[::1]:81/");
  REQUIRE(address.has_value());
  CHECK(address->host == "[::1]:81");
  CHECK(address->name == "::1");
  CHECK(address->port == 81);
}

TEST_CASE("what is no URL of HTTP is refused") {
  for (const std::string_view text : {"", "a", "http:", "http://", "https://", "httpss://a/", "ftp://a/", "http:///a",
                                      "http://u@a/", "http://a b/", "http://a/b c", "http://a:99999/", "http://a:x/",
                                      "http://a:0/", "http://a/\r\nX: y", "http://a\r\n/", "http://a/\xff"}) {
    INFO(text);
    const auto parsed = http_url::parse(text);
    CHECK_FALSE(parsed.has_value());
    if (!parsed) CHECK(parsed.error() == http_errc::bad_url);
  }
}

TEST_CASE("percent signs stand for bytes") {
  CHECK(http_url::percent_decoded("a%20b%2Fc%2f%00") == std::string("a b/c/\0", 7));
  CHECK(http_url::percent_decoded("") == "");
  for (const std::string_view text : {"%", "%2", "%zz", "a%2"})
    CHECK(http_url::percent_decoded(text).error() == http_errc::bad_target);
}

TEST_CASE("a query is looked up by name") {
  CHECK(http_url::query_value("a=1&b=2+3%264&a=5", "a") == "1");
  CHECK(http_url::query_value("a=1&b=2+3%264&a=5", "b") == "2 3&4");
  CHECK(http_url::query_value("a&b=", "a") == "");
  CHECK(http_url::query_value("a&b=", "b") == "");
  CHECK(http_url::query_value("%61=x", "a") == "x");
  CHECK_FALSE(http_url::query_value("a=1", "A").has_value());
  CHECK_FALSE(http_url::query_value("a=%", "a").has_value());
  CHECK_FALSE(http_url::query_value("", "").has_value());
}
