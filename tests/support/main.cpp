// tests/support/main.cpp: runs the test cases of one program; one that runs none fails, and one that hangs is ended.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <tests/support/case_limit.hpp>

#include <cstdio>
#include <optional>

namespace {

int cases_run = 0;
std::optional<braid::testing::case_limit> limit;

struct counting_reporter : doctest::IReporter {
  explicit counting_reporter(const doctest::ContextOptions& /*unused*/) {}
  void report_query(const doctest::QueryData& /*unused*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*unused*/) override {}
  void test_case_start(const doctest::TestCaseData& data) override {
    ++cases_run;
    limit->begin(data.m_name);
  }
  void test_case_reenter(const doctest::TestCaseData& /*unused*/) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& /*unused*/) override { limit->end(); }
  void test_case_exception(const doctest::TestCaseException& /*unused*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*unused*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*unused*/) override {}
  void log_message(const doctest::MessageData& /*unused*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*unused*/) override {}
};

}  // namespace

REGISTER_LISTENER("counting", 1, counting_reporter);

int main(int argc, char** argv) {
  // A program that is killed, or that a sanitizer ends, loses what is buffered. Its seed must be printed by then.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  limit.emplace(braid::testing::seconds_for_a_case(argv[0]));
  doctest::Context context(argc, argv);
  const int status = context.run();
  if (context.shouldExit()) return status;
  if (cases_run == 0) {
    std::fputs("no test case ran\n", stderr);
    return 1;
  }
  return status;
}
