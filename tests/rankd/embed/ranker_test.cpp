// tests/rankd/embed/ranker_test.cpp: a ranker answers one request or many, from any thread, and reads its project
// again.
#include <rankd/embed/ranker.hpp>

#include <braid/thread/thread.hpp>
#include <tests/rankd/cli/project_copy.hpp>

#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::project_copy;

namespace {

namespace fs = std::filesystem;

auto opened(const project_copy& project, ranker_options options = {}) -> std::unique_ptr<ranker> {
  options.project = project.path();
  options.workers = 1;
  auto made = ranker::open(std::move(options));
  if (!made) FAIL(made.error().to_text());
  return std::move(*made);
}

auto code_of_open(const project_copy& project, ranker_options options) -> std::string {
  options.project = project.path();
  const auto made = ranker::open(std::move(options));
  return made ? "fine" : made.error().front().code;
}

auto code_of(const rank_answer& answer) -> std::string {
  if (!answer.result) return answer.problems.front().code;
  return answer_code(*answer.result);
}

/// A plan of one source, as long as `rows`; before it, a node that sleeps.
auto source_plan(const std::string& name, int rows, int sleep_ms = 0) -> std::string {
  std::string nodes =
      R"({"node_id":"a","op":"test::fixed_source","inputs":[],"params":{"row_count":)" + std::to_string(rows) + "}}";
  if (sleep_ms != 0)
    nodes += R"(,{"node_id":"b","op":"test::sleep","inputs":["a"],"params":{"fail_after_sleep":false,"duration_ms":)" +
             std::to_string(sleep_ms) + "}}";
  return R"({"schema_version":1,"plan_name":")" + name + R"(","outputs":[")" + (sleep_ms != 0 ? "b" : "a") +
         R"("],"nodes":[)" + nodes + "]}";
}

void add_plan(const project_copy& project, const std::string& name, int rows, int sleep_ms = 0) {
  fs::remove(project.path() / "plans/compiled/index.json");
  project.write("plans/compiled/" + name + ".json", source_plan(name, rows, sleep_ms));
}

/// A source of `count` lines of the same text, in pieces of up to seven.
auto lines(std::uint64_t count, std::string text) -> line_source {
  return [at = std::uint64_t{0}, count, text = std::move(text)]() mutable -> braid::checked<std::vector<batch_line>> {
    std::vector<batch_line> piece;
    while (at < count && piece.size() < 7) piece.push_back({.number = ++at, .text = text, .unreadable = {}});
    return piece;
  };
}

struct collected {
  std::string text;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;

  auto sink() -> answer_sink {
    return [this](const batch_answers& piece) -> braid::checked<void> {
      text += piece.text;
      answered += piece.answered;
      failed += piece.failed;
      return {};
    };
  }
};

}  // namespace

TEST_CASE("a ranker answers a request with the plan that it names, or with the plan that is given") {
  const project_copy project;
  add_plan(project, "three", 3);
  const auto ranks = opened(project);
  const rank_answer named = ranks->rank(R"({"plan":"three"})");
  REQUIRE(named.has_candidates());
  CHECK(named.result->rows.size() == 3);
  CHECK(named.result->plan == "three");
  const rank_answer given = ranks->rank(R"({"user_id":1})", {.plan = "reels_plan_a"});
  REQUIRE(given.has_candidates());
  CHECK(given.result->plan == "reels_plan_a");

  const auto with_plan = opened(project, {.plan = "three"});
  CHECK(to_json(with_plan->rank("{}")).starts_with(R"({"request_id":)"));
  CHECK(code_of(with_plan->rank(R"({"plan":"reels_plan_a"})")) == "plan_mismatch");
}

