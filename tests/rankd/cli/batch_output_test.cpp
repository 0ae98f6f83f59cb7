// tests/rankd/cli/batch_output_test.cpp: answers get their name when they are complete, and are continued only where
// nothing has changed.
#include <rankd/cli/output/batch_output.hpp>

#include <tests/support/child.hpp>
#include <tests/support/process.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/umask.hpp>

#include <filesystem>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

const json first_world = {{"plan", "a"}, {"stores", {1}}};
const std::string piece(std::size_t{5} << 20U, 'x');  // two of them are more than what is made safe at once

auto code_of(const braid::checked<batch_output>& opened) -> std::string {
  return opened ? "" : opened.error().front().code;
}

auto content(const fs::path& file) -> std::string { return braid::testing::detail::text_of(file); }

/// Writes two pieces that are safe, and one that may be lost.
void interrupted_batch(const fs::path& out) {
  auto answers = batch_output::open(out, first_world, unfinished::restart);
  REQUIRE(answers.has_value());
  REQUIRE(answers->write(piece, {{10, 1}, 1, 0}).has_value());
  REQUIRE(answers->write(piece, {{20, 2}, 2, 1}).has_value());
  REQUIRE(answers->write("torn", {{30, 3}, 3, 1}).has_value());
}

}  // namespace

TEST_CASE("a file gets its name when it is complete, and nothing else stays") {
  const scratch_folder folder;
  const fs::path out = folder.path() / "answers";
  {
    auto answers = batch_output::open(out, first_world, unfinished::refuse);
    REQUIRE(answers.has_value());
    CHECK(answers->progress().read.bytes == 0);
    CHECK(answers->write("one\n", {{4, 1}, 1, 0}).has_value());
    CHECK_FALSE(fs::exists(out));
    CHECK(answers->finish().has_value());
  }
  CHECK(content(out) == "one\n");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("an interrupted batch goes on at the last place that is safe") {
  const scratch_folder folder;
  const fs::path out = folder.path() / "answers";
  interrupted_batch(out);
  CHECK(code_of(batch_output::open(out, first_world, unfinished::refuse)) == "batch_unfinished");
  auto answers = batch_output::open(out, first_world, unfinished::resume);
  REQUIRE(answers.has_value());
  CHECK((answers->progress().read == line_position{20, 2}));
  CHECK(answers->progress().answered == 2);
  CHECK(answers->progress().failed == 1);
  CHECK(answers->write("end\n", {{30, 3}, 3, 1}).has_value());
  CHECK(answers->finish().has_value());
  CHECK(content(out) == piece + piece + "end\n");
}

TEST_CASE("a file that is replaced keeps its mode, and nobody else may read the new one before, continued or not") {
  const scratch_folder folder;
  const fs::path out = folder.write("answers", "before");
  const auto mode_of = [](const fs::path& file) { return fs::status(file).permissions(); };
  constexpr auto mine = fs::perms::owner_read | fs::perms::owner_write;
  fs::permissions(out, fs::perms::owner_read);
  interrupted_batch(out);
  CHECK(mode_of(folder.path() / "answers.part") == mine);
  for (const unfinished earlier : {unfinished::resume, unfinished::refuse}) {
    auto answers = batch_output::open(out, first_world, earlier);
    REQUIRE(answers.has_value());
    CHECK(mode_of(folder.path() / "answers.part") == mine);
    CHECK(answers->write("end", {{30, 3}, 3, 1}).has_value());
    CHECK(answers->finish().has_value());
    CHECK(mode_of(out) == fs::perms::owner_read);
  }
  CHECK(content(out) == "end");
}

TEST_CASE("answers and what a batch keeps beside them are for owner and group at most") {
  const braid::testing::umask_for nothing(0);
  const scratch_folder folder;
  interrupted_batch(folder.path() / "answers");
  CHECK(braid::testing::mode_of(folder.path() / "answers.part") == 0640);
  CHECK(braid::testing::mode_of(folder.path() / "answers.part.state") == 0640);
}

TEST_CASE("an interrupted batch can be forgotten") {
  const scratch_folder folder;
  const fs::path out = folder.path() / "answers";
  interrupted_batch(out);
  auto answers = batch_output::open(out, {{"plan", "b"}}, unfinished::restart);
  REQUIRE(answers.has_value());
  CHECK(answers->progress().read.bytes == 0);
  CHECK(answers->finish().has_value());
  CHECK(content(out).empty());
}

TEST_CASE("what the answers were made from must be the same, and what is not is named") {
  const scratch_folder folder;
  const fs::path out = folder.path() / "answers";
  interrupted_batch(out);
  const auto answers = batch_output::open(out, {{"plan", "a"}, {"stores", {2}}}, unfinished::resume);
  REQUIRE(code_of(answers) == "resume_mismatch");
  CHECK(answers.error().front().message.ends_with("these differ: stores"));
  CHECK(batch_output::open(out, first_world, unfinished::resume).has_value());
}

TEST_CASE("a state that is damaged is refused") {
  const scratch_folder folder;
  const fs::path out = folder.path() / "answers";
  for (const char* state : {"", "{}", "[1]", R"({"made_from":{"plan":"a","stores":[1]},"read_bytes":-1})"}) {
    CAPTURE(state);
    interrupted_batch(out);
    folder.write("answers.part.state", state);
    CHECK(code_of(batch_output::open(out, first_world, unfinished::resume)) == "resume_corrupt");
    CHECK(batch_output::open(out, first_world, unfinished::restart).has_value());
  }
  interrupted_batch(folder.path() / "short");
  fs::resize_file(folder.path() / "short.part", 7);
  CHECK(code_of(batch_output::open(folder.path() / "short", first_world, unfinished::resume)) == "resume_corrupt");
}

TEST_CASE("resuming begins at the start where nothing was interrupted") {
  const scratch_folder folder;
  const auto answers = batch_output::open(folder.path() / "answers", first_world, unfinished::resume);
  REQUIRE(answers.has_value());
  CHECK(answers->progress().read.bytes == 0);
  // A batch that died after its file had got its name, and before its state was removed.
  const fs::path done = folder.path() / "done";
  interrupted_batch(done);
  fs::rename(done.string() + ".part", done);
  const auto again = batch_output::open(done, first_world, unfinished::refuse);
  REQUIRE(again.has_value());
  CHECK(again->progress().read.bytes == 0);
}

TEST_CASE("two batches cannot write into one file") {
  const scratch_folder folder;
  const fs::path out = folder.path() / "answers";
  const auto first = batch_output::open(out, first_world, unfinished::refuse);
  REQUIRE(first.has_value());
  CHECK(code_of(batch_output::open(out, first_world, unfinished::restart)) == "output_busy");
}

TEST_CASE("a place that cannot be written is an error that names it") {
  const scratch_folder folder;
  const auto missing = batch_output::open(folder.path() / "no" / "answers", first_world, unfinished::refuse);
  REQUIRE(code_of(missing) == "output_unwritable");
  CHECK(missing.error().front().source.ends_with("no/answers.part"));
}

TEST_CASE("an error about standard output names no file") {
  const auto end = braid::testing::run_in_child([] {
    if (::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO) < 0) ::_exit(1);
    auto answers = batch_output::standard_output();
    if (!answers) ::_exit(2);
    const auto written = answers->write("one\n", {{4, 1}, 1, 0});
    if (written || !written.error().front().source.empty()) ::_exit(3);
  });
  CHECK(end.status == 0);
}
