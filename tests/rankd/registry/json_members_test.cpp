// tests/rankd/registry/json_members_test.cpp: members have commas between them, and not before the first.
#include <rankd/registry/json_members.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("members have a comma between them, at every depth") {
  std::string out = "{";
  append_json_unless_empty(out, "absent", "");
  append_json_member(out, "text", "a\"{");
  append_json_member(out, "empty", "");
  append_json_name(out, "object");
  out += '{';
  append_json_member(out, "number", std::int64_t{-7});
  append_json_unless_empty(out, "second", "{");
  out += '}';
  append_json_name(out, "list");
  append_json_strings(out, std::vector<std::string>{"[", "b"});
  append_json_name(out, "none");
  append_json_strings(out, std::vector<std::string>{});
  CHECK(out + "}" == R"({"text":"a\"{","empty":"","object":{"number":-7,"second":"{"},"list":["[","b"],"none":[]})");
}

TEST_CASE("an item that ends with a bracket is followed by a comma") {
  std::string out;
  append_json_list(out, std::vector<int>{1, 2}, [](std::string& to, int) { to += "[["; });
  CHECK(out == "[[[,[[]");
}