TEST_CASE("what is wrong with a request is its answer, as a line of JSON with the id of the request") {
  const project_copy project;
  const auto ranks = opened(project);
  CHECK(code_of(ranks->rank("{")) == "json_syntax");
  CHECK(code_of(ranks->rank("{}")) == "missing_field");
  CHECK(code_of(ranks->rank(R"({"plan":"nothing"})")) == "unknown_plan");
  const rank_answer wrong = ranks->rank(R"({"plan":"reels_plan_a","request_id":"mine","user_id":-1})");
  CHECK_FALSE(wrong.has_candidates());
  CHECK(to_json(wrong).starts_with(R"({"error":{"code":"bad_user_id",)"));
  CHECK(to_json(wrong).find(R"("request_id":"mine")") != std::string::npos);
}

TEST_CASE("a project that does not exist, a wrong plan, environment or store is refused when it is opened") {
  const project_copy project;
  const auto nowhere = ranker::open({.project = project.path() / "nowhere"});
  REQUIRE_FALSE(nowhere);
  CHECK(code_of_open(project, {.plan = "nothing"}) == "unknown_plan");
  CHECK(code_of_open(project, {.choice = {.environment = "staging"}}) == "unknown_environment");
  CHECK(code_of_open(project, {.choice = {.store = "redis://127.0.0.1:1"}}) == "store_unsupported");
  CHECK(code_of_open(project, {.plan = "reels_plan_a", .choice = {.store = project.path() / "empty"}}) ==
        "store_missing");
  CHECK_FALSE(fs::exists(project.path() / "empty"));  // a store that is named is never filled
}

TEST_CASE("an environment and a store can be chosen") {
  const project_copy project;
  const std::string before = to_json(opened(project)->rank(R"({"user_id":1})", {.plan = "reels_plan_a"}));
  const fs::path copy = project.path() / "copy.lmdb";
  fs::rename(project.store(), copy);
  project.write("data/reference/broken.ndjson", "nonsense\n");  // the project's own store could not be made again
  const auto moved = opened(project, {.plan = "reels_plan_a", .choice = {.store = "lmdb:" + copy.string()}});
  CHECK(to_json(moved->rank(R"({"user_id":1})")) == before);
  const auto other = opened(project, {.choice = {.environment = "prod"}});
  CHECK(other->project()->where.environment == "prod");
}

TEST_CASE("two rankers of one project read the same store") {
  const project_copy project;
  const auto first = opened(project, {.plan = "reels_plan_a"});
  auto second = opened(project, {.plan = "reels_plan_a"});
  const std::string answer = to_json(first->rank(R"({"user_id":1})"));
  CHECK(to_json(second->rank(R"({"user_id":1})")) == answer);
  second.reset();
  CHECK(to_json(first->rank(R"({"user_id":1})")) == answer);
}

TEST_CASE("an answer outlives its ranker") {
  const project_copy project;
  auto ranks = opened(project, {.plan = "reels_plan_a"});
  const rank_answer answer = ranks->rank(R"({"user_id":1})");
  const std::string before = to_json(answer);
  ranks.reset();
  CHECK(to_json(answer) == before);
}

TEST_CASE("threads share a ranker") {
  const project_copy project;
  const auto ranks = opened(project, {.plan = "reels_plan_a"});
  const std::string expected = to_json(ranks->rank(R"({"user_id":2})"));
  std::array<int, 4> right{};
  {
    std::vector<braid::thread> threads;
    for (int& count : right)
      threads.emplace_back(std::jthread([&ranks, &expected, &count] {
        for (int i = 0; i < 50; ++i) count += to_json(ranks->rank(R"({"user_id":2})")) == expected ? 1 : 0;
      }));
  }
  for (const int count : right) CHECK(count == 50);
}

