// tests/rankd/rows/column_builder_test.cpp: columns made value by value.
#include <rankd/rows/column_builder.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace rankd;

TEST_CASE("a column without nulls needs no bitmap") {
  braid::arena memory;
  column_builder<double> out(memory, 2);
  out.push(1.5);
  out.push(-0.0);
  const column made = out.finish();
  CHECK(made.validity.all_set());
  CHECK((*made.floats())[0] == 1.5);
}

TEST_CASE("a null is where it was pushed, at every edge of a word") {
  for (const std::size_t rows : {1, 63, 64, 65, 128, 129}) {
    for (const std::size_t null_at : {std::size_t{0}, rows / 2, rows - 1}) {
      braid::arena memory;
      column_builder<std::int64_t> out(memory, rows);
      for (std::size_t i = 0; i < rows; ++i) {
        if (i == null_at)
          out.push_null();
        else
          out.push(static_cast<std::int64_t>(i));
      }
      const column made = out.finish();
      CHECK(made.size() == rows);
      CHECK(made.is_null(null_at));
      CHECK(made.validity.count(rows) == rows - 1);
    }
  }
}

TEST_CASE("strings are interned, nulls among them") {
  braid::arena memory;
  column_builder<std::string_view> out(memory, 4);
  out.push_null();
  out.push("US");
  out.push("CA");
  out.push("US");
  const column made = out.finish();
  CHECK(made.is_null(0));
  CHECK((*made.strings())[3] == "US");
  CHECK(made.strings()->codes[1] == made.strings()->codes[3]);
  CHECK(made.strings()->words->size() == 2);
}

TEST_CASE("a string column of nothing but nulls has an empty dictionary") {
  braid::arena memory;
  column_builder<std::string_view> out(memory, 1);
  out.push_null();
  const column made = out.finish();
  CHECK(made.is_null(0));
  CHECK(made.strings()->words->size() == 0);
}

TEST_CASE("booleans and empty columns can be built") {
  braid::arena memory;
  column_builder<bool> out(memory, 2);
  out.push(true);
  out.push(false);
  CHECK((*out.finish().booleans())[0]);
  CHECK(column_builder<double>(memory, 0).finish().size() == 0);
}
