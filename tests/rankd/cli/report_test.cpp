// tests/rankd/cli/report_test.cpp: diagnostics go to standard error for people, to standard output for programs.
#include <rankd/cli/output/report.hpp>

#include <tests/support/child.hpp>

#include <cstdio>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

using namespace rankd;

namespace {

const braid::diagnostics problems(braid::diagnostic{
    .code = "bad_thing", .pointer = "/a", .message = "it is bad", .hint = "mend it", .node = "", .source = "f.json"});

/// What `fn` writes to descriptor 1 or 2.
template <typename Fn>
auto written_to(int wanted, Fn fn) -> std::string {
  std::fflush(stdout);  // or the child would write it once more
  return braid::testing::run_in_child([&] {
           ::dup2(2, wanted);
           ::dup2(::open("/dev/null", O_WRONLY), wanted == 1 ? 2 : 1);
           fn();
           std::fflush(stdout);
         })
      .errors;
}

}  // namespace

TEST_CASE("people get a line a diagnostic on standard error") {
  const std::string text = written_to(2, [] { report(problems); });
  CHECK(text == problems.to_text());
  CHECK(text.find("[bad_thing]; mend it") != std::string::npos);
  CHECK(written_to(1, [] { report(problems); }).empty());
}

TEST_CASE("programs get an error response on standard output") {
  CHECK(written_to(1, [] { report(problems, output_form::programs, "r"); }) ==
        R"({"error":{"code":"bad_thing","message":"f.json: it is bad; mend it","pointer":"/a","request_id":"r"}})"
        "\n");
  CHECK(report(problems, output_form::people) == exit_status::failed);
}

TEST_CASE("text is printed as it is, zero bytes too") {
  using namespace std::string_literals;
  CHECK(written_to(1, [] { print("a\0b%s\n"s); }) == "a\0b%s\n"s);
}

TEST_CASE("one thing is counted in the singular") {
  CHECK(counted(0, "record") == "0 records");
  CHECK(counted(1, "record") == "1 record");
  CHECK(counted(12, "node") == "12 nodes");
}
