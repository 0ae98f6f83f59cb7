// tests/rankd/cli/batch_command_test.cpp: rankd batch as a program: parts, streams, interruptions.
#include <rankd/cli/commands/commands.hpp>

#include <tests/rankd/cli/project_copy.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/process.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::project_copy;

namespace {

namespace fs = std::filesystem;
using words = std::vector<std::string>;

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

auto content(const fs::path& file) -> std::string { return braid::testing::detail::text_of(file); }

auto run_batch(const project_copy& project, words arguments, std::string_view input = {}) -> process_end {
  words line{RANKD_BINARY, "batch"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return braid::testing::run_process(std::move(line), {.folder = project.path(), .text = input});
}

/// Requests of known and unknown users, one of them malformed, with blank lines between.
auto requests(int count) -> std::string {
  std::string text;
  for (int i = 1; i <= count; ++i) {
    if (i % 10 == 0) text += "\r\n";
    text += i == 17 ? "{oops\n" : R"({"user_id":)" + std::to_string(1 + i % 30) + "}\n";
  }
  return text;
}

/// Adds a plan whose answers are half a megabyte each. With `nodes`, it has these as well.
void add_large_plan(const project_copy& project, const std::string& nodes = {}) {
  project.write("plans/compiled/large.json",
                R"({"schema_version":1,"plan_name":"large","outputs":["a"],"nodes":[)" + nodes +
                    R"({"node_id":"a","op":"test::fixed_source","inputs":[],"params":{"row_count":20000}}]})");
}

/// Starts the program and kills it as soon as some of its answers are safe. Whether it was killed.
auto kill_when_some_is_safe(const project_copy& project, words line) -> bool {
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string folder = project.path();
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::chdir(folder.c_str()) == 0) ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  bool ended = false;
  const bool safe = braid::testing::eventually([&] {
    ended = ::waitpid(child, &status, WNOHANG) == child;
    const json state = json::parse(content(project.path() / "out.part.state"), nullptr, false);
    return ended || (state.is_object() && state.value("bytes", 0) > 0);
  });
  CHECK(safe);
  if (ended) return false;
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && !fs::exists(project.path() / "out");  // it may have been all but over
}

}  // namespace

TEST_CASE("a command line of batch that makes no sense exits with 2") {
  const project_copy project;
  for (const words& line : {words{"--shard", "0/3"},
                            {"--shard", "4/3"},
                            {"--shard", "1"},
                            {"--shard", "1/"},
                            {"--shard", "1/2/3"},
                            {"--shard", "-1/2"},
                            {"--in", "in", "--out", "out", "--resume", "--restart"},
                            {"--in", "in", "--resume"},
                            {"--out", "out", "--resume"},
                            {"--in", "in", "--restart"},
                            {"--shard", "1/2"},
                            {"--plan", ""},
                            {"--workers", "0"},
                            {"--in-flight", "0"},
                            {"--in-flight", "33"}}) {
    CAPTURE(line.back());
    const process_end end = run_batch(project, line);
    CHECK(end.status == 2);
    CHECK(end.out.empty());
  }
}

TEST_CASE("one answer for each request that is no blank line, in order, and status 1 where one of them failed") {
  const project_copy project;
  const process_end end = run_batch(project, {"--plan", "reels_plan_a"}, requests(40));
  CHECK(end.status == 1);
  CHECK(end.err == "answered 40 requests, 1 of them with an error\n");
  int count = 0;
  std::size_t begin = 0;
  for (std::size_t at = end.out.find('\n'); at != std::string::npos; begin = at + 1, at = end.out.find('\n', begin)) {
    const json answer = json::parse(end.out.substr(begin, at - begin));
    CHECK(answer.contains("error") == (++count == 17));
  }
  CHECK(count == 40);
  const process_end fine = run_batch(project, {"--plan", "reels_plan_a"}, R"({"user_id":1})");
  CHECK(fine.status == 0);
  CHECK(fine.err == "answered 1 request, none of them with an error\n");
  const process_end nothing = run_batch(project, {"--plan", "reels_plan_a"}, "");
  CHECK(nothing.status == 0);
  CHECK(nothing.out.empty());
}

TEST_CASE("a batch does not apply the times of a budget to requests without a deadline") {
  const project_copy project;
  std::filesystem::remove(project.path() / "plans/compiled/index.json");
  project.write("plans/compiled/slow.json",
                R"({"schema_version":1,"plan_name":"slow","outputs":["b"],"nodes":[)"
                R"({"node_id":"a","op":"test::fixed_source","inputs":[]},)"
                R"({"node_id":"b","op":"test::sleep","inputs":["a"],"params":{"duration_ms":20}}]})");
  project.write("rankd.toml", content(project.path() / "rankd.toml") +
                                  "\n[budget.plan.slow]\ndeadline_ms = 2\ndefault_deadline_ms = 1\n");
  std::string many;
  for (int user = 1; user <= 40; ++user) many += "{\"user_id\":" + std::to_string(user) + "}\n";
  for (const char* in_flight : {"1", "32"}) {
    const process_end end = run_batch(project, {"--plan", "slow", "--in-flight", in_flight}, many);
    CHECK(end.status == 0);
    CHECK(end.err == "answered 40 requests, none of them with an error\n");
  }
  const process_end late = run_batch(project, {"--plan", "slow"}, R"({"user_id":1,"deadline_ms":100000})");
  CHECK(late.status == 1);
  CHECK(late.out.find("time_budget_exceeded") != std::string::npos);
}

