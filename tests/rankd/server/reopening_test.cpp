// tests/rankd/server/reopening_test.cpp: which attempts to reopen a file are reported, and what is counted.
#include <rankd/server/files/reopening.hpp>

#include <string>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>

using rankd::reopening;

TEST_CASE("a failure is reported when it is asked for and when it is the first one, and the success after it") {
  reopening state;
  std::vector<std::string> reports;
  state.note({}, reopening::attempt::asked);  // which has no listener
  state.listen([&](std::error_code why) { reports.push_back(why ? "failed" : "fine"); });
  const auto gone = std::make_error_code(std::errc::no_such_file_or_directory);
  state.note({}, reopening::attempt::asked);
  CHECK(reports.empty());
  CHECK_FALSE(state.is_pending());
  state.note(gone, reopening::attempt::repeated);  // a file of a series is full, and the next one cannot be made
  state.note(gone, reopening::attempt::repeated);
  CHECK(reports == std::vector<std::string>{"failed"});
  state.note(gone, reopening::attempt::asked);
  CHECK(reports == std::vector<std::string>{"failed", "failed"});
  CHECK(state.is_pending());
  CHECK(state.failures() == 3);
  state.note({}, reopening::attempt::repeated);
  state.note({}, reopening::attempt::repeated);
  CHECK(reports == std::vector<std::string>{"failed", "failed", "fine"});
  CHECK_FALSE(state.is_pending());
  CHECK(state.failures() == 3);
}
