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

TEST_CASE("the host of a URL is the same in upper and lower case, and the rest is not") {
  const auto shouted = http_url::parse("HTTPS://Example.ORG:8443/A?B");
  REQUIRE(shouted.has_value());
  CHECK(shouted->host == "example.org:8443");
  CHECK(shouted->name == "example.org");
  CHECK(shouted->target == "/A?B");
  CHECK(shouted->origin() == http_url::parse("https://example.org:8443/")->origin());
  CHECK(http_url::parse("http://[2001:DB8::A]/")->host == "[2001:db8::a]");
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

TEST_CASE("a reference is resolved as RFC 3986 shows it in its examples") {
  struct example {
    std::string_view reference;
    std::string_view target;
  };
  // 5.4.1 and 5.4.2, by a strict parser.
  for (const auto& [reference, target] : {
           example{"g:h", "g:h"},
           example{"g", "http://a/b/c/g"},
           example{"./g", "http://a/b/c/g"},
           example{"g/", "http://a/b/c/g/"},
           example{"/g", "http://a/g"},
           example{"//g", "http://g"},
           example{"?y", "http://a/b/c/d;p?y"},
           example{"g?y", "http://a/b/c/g?y"},
           example{"#s", "http://a/b/c/d;p?q#s"},
           example{"g#s", "http://a/b/c/g#s"},
           example{"g?y#s", "http://a/b/c/g?y#s"},
           example{";x", "http://a/b/c/;x"},
           example{"g;x", "http://a/b/c/g;x"},
           example{"g;x?y#s", "http://a/b/c/g;x?y#s"},
           example{"", "http://a/b/c/d;p?q"},
           example{".", "http://a/b/c/"},
           example{"./", "http://a/b/c/"},
           example{"..", "http://a/b/"},
           example{"../", "http://a/b/"},
           example{"../g", "http://a/b/g"},
           example{"../..", "http://a/"},
           example{"../../", "http://a/"},
           example{"../../g", "http://a/g"},
           example{"../../../g", "http://a/g"},
           example{"../../../../g", "http://a/g"},
           example{"/./g", "http://a/g"},
           example{"/../g", "http://a/g"},
           example{"g.", "http://a/b/c/g."},
           example{".g", "http://a/b/c/.g"},
           example{"g..", "http://a/b/c/g.."},
           example{"..g", "http://a/b/c/..g"},
           example{"./../g", "http://a/b/g"},
           example{"./g/.", "http://a/b/c/g/"},
           example{"g/./h", "http://a/b/c/g/h"},
           example{"g/../h", "http://a/b/c/h"},
           example{"g;x=1/./y", "http://a/b/c/g;x=1/y"},
           example{"g;x=1/../y", "http://a/b/c/y"},
           example{"g?y/./x", "http://a/b/c/g?y/./x"},
           example{"g?y/../x", "http://a/b/c/g?y/../x"},
           example{"g#s/./x", "http://a/b/c/g#s/./x"},
           example{"g#s/../x", "http://a/b/c/g#s/../x"},
           example{"http:g", "http:g"},
       }) {
    INFO(reference);
    CHECK(http_url::resolve("http://a/b/c/d;p?q", reference) == target);
  }
  CHECK(http_url::resolve("http://a", "g") == "http://a/g");
  CHECK(http_url::resolve("http://a?q", "g") == "http://a/g");
  CHECK(http_url::resolve("https://a:1/b", "//c:2/d?e") == "https://c:2/d?e");
  CHECK(http_url::resolve("http://a/b", "HTTPS://c/../d") == "HTTPS://c/d");
  CHECK(http_url::resolve("http://a/b", "c:d") == "c:d");
  CHECK(http_url::resolve("http://a/b", "./c:d") == "http://a/c:d");
}

TEST_CASE("a name of a host has no empty label, but a dot at its end") {
  for (const std::string_view text :
       {"http://.example.com/", "http://example..com/", "http://a../", "http://./", "http://..:80/", "https://.a/"}) {
    INFO(text);
    CHECK_FALSE(http_url::parse(text).has_value());
  }
  CHECK(http_url::parse("https://a.example.com./")->name == "a.example.com.");
}