TEST_CASE("files, streams, parts and numbers of workers give the same bytes") {
  const project_copy project;
  project.write("in", requests(200));
  const std::string whole = run_batch(project, {"--plan", "reels_plan_a"}, requests(200)).out;
  for (const char* workers : {"1", "2", "8"}) {
    CHECK(run_batch(project, {"--plan", "reels_plan_a", "--in", "in", "--out", "out", "--workers", workers}).status ==
          1);
    CHECK(content(project.path() / "out") == whole);
  }
  for (const int parts : {2, 3, 7, 300}) {
    std::string joined;
    for (int part = 1; part <= parts; ++part) {
      const std::string shard = std::to_string(part) + "/" + std::to_string(parts);
      joined += run_batch(project, {"--plan", "reels_plan_a", "--in", "in", "--shard", shard}).out;
      if (parts == 300 && part == 40) break;
    }
    if (parts == 300)
      CHECK(whole.starts_with(joined));
    else
      CHECK(joined == whole);
  }
}

TEST_CASE("a batch that was killed goes on where its answers are safe") {
  const project_copy project;
  add_large_plan(project);
  project.write("in", requests(100));
  const words line{RANKD_BINARY, "batch", "--plan", "large", "--in", "in", "--out", "out"};
  const bool killed = kill_when_some_is_safe(project, line);
  MESSAGE(std::string(killed ? "it was killed" : "it ended before it could be killed"));
  if (killed) {
    CHECK_FALSE(fs::exists(project.path() / "out"));
    const process_end refused = run_batch(project, {"--plan", "large", "--in", "in", "--out", "out"});
    CHECK(refused.status == 1);
    CHECK(has(refused.err, "batch_unfinished"));
    const process_end other = run_batch(project, {"--plan", "reels_plan_a", "--in", "in", "--out", "out", "--resume"});
    CHECK(other.status == 1);
    CHECK(has(other.err, "these differ: plan"));
  }
  const process_end resumed = run_batch(project, {"--plan", "large", "--in", "in", "--out", "out", "--resume"});
  CHECK(resumed.err.starts_with("continuing after request line ") == killed);
  CHECK(resumed.err.ends_with("answered 100 requests, 1 of them with an error, into out\n"));
  CHECK(run_batch(project, {"--plan", "large", "--in", "in", "--out", "whole"}).status == 1);
  CHECK((content(project.path() / "out") == content(project.path() / "whole")));
  CHECK_FALSE(fs::exists(project.path() / "out.part"));
  CHECK_FALSE(fs::exists(project.path() / "out.part.state"));
}

TEST_CASE("what cannot be done is refused before anything is written") {
  const project_copy project;
  project.write("in", requests(3));
  const std::vector<std::pair<words, std::string_view>> table{
      {{"--plan", "none", "--in", "in", "--out", "out"}, "unknown_plan"},
      {{"--plan", "reels_plan_a", "--in", "missing", "--out", "out"}, "requests_unreadable"},
      {{"--plan", "reels_plan_a", "--in", "in", "--out", "no/out"}, "output_unwritable"},
      {{"--plan", "reels_plan_a", "--in", "/dev/null", "--out", "out", "--resume"}, "not_resumable"},
      {{"--plan", "reels_plan_a", "--in", "/dev/null", "--shard", "1/2"}, "shard_of_stream"}};
  for (const auto& [line, code] : table) {
    CAPTURE(code);
    const process_end end = run_batch(project, line);
    CHECK(end.status == 1);
    CHECK(end.out.empty());
    CHECK(has(end.err, code));
    CHECK_FALSE(fs::exists(project.path() / "out.part"));
  }
}

TEST_CASE("what is no regular file is written as it is") {
  const project_copy project;
  project.write("in", requests(3));
  const fs::path out = project.path() / "out";
  fs::create_symlink("/dev/full", out);
  const process_end full = run_batch(project, {"--plan", "reels_plan_a", "--in", "in", "--out", "out"});
  CHECK(full.status == 1);
  CHECK(has(full.err, "output_unwritable"));
  CHECK(fs::is_symlink(out));
  fs::remove(out);
  project.write("real", "old");
  fs::create_symlink("real", out);
  CHECK(run_batch(project, {"--plan", "reels_plan_a", "--in", "in", "--out", "out"}).status == 0);
  CHECK(fs::is_symlink(out));
  CHECK(content(project.path() / "real") == run_batch(project, {"--plan", "reels_plan_a", "--in", "in"}).out);
  fs::remove(out);
  fs::create_directory(out);
  CHECK(has(run_batch(project, {"--plan", "reels_plan_a", "--in", "in", "--out", "out"}).err, "this is a folder"));
}

