// tests/io/socket_address_test.cpp: addresses as text and as the system has them.
#include <braid/io/sockets.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/un.h>

using namespace braid;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

auto printed(std::string_view text) -> std::string {
  const auto parsed = socket_address::parse(text);
  return parsed ? parsed->to_string() : "refused";
}

}  // namespace

TEST_CASE("what is printed is what was parsed, in its shortest form") {
  CHECK(printed("127.0.0.1:80") == "127.0.0.1:80");
  CHECK(printed("0.0.0.0:0") == "0.0.0.0:0");
  CHECK(printed("255.255.255.255:65535") == "255.255.255.255:65535");
  CHECK(printed("[::1]:80") == "[::1]:80");
  CHECK(printed("[0:0::0:1]:80") == "[::1]:80");
  CHECK(printed("[::ffff:10.0.0.1]:1") == "[::ffff:10.0.0.1]:1");
  CHECK(printed("[fe80::1%2]:80") == "[fe80::1%2]:80");
  CHECK(printed("unix:/run/x.sock") == "unix:/run/x.sock");
  CHECK(printed("unix:@x") == "unix:@x");
  CHECK(printed("unix:@a\\x00b\\x5cc") == "unix:@a\\x00b\\x5cc");
}

TEST_CASE("what is no address is refused") {
  for (const auto text : {""sv,
                          ":"sv,
                          ":80"sv,
                          "127.0.0.1"sv,
                          "127.0.0.1:"sv,
                          "127.0.0.1:65536"sv,
                          "127.0.0.1:-1"sv,
                          "127.0.0.1:80 "sv,
                          " 127.0.0.1:80"sv,
                          "127.0.0.1:8x"sv,
                          "127.0.1:80"sv,
                          "127.0.0.256:80"sv,
                          "127.0.0.1\0:80"sv,
                          "localhost:80"sv,
                          "::1:80"sv,
                          "[::1]"sv,
                          "[::1:80"sv,
                          "::1]:80"sv,
                          "[127.0.0.1]:80"sv,
                          "[]:80"sv,
                          "[:::1]:80"sv,
                          "[fe80::1%]:80"sv,
                          "[fe80::1%x]:80"sv,
                          "unix:"sv,
                          "unix:@"sv,
                          "unix:a\\x00b"sv,
                          "unix:a\\x0"sv,
                          "unix:a\\n"sv}) {
    CAPTURE(text);
    CHECK(printed(text) == "refused");
  }
  CHECK(socket_address::parse("unix:").error() == errc::bad_address);
}

TEST_CASE("names of Unix sockets are as long as the system takes them, and no longer") {
  const std::string longest(107, 'x');
  CHECK(socket_address::unix_file(longest).value().host() == longest);
  CHECK(socket_address::unix_abstract(longest).value().host() == "@" + longest);
  CHECK_FALSE(socket_address::unix_file(longest + "x"));
  CHECK_FALSE(socket_address::unix_abstract(longest + "x"));
}

TEST_CASE("host, port and family are those that were given") {
  const auto v4 = socket_address::ip("10.1.2.3", 8080).value();
  CHECK(v4.family() == AF_INET);
  CHECK(v4.is_ip());
  CHECK(v4.host() == "10.1.2.3");
  CHECK(v4.port() == 8080);
  const auto v6 = socket_address::ip("::", 1).value();
  CHECK(v6.family() == AF_INET6);
  CHECK(v6.host() == "::");
  CHECK(v6.port() == 1);
  const auto file = socket_address::unix_file("/tmp/x").value();
  CHECK(file.family() == AF_UNIX);
  CHECK_FALSE(file.is_ip());
  CHECK(file.port() == 0);
  CHECK(socket_address::loopback(7) == socket_address::parse("127.0.0.1:7").value());
  CHECK(socket_address::any(7) == socket_address::parse("0.0.0.0:7").value());
  CHECK(socket_address().to_string() == "none");
}

TEST_CASE("addresses are equal when they name the same place") {
  CHECK(socket_address::loopback(1) == socket_address::loopback(1));
  CHECK_FALSE(socket_address::loopback(1) == socket_address::loopback(2));
  CHECK_FALSE(socket_address::loopback(1) == socket_address::any(1));
  CHECK_FALSE(socket_address::unix_abstract("a").value() == socket_address::unix_abstract("b").value());
  CHECK_FALSE(socket_address::unix_abstract("a").value() == socket_address::unix_file("a").value());
}

TEST_CASE("an address of the system is taken only in its own size") {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  const auto* const address = reinterpret_cast<const sockaddr*>(&v4);
  CHECK(socket_address::from_system(address, sizeof(v4)));
  CHECK_FALSE(socket_address::from_system(address, sizeof(v4) - 1));
  CHECK_FALSE(socket_address::from_system(address, 1));
  CHECK_FALSE(socket_address::from_system(address, 0));
  v4.sin_family = AF_APPLETALK;
  CHECK_FALSE(socket_address::from_system(address, sizeof(v4)));
  sockaddr_un unnamed{};
  unnamed.sun_family = AF_UNIX;
  const auto nobody = socket_address::from_system(reinterpret_cast<const sockaddr*>(&unnamed), sizeof(sa_family_t));
  CHECK(nobody.value().to_string() == "unix:");
}
