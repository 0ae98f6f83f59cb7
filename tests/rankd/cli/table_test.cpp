// tests/rankd/cli/table_test.cpp: columns are as wide as their widest cell, counted in characters.
#include <rankd/cli/output/table.hpp>

#include <doctest/doctest.h>

using rankd::text_table;
using align = text_table::align;

TEST_CASE("cells are padded on the side that their column says, and lines have no space at their end") {
  text_table table({{"n", align::right}, {"name", align::left}, {"last", align::left}});
  table.add({"1", "Ada", "x"});
  table.add({"1234", "B", ""});
  CHECK(table.to_text() ==
        "   n  name  last\n"
        "----  ----  ----\n"
        "   1  Ada   x\n"
        "1234  B\n");
}

TEST_CASE("a table without rows has its titles") {
  CHECK(text_table({{"a"}, {"bc", align::right}}).to_text() == "a  bc\n-  --\n");
}

TEST_CASE("width is counted in columns of a terminal, and control characters are not let through") {
  text_table table({{"t", align::right}, {"u"}});
  table.add({"räuchert", "a\nb\x1b[31m\x7f"});
  table.add({"你好", "\xff"});
  table.add({"x", "y"});
  CHECK(table.to_text() ==
        "       t  u\n"
        "--------  ----------------\n"
        "räuchert  a\\nb\\x1b[31m\\x7f\n"
        "    你好  \\xff\n"
        "       x  y\n");
}
