// tests/rankd/store/vector_build_test.cpp: vectors as lines of NDJSON, and the diagnostic for each way to be wrong.
#include <rankd/store/vector_build.hpp>

#include <rankd/store/vector_file.hpp>
#include <tests/rankd/store/aligned_bytes.hpp>
#include <tests/support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace rankd;
using braid::testing::scratch_folder;
using rankd::testing::aligned_bytes;

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
  CHECK(wrong(R"({"id":18446744073709551615,"vector":[1]})") == "out_of_range /id");
  CHECK(wrong(R"({"id":9999999999999999999999,"vector":[1]})") == "bad_number");
  CHECK(wrong(R"({"id":1,"vector":[1e400]})") == "bad_number");
  CHECK(wrong(R"({"id":"a)") == "bad_string");
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

TEST_CASE("a diagnostic about a type names the type that the line has") {
  const auto message = [](const std::string& line) { return read(line).error().front().message; };
  CHECK(message("[]") == "line 1: expected an object, got an array");
  CHECK(message(R"({"id":1.5,"vector":[1]})") ==
        "line 1: an id must be an integer of 64 bits or a string, got a fraction");
  CHECK(message(R"({"id":1,"vector":"1"})") == "line 1: expected an array of numbers, got a string");
  CHECK(message(R"({"id":1,"vector":[1,null]})") == "line 1: expected a number, got null");
  CHECK(message("{\"id\":1,\"vector\":[1]}\n{\"id\":2,\"vector\":[1,2]}") ==
        "line 2: a vector must have 1 number, as in the first vector, got 2");
  CHECK(message("\xff") == "line 1: the line is not valid UTF-8");
}

TEST_CASE("a file after changes is the file that a build of the remaining vectors makes") {
  for (const bool has_texts : {false, true})
    for (const int index : {0, 1, 2}) {
      const auto build = [index](vector_table table) {
        if (index == 2) return vector_file_bytes(std::move(table), vector_graph{.m = 4, .ef_construction = 20});
        return vector_file_bytes(std::move(table), {.count = index == 0 ? 0U : 7U});
      };
      const auto id = [has_texts](int number) {
        return has_texts ? "\"item:" + std::to_string(number) + "\"" : std::to_string(number);
      };
      std::string old;
      std::string changes;
      std::string left;
      for (int row = 0; row < 200; ++row) {
        const std::string line = "{\"id\":" + id(row) + ",\"vector\":[" + std::to_string(row % 17) + ",1]}\n";
        const std::string other = "{\"id\":" + id(row) + ",\"vector\":[" + std::to_string(-row) + ",2]}\n";
        if (row < 180) old += line;
        if (row % 5 == 0) changes += "{\"delete\":" + id(row) + "}\n";
        if (row % 5 == 1 || (row >= 180 && row % 5 != 0)) changes += other;
        if (row % 5 != 0) left += row % 5 == 1 || row >= 180 ? other : line;
      }
      const std::string bytes = build(read(old).value());
      const aligned_bytes aligned(bytes);
      const auto base = vector_file::parse(aligned.view(), "test").value();
      const scratch_folder folder;
      folder.write("c.ndjson", changes);
      auto read_changes = read_vector_changes(std::vector{folder.path() / "c.ndjson"}, *base).value();
      CHECK(read_changes.deleted.size() == 40);
      CHECK(build(apply_changes(*base, std::move(read_changes))) == build(read(left).value()));
    }
}

TEST_CASE("every way to be wrong in a line of changes has its code and its pointer") {
  const std::string bytes = vector_file_bytes(read(R"({"id":7,"vector":[0.5,-1]})").value(), vector_lists{});
  const aligned_bytes aligned(bytes);
  const auto base = vector_file::parse(aligned.view(), "test").value();
  const auto wrong_change = [&](const std::string& text) {
    const scratch_folder folder;
    folder.write("c.ndjson", text);
    const auto changes = read_vector_changes(std::vector{folder.path() / "c.ndjson"}, *base);
    std::string out;
    if (!changes)
      for (const auto& each : changes.error()) out += (out.empty() ? "" : ", ") + each.code + " " + each.pointer;
    return out;
  };
  CHECK(wrong_change("").empty());
  CHECK(wrong_change("{\"delete\":1}\n{\"id\":2,\"vector\":[1,2]}").empty());
  CHECK(wrong_change(R"({"delete":"7"})") == "wrong_type /delete");
  CHECK(wrong_change(R"({"delete":7.5})") == "wrong_type /delete");
  CHECK(wrong_change(R"({"delete":7,"id":7})") == "unknown_member /id");
  CHECK(wrong_change(R"({"delete":7,"delete":8})") == "duplicate_member /delete");
  CHECK(wrong_change(R"({"delte":7})") == "unknown_member /delte, missing_member , missing_member ");
  CHECK(wrong_change(R"({"id":"a","vector":[1,2]})") == "wrong_type /id");
  CHECK(wrong_change(R"({"id":1,"vector":[1]})") == "wrong_length /vector");
  CHECK(wrong_change("{\"delete\":7}\n{\"id\":7,\"vector\":[1,2]}") == "duplicate_id /id");
  CHECK(wrong("{\"delete\":7}") == "unknown_member /delete, missing_member, missing_member");
}

TEST_CASE("progress ends at the number of steps that it announced") {
  vector_table table{.dimensions = 1, .ids = {}, .numbers = {}};
  for (int row = 0; row < 500; ++row) {
    table.ids.push_back(row);
    table.numbers.push_back(static_cast<float>(row));
  }
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  const vector_progress progress = [&](std::uint64_t done, std::uint64_t total) {
    CHECK(done > last);
    last = done;
    all = total;
  };
  SUBCASE("of lists") { static_cast<void>(vector_file_bytes(table, {.count = 4, .seed = 1}, progress)); }
  SUBCASE("of a graph") { static_cast<void>(vector_file_bytes(table, vector_graph{.m = 4}, progress)); }
  CHECK(last == all);
  CHECK(all != 0);
}
