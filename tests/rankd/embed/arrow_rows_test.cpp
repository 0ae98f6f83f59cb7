// tests/rankd/embed/arrow_rows_test.cpp: rows leave in their order, and live as long as their receiver wants.
#include <rankd/embed/arrow_rows.hpp>

#include <braid/base/arena.hpp>
#include <rankd/embed/arrow_abi.hpp>
#include <tests/rankd/embed/arrow_tables.hpp>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

TEST_CASE("rows leave in their order with nulls, texts, bytes and vectors") {
  braid::arena memory;
  const std::array<std::int64_t, 3> ids{7, 8, 9};
  const std::array<double, 3> scores{0.5, 1.5, 2.5};
  const std::array<bool, 3> flags{true, false, true};
  const std::uint64_t second_is_null = 0b101;
  dictionary_builder builder(memory);
  const std::array<std::uint32_t, 3> codes{builder.intern("x"), builder.intern("\xff"), builder.intern("yz")};
  const dictionary* const words = builder.finish();
  const std::array<std::string_view, 1> vector_bytes{std::string_view("\0\0\x80\x3f\0\0\0\x40", 8)};
  const dictionary vectors(vector_bytes);
  const std::array<std::uint32_t, 3> same{0, 0, 0};
  const std::array<keyed_column, 4> columns{
      keyed_column{2, {std::span<const double>(scores), bitmap(&second_is_null)}},
      keyed_column{3, {std::span<const bool>(flags), bitmap()}},
      keyed_column{4, {string_values{codes, words}, bitmap()}},
      keyed_column{5, {string_values{same, &vectors, 2}, bitmap(&second_is_null)}}};
  const std::array<std::uint32_t, 2> order{2, 1};
  const row_set rows(batch(ids, columns), order);
  std::vector<key_entry> keys(5);
  std::vector<const key_entry*> shown;
  for (std::uint32_t at = 0; at < keys.size(); ++at) {
    keys[at].key_id = at + 2;
    keys[at].name = "key" + std::to_string(at + 2);
    shown.push_back(&keys[at]);
  }
  const received in(arrow_columns(rows, shown));
  REQUIRE(in.type.n_children == 5);  // the last key has no column
  CHECK(in.rows.length == 2);
  const auto format = [&in](int at) { return std::string(in.type.children[at]->format); };
  CHECK(format(0) == "l");
  CHECK(static_cast<const std::int64_t*>(in.rows.children[0]->buffers[1])[0] == 9);
  CHECK(in.rows.children[0]->buffers[0] == nullptr);
  CHECK(format(1) == "g");
  CHECK(in.rows.children[1]->null_count == 1);
  CHECK(*static_cast<const char*>(in.rows.children[1]->buffers[0]) == 1);
  CHECK(format(2) == "b");
  CHECK(*static_cast<const char*>(in.rows.children[2]->buffers[1]) == 1);
  CHECK(format(3) == "Z");  // a text is not UTF-8
  CHECK(static_cast<const std::int64_t*>(in.rows.children[3]->buffers[1])[2] == 3);
  CHECK(format(4) == "+w:2");
  const ArrowArray& floats = *in.rows.children[4]->children[0];
  CHECK(floats.length == 4);
  CHECK(static_cast<const float*>(floats.buffers[1])[1] == 2.0F);
  CHECK(static_cast<const float*>(floats.buffers[1])[2] == 0.0F);
  CHECK(in.type.flags == 0);
  CHECK(in.type.children[0]->flags == arrow_nullable);
}

TEST_CASE("a stream has one array, and its parts outlive it") {
  ArrowArrayStream stream{};
  export_stream(std::make_shared<const arrow_column>(table({numbers<std::int64_t>("a", "l", {1, 2})})), stream);
  ArrowSchema type{};
  ArrowArray rows{};
  ArrowArray end{};
  REQUIRE(stream.get_schema(&stream, &type) == 0);
  REQUIRE(stream.get_next(&stream, &rows) == 0);
  REQUIRE(stream.get_next(&stream, &end) == 0);
  CHECK((end.release == nullptr));
  CHECK(stream.get_last_error(&stream) == nullptr);
  stream.release(&stream);
  CHECK((stream.release == nullptr));
  ArrowArray child = *rows.children[0];  // a receiver may move a child out of its parent
  rows.children[0]->release = nullptr;
  rows.release(&rows);
  CHECK(static_cast<const std::int64_t*>(child.buffers[1])[1] == 2);
  child.release(&child);
  CHECK(std::string(type.children[0]->name) == "a");
  type.release(&type);
}
