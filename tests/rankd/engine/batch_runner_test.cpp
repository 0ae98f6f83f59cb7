// tests/rankd/engine/batch_runner_test.cpp: answers come in the order of the requests, and depend on nothing else.
#include <rankd/engine/batch/batch_runner.hpp>

#include <braid/thread/this_thread.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/eventually.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

struct batch_world {
  const reference_project& project = reference_project::get();
  bound_plan follow = bound("reels_plan_a");
  bound_plan slow =
      value_of(bind_plan(value_of(parse_plan(artifact_of(source("a", 3) + "," + sleep("b", "a", 3), R"("b")"), "slow",
                                             {all_op_shapes(), project.declared})),
                         project.declared));

  auto bound(const std::string& name) const -> bound_plan {
    const auto loaded =
        value_of(load_plan(project.where.plans / (name + ".json"), {all_op_shapes(), project.declared}));
    return value_of(bind_plan(loaded, project.declared));
  }

  auto find(std::string_view name) const -> braid::checked<const bound_plan*> {
    if (name == "follow") return &follow;
    if (name == "slow") return &slow;
    return std::unexpected(braid::diagnostics(
        {.code = "unknown_plan", .pointer = {}, .message = "there is none", .hint = {}, .node = {}, .source = {}}));
  }

  auto runner(unsigned workers, std::string given = {}) const -> std::unique_ptr<batch_runner> {
    return value_of(batch_runner::create(project.declared, project.stores,
                                         {.workers = workers,
                                          .given_plan = std::move(given),
                                          .find_plan = [this](std::string_view name) { return find(name); }}));
  }
};

auto line(std::uint64_t number, std::string text) -> batch_line { return {number, std::move(text), {}}; }

/// Requests of which some are wrong, some wait and some compute, in pieces of different lengths.
auto answers_of(const batch_world& world, unsigned workers, std::uint64_t lines) -> std::string {
  const auto runner = world.runner(workers);
  std::string all;
  std::uint64_t number = 0;
  std::uint64_t answered = 0;
  while (number < lines || answered < lines) {
    if (number < lines && runner->wants_more()) {
      std::vector<batch_line> piece;
      const std::uint64_t last = std::min(lines, number + 1 + number % batch_runner::max_lines);
      while (number < last) {
        ++number;
        const std::string plan = number % 7 == 0 ? "slow" : number % 11 == 0 ? "none" : "follow";
        const std::string user = number % 5 == 0 ? "-1" : std::to_string(1 + number % 9);
        piece.push_back(line(number, R"({"user_id":)" + user + R"(,"plan":")" + plan + "\"}"));
      }
      runner->submit(std::move(piece));
      continue;
    }
    const auto answers = runner->next();
    REQUIRE(answers.has_value());
    answered += answers->answered;
    all += answers->text;
  }
  CHECK_FALSE(runner->next().has_value());
  return all;
}

}  // namespace

TEST_CASE("the answers are those of the lines in their order, for any number of workers") {
  const batch_world world;
  const std::string one = answers_of(world, 1, 300);
  CHECK(answers_of(world, 2, 300) == one);
  CHECK(answers_of(world, 8, 300) == one);
  std::uint64_t number = 0;
  std::size_t begin = 0;
  for (std::size_t end = one.find('\n'); end != std::string::npos; begin = end + 1, end = one.find('\n', begin)) {
    const json answer = json::parse(one.substr(begin, end - begin));
    ++number;
    const json& id = answer.contains("error") ? answer["error"]["request_id"] : answer["request_id"];
    CHECK(id == "line_" + std::to_string(number));
    if (number % 5 == 0)
      CHECK(answer.at("error").at("code") == "bad_user_id");
    else if (number % 7 != 0 && number % 11 == 0)
      CHECK((answer.at("error").at("code") == "unknown_plan" && answer.at("error").at("pointer") == "/plan"));
    else
      CHECK(answer.contains("candidates"));
  }
  CHECK(number == 300);
}

