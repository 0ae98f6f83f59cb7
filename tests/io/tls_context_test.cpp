// tests/io/tls_context_test.cpp: what a context takes, and what it refuses when it is made.
#include <braid/io/tls.hpp>

#include <tests/support/certificates.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/tls_scene.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <system_error>

using namespace braid;
using testing::certified;
using testing::make_certificate;
using testing::tls_people;

namespace {

auto with_identity(tls_context::pem chain, tls_context::pem key) -> result<tls_context> {
  return tls_context::server({.identity = {.chain = std::move(chain), .key = std::move(key)}});
}

auto as_text(const certified& who) -> result<tls_context> {
  return with_identity(tls_context::pem::text(who.certificate), tls_context::pem::text(who.key));
}

}  // namespace

TEST_CASE("certificates, keys and authorities come from text or from files") {
  const testing::scratch_folder folder;
  const auto& people = tls_people::known();
  const auto chain = folder.write("chain.pem", people.server.certificate + people.authority.certificate);
  const auto key = folder.write("key.pem", people.server.key);
  const auto authority = folder.write("authority.pem", people.authority.certificate);
  CHECK(with_identity(tls_context::pem::file(chain), tls_context::pem::file(key)).has_value());
  CHECK(with_identity(tls_context::pem::file(chain), tls_context::pem::text(people.server.key)).has_value());
  CHECK(tls_context::client({.authorities = tls_context::pem::file(authority)}).has_value());
  CHECK(tls_context::client().has_value());
}

TEST_CASE("a file that is not there, and one that cannot be read, are errors of the system") {
  const testing::scratch_folder folder;
  const auto& server = tls_people::known().server;
  const auto missing =
      with_identity(tls_context::pem::file(folder.path() / "none.pem"), tls_context::pem::text(server.key));
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
  const auto is_folder =
      with_identity(tls_context::pem::text(server.certificate), tls_context::pem::file(folder.path()));
  CHECK(is_folder.error() == std::errc::is_a_directory);
}

TEST_CASE("a text or a file of more than 16 MiB is refused before OpenSSL sees it") {
  const testing::scratch_folder folder;
  const std::string key = tls_people::known().server.key;
  constexpr std::size_t max_bytes = std::size_t{16} * 1024 * 1024;
  const std::string huge(max_bytes + 1, ' ');
  const auto file = folder.write("huge.pem", huge);
  for (const auto& each : {tls_context::pem::text(huge), tls_context::pem::file(file)})
    CHECK(with_identity(each, tls_context::pem::text(key)).error() == std::errc::file_too_large);
  const auto largest = with_identity(tls_context::pem::text(huge.substr(1)), tls_context::pem::text(key));
  CHECK_FALSE(largest);
  CHECK(largest.error() != std::errc::file_too_large);
}

TEST_CASE("what is no certificate, no key, or only half of one is refused with what OpenSSL says") {
  const auto& server = tls_people::known().server;
  const auto empty = with_identity(tls_context::pem::text(""), tls_context::pem::text(server.key));
  CHECK(empty.error().category() == braid::detail::tls_category());
  CHECK(empty.error().message() == "no start line");
  CHECK(with_identity({}, {}).error() == errc::invalid_argument);
  const std::string half = server.certificate.substr(0, server.certificate.size() / 2);
  const auto cut = with_identity(tls_context::pem::text(half), tls_context::pem::text(server.key));
  CHECK(cut.error().category() == braid::detail::tls_category());
  const auto second_cut =
      with_identity(tls_context::pem::text(server.certificate + half), tls_context::pem::text(server.key));
  CHECK(second_cut.error().category() == braid::detail::tls_category());
  const auto swapped = with_identity(tls_context::pem::text(server.key), tls_context::pem::text(server.certificate));
  CHECK(swapped.error().category() == braid::detail::tls_category());
  CHECK(tls_context::client({.authorities = tls_context::pem::text("nothing")}).error().category() ==
        braid::detail::tls_category());
}

TEST_CASE("a key that belongs to another certificate is refused") {
  const auto& people = tls_people::known();
  const auto mixed = as_text({.certificate = people.server.certificate, .key = people.authority.key});
  REQUIRE_FALSE(mixed.has_value());
  CHECK(mixed.error().message() == "key values mismatch");
}

TEST_CASE("a key that is too weak is refused") {
  const auto weak = as_text(make_certificate({.rsa_bits = 1024}));
  REQUIRE_FALSE(weak.has_value());
  CHECK(weak.error().message() == "ee key too small");
  CHECK(as_text(make_certificate({.rsa_bits = 2048})).has_value());
}

TEST_CASE("a key that is locked by a password is refused, and nobody is asked for it") {
  const auto& server = tls_people::known().server;
  const auto locked = as_text({.certificate = server.certificate, .key = testing::locked_key(server.key)});
  REQUIRE_FALSE(locked.has_value());
  CHECK(locked.error().category() == braid::detail::tls_category());
}

TEST_CASE("names of protocols have one to 255 bytes") {
  for (const std::string& wrong : {std::string(), std::string(256, 'x')}) {
    CHECK(tls_context::client({.protocols = {"h2", wrong}}).error() == errc::invalid_argument);
    auto server = testing::known_server();
    server.protocols = {wrong};
    CHECK(tls_context::server(server).error() == errc::invalid_argument);
  }
  CHECK(tls_context::client({.protocols = {std::string(255, 'x')}}).has_value());
}

TEST_CASE("a context knows which protocols it offers") {
  const tls_context both = tls_context::client({.protocols = {"h2", "http/1.1"}}).value();
  CHECK(both.offers("h2"));
  CHECK(both.offers("http/1.1"));
  for (const std::string_view other : {"h", "h2c", "http", "", "http/1.1h2"}) CHECK_FALSE(both.offers(other));
  CHECK_FALSE(tls_context::client().value().offers("h2"));
}

TEST_CASE("a server that asks clients for certificates says whom it trusts, and another one does not") {
  auto asks = testing::known_server();
  asks.client_certificate = tls_context::client_certificate::required;
  CHECK(tls_context::server(asks).error() == errc::invalid_argument);
  asks.client_authorities = tls_context::pem::text(tls_people::known().authority.certificate);
  CHECK(tls_context::server(asks).has_value());
  asks.client_certificate = tls_context::client_certificate::none;
  CHECK(tls_context::server(asks).error() == errc::invalid_argument);
}