TEST_CASE("many requests are answered in their order, wrong ones by their errors") {
  const project_copy project;
  const auto ranks = opened(project, {.plan = "reels_plan_a"});
  const std::vector<std::string> texts{R"({"user_id":1})", "nonsense", R"({"user_id":2})", R"({"plan":"other"})"};
  std::size_t at = 0;
  const auto source = [&]() -> braid::checked<std::vector<batch_line>> {
    std::vector<batch_line> piece;
    if (at < texts.size()) piece.push_back({.number = at + 1, .text = texts[at], .unreadable = {}});
    ++at;
    return piece;
  };
  collected got;
  REQUIRE(ranks->rank_many(source, got.sink()));
  CHECK(got.answered == 4);
  CHECK(got.failed == 2);
  CHECK(got.text.find(R"("request_id":"line_1")") < got.text.find(R"("code":"json_syntax")"));
  CHECK(got.text.find(R"("code":"json_syntax")") < got.text.find(R"("request_id":"line_3")"));
  CHECK(got.text.find(R"("code":"plan_mismatch")") != std::string::npos);
}

TEST_CASE("any number of threads gives the same answers to many requests") {
  const project_copy project;
  const auto ranks = opened(project, {.plan = "reels_plan_a"});
  collected one;
  collected three;
  REQUIRE(ranks->rank_many(lines(200, R"({"user_id":3})"), one.sink(), {.workers = 1}));
  REQUIRE(ranks->rank_many(lines(200, R"({"user_id":3})"), three.sink(), {.workers = 3}));
  CHECK(one.answered == 200);
  CHECK(one.text == three.text);
}

TEST_CASE("errors of the source and of the sink end the batch") {
  const project_copy project;
  add_plan(project, "three", 3);
  const auto ranks = opened(project, {.plan = "three"});
  const auto failing = []() -> braid::checked<std::vector<batch_line>> {
    return std::unexpected(request_problem("requests_unreadable", "", "the source failed"));
  };
  collected got;
  const auto unread = ranks->rank_many(failing, got.sink());
  REQUIRE_FALSE(unread);
  CHECK(unread.error().front().code == "requests_unreadable");
  const auto full = [](const batch_answers&) -> braid::checked<void> {
    return std::unexpected(request_problem("output_unwritable", "", "the sink failed"));
  };
  const auto unwritten = ranks->rank_many(lines(1000, "{}"), full);
  REQUIRE_FALSE(unwritten);
  CHECK(unwritten.error().front().code == "output_unwritable");
}

TEST_CASE("a batch that is interrupted ends while its requests wait") {
  const project_copy project;
  add_plan(project, "sleeping", 1, 600'000);
  const auto ranks = opened(project, {.plan = "sleeping"});
  int asked = 0;
  collected got;
  const auto ended =
      ranks->rank_many(lines(100, "{}"), got.sink(), {.is_interrupted = [&asked] { return ++asked == 3; }});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().front().code == "interrupted");
  CHECK(got.answered == 0);
}