TEST_CASE("failed answers are counted, and every one names its request") {
  const batch_world world;
  const auto runner = world.runner(1, "follow");
  const braid::diagnostic too_long{
      .code = "line_too_long", .pointer = {}, .message = "too long", .hint = {}, .node = {}, .source = {}};
  runner->submit({line(3, R"({"user_id":1,"request_id":"mine"})"),
                  line(4, R"({"request_id":"mine","user_id":0})"),
                  line(5, "{"),
                  line(6, R"({"user_id":1,"plan":"slow"})"),
                  {7, {}, too_long},
                  line(8, R"({"user_id":1,"request_id":"mine","user_id":1})")});
  const auto answers = runner->next();
  REQUIRE(answers.has_value());
  CHECK(answers->answered == 6);
  CHECK(answers->failed == 5);
  std::vector<std::pair<std::string, std::string>> seen;
  std::size_t begin = 0;
  for (std::size_t end = answers->text.find('\n'); end != std::string::npos;
       begin = end + 1, end = answers->text.find('\n', begin)) {
    const json answer = json::parse(answers->text.substr(begin, end - begin));
    const json& part = answer.contains("error") ? answer["error"] : answer;
    seen.emplace_back(part.at("request_id"), part.value("code", ""));
    if (seen.back().second == "json_syntax")
      CHECK(part.at("message").get<std::string>().starts_with("line 5, column 2: "));
  }
  const std::vector<std::pair<std::string, std::string>> expected{{"mine", ""},
                                                                  {"mine", "bad_user_id"},
                                                                  {"line_5", "json_syntax"},
                                                                  {"line_6", "plan_mismatch"},
                                                                  {"line_7", "line_too_long"},
                                                                  {"mine", "duplicate_field"}};
  CHECK((seen == expected));
}

TEST_CASE("the same text on two lines is two requests") {
  const batch_world world;
  const auto runner = world.runner(2, "follow");
  runner->submit({line(1, R"({"user_id":1})"), line(2, R"({"user_id":1})")});
  const auto answers = runner->next();
  REQUIRE(answers.has_value());
  const std::size_t end = answers->text.find('\n');
  const json first = json::parse(answers->text.substr(0, end));
  const json second = json::parse(answers->text.substr(end + 1));
  CHECK(first["candidates"] == second["candidates"]);
  CHECK(first["engine_request_id"] != second["engine_request_id"]);
}

TEST_CASE("what nobody waits for any more is dropped") {
  const batch_world world;
  const auto runner = world.runner(1, "slow");
  for (std::uint64_t number = 1; number <= 50; ++number) runner->submit({line(number, R"({"user_id":1})")});
  CHECK(runner->next().has_value());
}

TEST_CASE("a thread begins the next lines, as many as it may, while earlier lines wait") {
  const batch_world world;
  const bound_plan asleep =
      value_of(bind_plan(value_of(parse_plan(artifact_of(source("a", 3) + "," + sleep("b", "a", 600'000), R"("b")"),
                                             "asleep", {all_op_shapes(), world.project.declared})),
                         world.project.declared));
  std::latch submitted(1);
  std::atomic<int> begun{0};
  const auto find = [&](std::string_view name) -> braid::checked<const bound_plan*> {
    if (name == "slow") submitted.wait();  // so the thread does not run out of lines
    ++begun;
    return name == "slow" ? &world.slow : &asleep;
  };
  auto runner = value_of(batch_runner::create(world.project.declared, world.project.stores,
                                              {.workers = 1, .given_plan = {}, .find_plan = find}));
  const std::string waits = R"({"plan":"asleep"})";
  const std::string ends = R"({"plan":"slow"})";
  runner->submit({line(1, waits), line(2, ends)});
  runner->submit({line(3, waits), line(4, waits), line(5, ends)});
  submitted.count_down();
  CHECK(braid::testing::eventually([&begun] { return begun == 5; }));
  runner.reset();
}

TEST_CASE("the threads of a batch can be told by their names") {
  const batch_world world;
  const auto runner = world.runner(2);
  CHECK(braid::thread_info::find_all("batch-0").value().size() == 1);
  CHECK(braid::thread_info::find_all("batch-1").value().size() == 1);
}

TEST_CASE("a runner that ends stops the requests that wait, and drops the others") {
  const batch_world world;
  const bound_plan asleep =
      value_of(bind_plan(value_of(parse_plan(artifact_of(source("a", 3) + "," + sleep("b", "a", 600'000), R"("b")"),
                                             "asleep", {all_op_shapes(), world.project.declared})),
                         world.project.declared));
  std::atomic<bool> found{false};
  const auto find = [&](std::string_view) -> braid::checked<const bound_plan*> {
    found = true;
    return &asleep;
  };
  auto runner = value_of(batch_runner::create(world.project.declared, world.project.stores,
                                              {.workers = 1, .given_plan = "asleep", .find_plan = find}));
  CHECK(runner->wait_for(braid::duration::zero()));  // there is nothing to wait for
  runner->submit({line(1, "{}")});
  runner->submit({line(2, "{}")});
  CHECK_FALSE(runner->wait_for(std::chrono::milliseconds(1)));
  CHECK(braid::testing::eventually([&found] { return found.load(); }));
  runner.reset();
}