TEST_CASE("requests, and files that nobody knows, are not written over") {
  const project_copy project;
  const fs::path in = project.write("in", requests(3));
  const auto refusal = [&](const words& more) {
    words line{"--plan", "reels_plan_a"};
    line.insert(line.end(), more.begin(), more.end());
    const process_end end = run_batch(project, line);
    CHECK(end.status == 1);
    return end.err;
  };
  CHECK(has(refusal({"--in", "in", "--out", "in"}), "would overwrite the requests"));
  project.write("q.part", requests(3));
  CHECK(has(refusal({"--in", "q.part", "--out", "q"}), "would overwrite the requests"));
  CHECK(content(in) == requests(3));
  CHECK(content(project.path() / "q.part") == requests(3));
  project.write("mine.part", "precious");
  CHECK(has(refusal({"--in", "in", "--out", "mine"}), "batch_unfinished"));
  CHECK(content(project.path() / "mine.part") == "precious");
  project.write("victim", "precious");
  fs::create_symlink("victim", project.path() / "w.part");
  CHECK(has(refusal({"--in", "in", "--out", "w"}), "output_unwritable"));
  CHECK(content(project.path() / "victim") == "precious");
}

TEST_CASE("a store that was made anew is another one, even where it has the same size") {
  const project_copy project;
  add_large_plan(project, R"({"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}},)");
  project.write("in", requests(100));
  const words line{RANKD_BINARY, "batch", "--plan", "large", "--in", "in", "--out", "out"};
  if (!kill_when_some_is_safe(project, line)) {
    MESSAGE(std::string("it ended before it could be killed"));
    return;
  }
  fs::remove_all(project.store());
  const process_end end = run_batch(project, {"--plan", "large", "--in", "in", "--out", "out", "--resume"});
  CHECK(end.status == 1);
  CHECK(has(end.err, "something else: stores"));
}

TEST_CASE("a file of vectors that was made anew is another one, unless it is the same again") {
  const braid::testing::scratch_folder project;
  fs::copy("examples/similar", project.path(), fs::copy_options::recursive);
  const auto run = [&](words line) {
    line.insert(line.begin(), RANKD_BINARY);
    return braid::testing::run_process(std::move(line), {.folder = project.path()});
  };
  const auto build = [&](const std::string& data) {
    return run({"vectors", "build", data, "--out", "vectors/products.rvec"}).status;
  };
  std::string all;
  for (int n = 0; n < 500; ++n)
    all += R"({"plan":"similar","candidates":[{"id":101}]})"
           "\n";
  project.write("in", all);
  project.write("other.ndjson", R"({"id":107,"vector":[0.9,0.8,0.1,0]})"
                                "\n");
  REQUIRE(build("vectors/products.ndjson") == 0);
  REQUIRE(run({"batch", "--in", "in", "--out", "whole"}).status == 0);  // the store is filled, too
  const process_end full =
      braid::testing::run_process({"/bin/sh", "-c", "ulimit -f 100; exec \"$0\" batch --in in --out out", RANKD_BINARY},
                                  {.folder = project.path()});
  CHECK(full.status == 1);
  CHECK(has(full.err, "output_unwritable"));
  REQUIRE(fs::exists(project.path() / "out.part.state"));
  REQUIRE(build("other.ndjson") == 0);
  const process_end refused = run({"batch", "--in", "in", "--out", "out", "--resume"});
  CHECK(refused.status == 1);
  CHECK(has(refused.err, "these differ: plan"));
  REQUIRE(build("vectors/products.ndjson") == 0);
  CHECK(run({"batch", "--in", "in", "--out", "out", "--resume"}).status == 0);
  CHECK((content(project.path() / "out") == content(project.path() / "whole")));
}

TEST_CASE("a file that may not grow is an error of the write, not the end of the program") {
  const project_copy project;
  add_large_plan(project);
  project.write("in", requests(5));
  const process_end end = braid::testing::run_process(
      {"/bin/sh", "-c", "ulimit -f 100; exec \"$0\" batch --plan large --in in --out out", RANKD_BINARY},
      {.folder = project.path()});
  CHECK(end.status == 1);
  CHECK(has(end.err, "output_unwritable"));
}

TEST_CASE("a plan that its index does not mean is refused") {
  const project_copy project;
  project.write("plans/compiled/index.json", "{}");
  const process_end end = run_batch(project, {"--plan", "reels_plan_a"}, requests(1));
  CHECK(end.status == 1);
  CHECK(has(end.err, "index.json"));
}
