// tests/rankd/store/vector_build_test.cpp: vectors as lines of NDJSON, and the diagnostic for each way to be wrong.
#include <rankd/store/vector_build.hpp>

#include <tests/support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace rankd;
using braid::testing::scratch_folder;

namespace {

auto read(const std::string& text, std::uint32_t dimensions = 0) -> braid::checked<vector_table> {
  const scratch_folder folder;
  folder.write("v.ndjson", text);
  return read_vectors(std::vector{folder.path() / "v.ndjson"}, dimensions);
}

/// "code pointer" of the diagnostics.
auto wrong(const std::string& text, std::uint32_t dimensions = 0) -> std::string {
  const auto table = read(text, dimensions);
  std::string out;
  if (!table)
    for (const auto& each : table.error())
      out += (out.empty() ? "" : ", ") + each.code + (each.pointer.empty() ? "" : " " + each.pointer);
  return out;
}

}  // namespace

TEST_CASE("lines become vectors in their order, blank ones nothing") {
  const auto table = read("{\"id\":7,\"vector\":[0.5,-1]}\n\n{\"vector\":[1,2],\"id\":-3}\n");
  REQUIRE(table);
  CHECK(table->dimensions == 2);
  CHECK(table->ids == std::vector<std::int64_t>{7, -3});
  CHECK(table->numbers == std::vector<float>{0.5F, -1, 1, 2});
}

TEST_CASE("ids may be strings") {
  const std::string longest(128, 'a');
  const auto table = read(R"({"id":"item:7","vector":[0.5]})"
                          "\n{\"id\":\"" +
                          longest + "\",\"vector\":[1]}\n{\"id\":\"7\",\"vector\":[2]}\n");
  REQUIRE(table);
  CHECK(table->texts == std::vector<std::string>{"item:7", longest, "7"});
  CHECK(table->ids == std::vector<std::int64_t>{0, 1, 2});
  CHECK(table->numbers == std::vector<float>{0.5F, 1, 2});
}

TEST_CASE("every way to be wrong has its code and its pointer") {
  CHECK(wrong("") == "no_vectors");
  CHECK(wrong("{") == "bad_json");
  CHECK(wrong("[]") == "wrong_type");
  CHECK(wrong("\xff{}") == "invalid_utf8");
  CHECK(wrong("{}") == "missing_member, missing_member");
  CHECK(wrong(R"({"id":1})") == "missing_member");
  CHECK(wrong(R"({"id":1,"vector":[1],"vektor":2})") == "unknown_member /vektor");
  CHECK(wrong(R"({"id":1,"id":2,"vector":[1]})") == "duplicate_member /id");
  CHECK(wrong(R"({"id":true,"vector":[1]})") == "wrong_type /id");
  CHECK(wrong(R"({"id":"","vector":[1]})") == "bad_id /id");
  CHECK(wrong(R"({"id":"a\u0000","vector":[1]})") == "bad_id /id");
  CHECK(wrong(R"({"id":")" + std::string(129, 'a') + R"(","vector":[1]})") == "bad_id /id");
  CHECK(wrong("{\"id\":1,\"vector\":[1]}\n{\"id\":\"2\",\"vector\":[1]}") == "wrong_type /id");
  CHECK(wrong("{\"id\":\"1\",\"vector\":[1]}\n{\"id\":2,\"vector\":[1]}") == "wrong_type /id");
  CHECK(wrong("{\"id\":\"a\",\"vector\":[1]}\n{\"id\":\"a\",\"vector\":[2]}") == "duplicate_id /id");
  CHECK(wrong(R"({"id":1.5,"vector":[1]})") == "wrong_type /id");
  CHECK(wrong(R"({"id":18446744073709551615,"vector":[1]})") == "wrong_type /id");
  CHECK(wrong(R"({"id":1,"vector":3})") == "wrong_type /vector");
  CHECK(wrong(R"({"id":1,"vector":[]})") == "wrong_length /vector");
  CHECK(wrong(R"({"id":1,"vector":[1,"2"]})") == "wrong_type /vector/1");
  CHECK(wrong(R"({"id":1,"vector":[1,null]})") == "wrong_type /vector/1");
  CHECK(wrong(R"({"id":1,"vector":[1,1e39]})") == "out_of_range /vector/1");
  CHECK(wrong(R"({"id":1,"vector":[1,2]})", 3) == "wrong_length /vector");
  CHECK(wrong("{\"id\":1,\"vector\":[1,2]}\n{\"id\":2,\"vector\":[1]}") == "wrong_length /vector");
  CHECK(wrong("{\"id\":1,\"vector\":[1]}\n{\"id\":1,\"vector\":[2]}") == "duplicate_id /id");
}

TEST_CASE("a diagnostic names the line and its file, and too many of them end the reading") {
  const auto table = read("{\"id\":1,\"vector\":[1]}\nx\n");
  REQUIRE_FALSE(table);
  CHECK(table.error().front().message.starts_with("line 2: "));
  CHECK(table.error().front().source.ends_with("v.ndjson"));
  std::string many;
  for (int line = 0; line < 300; ++line) many += "x\n";
  const auto stopped = read(many);
  CHECK(stopped.error().size() == max_vector_diagnostics + 1);
  const auto missing = read_vectors(std::vector<std::filesystem::path>{"/nowhere/v.ndjson"}, 0);
  CHECK(missing.error().front().code == "data_unreadable");
}

TEST_CASE("progress ends at the number of steps that it announced") {
  vector_table table{.dimensions = 1, .ids = {}, .numbers = {}};
  for (int row = 0; row < 500; ++row) {
    table.ids.push_back(row);
    table.numbers.push_back(static_cast<float>(row));
  }
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  static_cast<void>(
      vector_file_bytes(std::move(table), {.count = 4, .seed = 1}, [&](std::uint64_t done, std::uint64_t total) {
        CHECK(done > last);
        last = done;
        all = total;
      }));
  CHECK(last == all);
  CHECK(all != 0);
}
