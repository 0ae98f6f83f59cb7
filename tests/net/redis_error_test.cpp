// tests/net/redis_error_test.cpp: errors of a server by their words, and where redirections lead.
#include <braid/net/redis_options.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace braid;

TEST_CASE("every error has a sentence of its own") {
  std::set<std::string> sentences;
  for (int code = 1; code <= static_cast<int>(redis_errc::no_transactions); ++code)
    sentences.insert(make_error_code(static_cast<redis_errc>(code)).message());
  CHECK(sentences.size() == static_cast<std::size_t>(redis_errc::no_transactions));
  CHECK_FALSE(sentences.contains(std::error_code(0, braid::detail::redis_category()).message()));
}

TEST_CASE("an error of the server has the code of its first word") {
  CHECK(braid::detail::parse_redis_error("WRONGTYPE Operation against a key holding the wrong kind of value") ==
        redis_errc::wrong_type);
  CHECK(braid::detail::parse_redis_error("LOADING Redis is loading the dataset in memory") == redis_errc::loading);
  CHECK(braid::detail::parse_redis_error("MOVED 3999 127.0.0.1:6381") == redis_errc::moved);
  CHECK(braid::detail::parse_redis_error("ASK 3999 127.0.0.1:6381") == redis_errc::ask);
  CHECK(braid::detail::parse_redis_error("TRYAGAIN x") == redis_errc::try_again);
  CHECK(braid::detail::parse_redis_error("CROSSSLOT Keys in request don't hash to the same slot") ==
        redis_errc::cross_slot);
  CHECK(braid::detail::parse_redis_error("CLUSTERDOWN The cluster is down") == redis_errc::cluster_down);
  CHECK(braid::detail::parse_redis_error("NOAUTH Authentication required.") == redis_errc::no_authentication);
  CHECK(braid::detail::parse_redis_error("WRONGPASS invalid username-password pair") == redis_errc::wrong_password);
  CHECK(braid::detail::parse_redis_error("ERR invalid password") == redis_errc::wrong_password);
  CHECK(braid::detail::parse_redis_error("NOPERM x") == redis_errc::no_permission);
  CHECK(braid::detail::parse_redis_error("OOM command not allowed when used memory > 'maxmemory'.") ==
        redis_errc::out_of_memory);
  CHECK(braid::detail::parse_redis_error("READONLY x") == redis_errc::read_only);
  CHECK(braid::detail::parse_redis_error("MASTERDOWN x") == redis_errc::master_down);
  CHECK(braid::detail::parse_redis_error("BUSY x") == redis_errc::busy);
  CHECK(braid::detail::parse_redis_error("NOSCRIPT x") == redis_errc::no_script);
  CHECK(braid::detail::parse_redis_error("MISCONF x") == redis_errc::cannot_save);
  CHECK(braid::detail::parse_redis_error("EXECABORT x") == redis_errc::aborted);
  CHECK(braid::detail::parse_redis_error("ERR max number of clients reached") == redis_errc::too_many_clients);
  CHECK(braid::detail::parse_redis_error("DENIED Redis is running in protected mode") == redis_errc::protected_mode);
  CHECK(braid::detail::parse_redis_error("ERR This instance has cluster support disabled") == redis_errc::no_cluster);
}

TEST_CASE("an error with another word is a refusal") {
  CHECK(braid::detail::parse_redis_error("ERR unknown command") == redis_errc::refused);
  CHECK(braid::detail::parse_redis_error("") == redis_errc::refused);
  CHECK(braid::detail::parse_redis_error("MOVEDX 1 a:1") == redis_errc::refused);
  CHECK(braid::detail::parse_redis_error("LOADING") == redis_errc::loading);
}

TEST_CASE("a redirection has slot, host and port") {
  const auto moved = braid::detail::parse_redis_redirection("MOVED 3999 127.0.0.1:6381");
  REQUIRE(moved.has_value());
  CHECK(moved->slot == 3999);
  CHECK(moved->host == "127.0.0.1");
  CHECK(moved->port == 6381);
  const auto asked = braid::detail::parse_redis_redirection("ASK 0 ::1:7000");
  REQUIRE(asked.has_value());
  CHECK(asked->host == "::1");
  CHECK(braid::detail::parse_redis_redirection("MOVED 1 :7000")->host.empty());
  CHECK(braid::detail::parse_redis_redirection("ASK 1 ?:7000")->host.empty());
}

TEST_CASE("what is no redirection is none") {
  for (const char* text :
       {"", "MOVED", "MOVED 1", "MOVED 1 host", "MOVED x host:1", "MOVED 1 host:x",
        "MOVED 1 host:", "MOVED 16384 host:1", "MOVED -1 host:1", "MOVED 1 host:0", "MOVED 1 host:65536", "ERR 1 a:1"})
    CHECK_FALSE(braid::detail::parse_redis_redirection(text).has_value());
}
