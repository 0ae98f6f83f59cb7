// tests/rankd/server/compiler_process_test.cpp: questions to a child process that is not there, silent, or ends.
#include <rankd/server/studio/compiler_process.hpp>

#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("a program that is not there, or gives no answer, is told") {
  compiler_process missing({.program = "/nowhere/dslc", .project = "."});
  const auto none = missing.ask("{}");
  REQUIRE_FALSE(none);
  CHECK(none.error().front().code == "compiler_failed");
  const braid::testing::scratch_folder folder;
  const auto program = folder.write("dslc", "#!/bin/sh\nexec sleep 60\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  compiler_process silent(
      {.program = program.string(), .project = folder.path(), .max_wait = std::chrono::milliseconds(20)});
  const auto late = silent.ask("{}");
  REQUIRE_FALSE(late);
  CHECK(late.error().front().message.contains(make_error_code(braid::errc::deadline_exceeded).message()));
  silent.close();
  const auto closed = silent.ask("{}");
  REQUIRE_FALSE(closed);
  CHECK(closed.error().front().message.contains("the server is shutting down"));
}

TEST_CASE("a process answers as long as it stays, and is started again where it has ended") {
  const braid::testing::scratch_folder folder;
  const auto program = folder.write("dslc",
                                    "#!/bin/sh\nread -r line; echo \"$1 $2 $3: $line\"\n"
                                    "read -r line; echo \"again: $line\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  compiler_process one({.program = program.string(), .project = "here"});
  CHECK(one.ask("{1}").value() == "serve --project here: {1}");
  CHECK(one.ask("{2}").value() == "again: {2}");
  CHECK(one.ask("{3}").value() == "serve --project here: {3}");
  one.begin_anew();
  CHECK(one.ask("{4}").value() == "serve --project here: {4}");
  CHECK(one.ask("{5}").value() == "again: {5}");
}

TEST_CASE("a process is told which engine checks plans") {
  const braid::testing::scratch_folder folder;
  const auto program = folder.write("dslc", "#!/bin/sh\nread -r line; echo \"$*\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  compiler_process one({.program = program.string(), .project = "here", .engine = "/bin/rankd"});
  CHECK(one.ask("{1}").value() == "serve --project here --engine /bin/rankd");
}

TEST_CASE("a process that writes a line without end is killed at the bound of its answer") {
  const braid::testing::scratch_folder folder;
  const auto program = folder.write("dslc", "#!/bin/sh\nexec tr '\\0' '[' < /dev/zero\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  compiler_process endless({.program = program.string(),
                            .project = folder.path(),
                            .max_wait = std::chrono::hours(1),
                            .max_answer = 100'000});
  const auto answer = endless.ask("{}");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().front().code == "compiler_failed");
}