TEST_CASE("a request that is interrupted ends while its nodes wait") {
  const project_copy project;
  add_plan(project, "sleeping", 1, 600'000);
  add_plan(project, "three", 3);
  const auto ranks = opened(project);
  int asked = 0;
  const rank_call call{.is_interrupted = [&asked] { return ++asked == 3; }};
  const rank_answer stopped = ranks->rank(R"({"plan":"sleeping","request_id":"mine"})", call);
  CHECK(code_of(stopped) == "interrupted");
  CHECK(stopped.request_id == "mine");
  CHECK(ranks->rank(R"({"plan":"three"})", call).has_candidates());
}

TEST_CASE("a plan whose answers depend on time is refused for many requests, unless that is allowed") {
  const project_copy project;
  fs::remove(project.path() / "plans/compiled/index.json");
  project.write("plans/compiled/late.json",
                R"({"schema_version":1,"plan_name":"late","capabilities_required":["cap.rfc.0004.fallback.v1"],)"
                R"("outputs":["b"],"nodes":[)"
                R"({"node_id":"a","op":"test::fixed_source","inputs":[],"params":{"row_count":2}},)"
                R"({"node_id":"b","op":"test::sleep","inputs":["a"],"fallback":{"on":["node_timeout"],"use":"input"},)"
                R"("params":{"duration_ms":0,"fail_after_sleep":false}}]})");
  const auto ranks = opened(project);
  const auto plan = ranks->find_plan("late");
  if (!plan) FAIL(plan.error().to_text());
  REQUIRE(depends_on_time(**plan));
  collected got;
  const auto refused = ranks->rank_many(lines(2, "{}"), got.sink(), {.plan = "late"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "depends_on_time");
  REQUIRE(ranks->rank_many(lines(2, R"({"plan":"late"})"), got.sink()));
  CHECK(got.failed == 2);
  REQUIRE(ranks->rank_many(lines(2, "{}"), got.sink(), {.plan = "late", .fallbacks = time_fallbacks::allowed}));
  CHECK(got.failed == 2);
  CHECK(got.answered == 4);
}

TEST_CASE("an explanation has the fates of the ids that it is asked for") {
  const project_copy project;
  const auto ranks = opened(project, {.plan = "reels_plan_a"});
  const std::vector<std::string> ids{"50101", "50101", "7"};
  const rank_answer answer = ranks->explain(R"({"user_id":1})", ids);
  REQUIRE(answer.has_candidates());
  REQUIRE(answer.result->explained != nullptr);
  CHECK(answer.result->explained->ids.size() == 2);
  const std::vector<std::string> wrong{"7", "seven"};
  const rank_answer refused = ranks->explain(R"({"user_id":1})", wrong);
  REQUIRE_FALSE(refused.result);
  CHECK(refused.problems.front().code == "bad_id");
  CHECK(refused.problems.front().pointer == "/explain/ids/1");
  CHECK(code_of(ranks->explain(R"({"user_id":1})", std::vector<std::string>(max_explained_ids + 1, "7"))) == "ok");
}

TEST_CASE("a reload reads plans again; if they are wrong, the ranker keeps those that it has") {
  const project_copy project;
  add_plan(project, "changing", 2);
  const auto ranks = opened(project, {.plan = "changing"});
  const rank_answer before = ranks->rank("{}");
  add_plan(project, "changing", 5);
  CHECK(ranks->rank("{}").result->rows.size() == 2);
  REQUIRE(ranks->reload());
  CHECK(ranks->rank("{}").result->rows.size() == 5);
  project.write("plans/compiled/changing.json", "{");
  CHECK_FALSE(ranks->reload());
  CHECK(ranks->rank("{}").result->rows.size() == 5);
  CHECK(before.result->rows.size() == 2);
}

TEST_CASE("plans are listed and validated") {
  const project_copy project;
  const auto ranks = opened(project);
  CHECK(ranks->plans()->right.size() == 2);
  CHECK(ranks->validate()->size() == 2);
  CHECK(ranks->validate({"reels_plan_a"})->size() == 1);
}

TEST_CASE("a forked process is refused, and may destroy what it has inherited") {
  const project_copy project;
  add_plan(project, "three", 3);
  auto ranks = opened(project, {.plan = "three"});
  REQUIRE(ranks->rank("{}").has_candidates());
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    collected got;
    std::string codes = code_of(ranks->rank("{}"));
    codes += " " + ranks->rank_many(lines(1, "{}"), got.sink()).error().front().code;
    codes += " " + ranks->reload().error().front().code;
    codes += " " + ranks->plans().error().front().code;
    codes += " " + ranks->validate().error().front().code;
    codes += " " + ranker::open({.project = project.path()}).error().front().code;
    ranks.reset();
    const bool written = ::write(ends[1], codes.data(), codes.size()) == static_cast<::ssize_t>(codes.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::array<char, 128> room{};
  const ::ssize_t size = ::read(ends[0], room.data(), room.size());
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(std::string_view(room.data(), static_cast<std::size_t>(size)) == "forked forked forked forked forked forked");
  CHECK(ranks->rank("{}").has_candidates());
}
