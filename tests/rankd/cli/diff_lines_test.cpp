// tests/rankd/cli/diff_lines_test.cpp: differences of plans as lines.
#include <rankd/cli/output/diff_lines.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("each difference is a line, and nothing in it controls the terminal") {
  plan_comparison found;
  CHECK(diff_lines(found).empty());
  found.changes.push_back(
      {.kind = change_kind::added, .node = "a", .was = {}, .field = {}, .before = {}, .after = "op"});
  found.changes.push_back(
      {.kind = change_kind::renamed, .node = "b", .was = "c", .field = {}, .before = "c", .after = "b"});
  found.changes.push_back(
      {.kind = change_kind::changed, .node = "d", .was = {}, .field = "key", .before = "\x1b[1m", .after = {}});
  found.consequences.push_back({.what = "columns", .before = {"x", "y"}, .after = {}});
  CHECK(diff_lines(found) ==
        "added    a: op\nrenamed  c → b\nchanged  d: key: \\x1b[1m → (none)\nfollows  columns: x, y → (none)\n");
}
