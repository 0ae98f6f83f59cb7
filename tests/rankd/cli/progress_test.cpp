// tests/rankd/cli/progress_test.cpp: bars say how far work has come, and leave nothing behind.
#include <rankd/cli/output/progress.hpp>

#include <tests/support/child.hpp>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto drawn(progress_bar::output where) -> std::string {
  return braid::testing::run_in_child([where] {
           progress_bar bar("loading", where);
           bar.for_load()({.stage = load_stage::reading, .bytes_done = 0, .bytes_total = 4});
           bar.for_load()({.stage = load_stage::reading, .bytes_done = 1, .bytes_total = 4});
           bar.for_demo()({.file = "x", .lines_done = 4, .lines_total = 4});
         })
      .errors;
}

auto hashes(const std::string& text) -> std::ptrdiff_t { return std::count(text.begin(), text.end(), '#'); }

}  // namespace

TEST_CASE("the bar fills from left to right and never beyond its end") {
  CHECK(bar_text(0, 8) == "[" + std::string(40, '.') + "]   0 %");
  CHECK(bar_text(2, 8) == "[" + std::string(10, '#') + std::string(30, '.') + "]  25 %");
  CHECK(bar_text(8, 8) == "[" + std::string(40, '#') + "] 100 %");
  CHECK(bar_text(9, 8) == bar_text(8, 8));
  CHECK(bar_text(0, 0) == bar_text(0, 8));
  CHECK(hashes(bar_text(1, 1'000'000)) == 0);
}

TEST_CASE("a bar is drawn at its first step and at the end of the work, and removed") {
  const std::string text = drawn(progress_bar::output::forced);
  CHECK(text.starts_with("\rloading " + bar_text(0, 4)));
  CHECK(text.find(bar_text(4, 4)) != std::string::npos);
  CHECK(text.ends_with("\r\x1b[K"));
}

TEST_CASE("nothing is drawn where standard error is no terminal") {
  CHECK(drawn(progress_bar::output::automatic).empty());
}
