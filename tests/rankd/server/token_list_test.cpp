// tests/rankd/server/token_list_test.cpp: authentication by bearer tokens.
#include <rankd/server/endpoints/token_list.hpp>

#include <tests/support/scratch_folder.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto code_of(const std::string& text) -> std::string {
  const auto tokens = token_list::parse(text, "t");
  return tokens ? "fine" : tokens.error().front().code;
}

}  // namespace

TEST_CASE("a token stands for its client, with a name or a number") {
  const auto tokens =
      token_list::parse("# clients\n\n  feed team \t0123456789abcdef\r\n-._~+/=aB3456789\n", "t").value();
  CHECK(tokens.find_client("Bearer 0123456789abcdef")->name == "feed team");
  CHECK(tokens.find_client("bEARER   -._~+/=aB3456789 ")->name == "client 2");
}

TEST_CASE("a token has the right that stands before it") {
  const auto tokens =
      token_list::parse("qa team [force] 0123456789abcdef\n[ force ] 0123456789abcdeF\nnone 0123456789abcdeg\n", "t")
          .value();
  CHECK(tokens.find_client("Bearer 0123456789abcdef")->name == "qa team");
  CHECK(tokens.find_client("Bearer 0123456789abcdef")->may_force);
  CHECK(tokens.find_client("Bearer 0123456789abcdeF")->name == "client 2");
  CHECK(tokens.find_client("Bearer 0123456789abcdeF")->may_force);
  CHECK(!tokens.find_client("Bearer 0123456789abcdeg")->may_force);
}

TEST_CASE("only a token with the right to edit has it") {
  const auto tokens = token_list::parse("[edit] 0123456789abcdef\n[shadow] 0123456789abcdeF\n", "t").value();
  CHECK(tokens.find_client("Bearer 0123456789abcdef")->may_edit);
  CHECK(!tokens.find_client("Bearer 0123456789abcdeF")->may_edit);
}

TEST_CASE("only a token with the right to write has it") {
  const auto tokens = token_list::parse("[write] 0123456789abcdef\n[edit] 0123456789abcdeF\n", "t").value();
  CHECK(tokens.find_client("Bearer 0123456789abcdef")->may_write);
  CHECK(!tokens.find_client("Bearer 0123456789abcdeF")->may_write);
}

TEST_CASE("nothing else stands for anybody") {
  const auto tokens = token_list::parse("a 0123456789abcdef\nb 0123456789abcdeF", "t").value();
  CHECK(tokens.find_client("Bearer 0123456789abcdeF")->name == "b");
  for (const char* text :
       {"", "Bearer", "Bearer ", "Bearer  ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcde",
        "Bearer 0123456789abcdef0", "Bearer 0123456789ABCDEF", "Bearer 0123456789abcdef x", "Bearer\t0123456789abcdef"})
    CHECK_MESSAGE(!tokens.find_client(text), text);
}

TEST_CASE("a file of tokens is refused with every fault of it") {
  CHECK(code_of("") == "no_tokens");
  CHECK(code_of("# nobody\n") == "no_tokens");
  CHECK(code_of("short\n") == "bad_token");
  CHECK(code_of("name 0123456789abcd!f\n") == "bad_token");
  CHECK(code_of("name [] 0123456789abcdef\n") == "unknown_right");
  CHECK(code_of("name [force, all] 0123456789abcdef\n") == "unknown_right");
  CHECK(code_of("name [force, shadow events write edit] 0123456789abcdef\n") == "fine");
  CHECK(code_of("0123456789abcdef\nx 0123456789abcdef\n") == "duplicate_token");
  const auto both = token_list::parse("short\n0123456789abcdef\nother\n", "t");
  REQUIRE(!both);
  CHECK(both.error().size() == 2);
  CHECK(both.error().front().message.starts_with("line 1: "));
  const braid::testing::scratch_folder folder;
  CHECK(token_list::read(folder.path() / "none").error().front().code == "unreadable_file");
  CHECK(token_list::read(folder.write("tokens", "0123456789abcdef")).has_value());
}
