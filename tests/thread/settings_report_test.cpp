// tests/thread/settings_report_test.cpp: reports keep every outcome, in order, and print it.
#include <braid/thread/profile.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <system_error>

using braid::settings_report;

TEST_CASE("a report without settings has no refusal and no text") {
  const settings_report report;
  CHECK(report.all_applied());
  CHECK(report.first_refusal());
  CHECK(report.outcomes().empty());
  CHECK(report.to_string().empty());
}

TEST_CASE("a report gives the first refusal and prints all outcomes") {
  settings_report report;
  report.add(settings_report::setting::stack_size, {});
  report.add(settings_report::setting::name, {});
  CHECK(report.all_applied());
  const auto denied = std::make_error_code(std::errc::operation_not_permitted);
  report.add(settings_report::setting::affinity, braid::fail(denied));
  report.add(settings_report::setting::scheduling, braid::fail(std::make_error_code(std::errc::invalid_argument)));
  CHECK_FALSE(report.all_applied());
  CHECK(report.first_refusal().error() == denied);
  REQUIRE(report.outcomes().size() == 4);
  CHECK(report.outcomes()[2].setting == settings_report::setting::affinity);
  CHECK(report.outcomes()[3].outcome.error() == std::errc::invalid_argument);
  CHECK(report.to_string() ==
        "stack size applied, name applied, affinity refused: Operation not permitted, "
        "scheduling refused: Invalid argument");
}
