// tests/rankd/engine/determinism_test.cpp: the bytes of an answer never depend on how many workers there are, or on
// time.
#include <rankd/engine/engine.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/engine/made_plans.hpp>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

auto requests() -> std::vector<std::string> {
  std::vector<std::string> all;
  for (const int user : {1, 3, 4, 11, 14}) {
    const std::string id = std::to_string(user);
    all.push_back(R"({"user_id":)" + id + "}");
    all.push_back(R"({"user_id":")" + id + R"(","param_overrides":{"media_age_penalty_weight":0.5},"plan":"t"})");
  }
  return all;
}

/// Every answer of every plan, asked by several threads at once.
auto all_answers(unsigned workers, engine_options how) -> std::vector<std::string> {
  constexpr std::uint64_t generated = 20;
  engine_world world(workers, how);
  std::vector<const bound_plan*> plans{&world.reference_plan("reels_plan_a"), &world.reference_plan("concat_plan")};
  for (std::uint64_t seed = 1; seed <= generated; ++seed) plans.push_back(&world.bind(plan_maker(seed).make()));

  const std::vector<std::string> asked = requests();
  std::vector<std::string> answers(plans.size() * asked.size());
  std::vector<std::thread> clients;
  constexpr std::size_t threads = 8;
  for (std::size_t first = 0; first < threads; ++first)
    clients.emplace_back([&, first] {
      for (std::size_t at = first; at < answers.size(); at += threads)
        answers[at] = to_json(world.rank(*plans[at / asked.size()], asked[at % asked.size()]));
    });
  for (std::thread& client : clients) client.join();
  return answers;
}

}  // namespace

TEST_CASE("1, 2 and 8 workers give the same bytes, wherever nodes run and in whatever parts") {
  const std::vector<std::string> expected = all_answers(1, {.max_inline_ns = 20'000});
  std::map<std::string, int> endings;
  for (const std::string& each : expected) {
    CHECK(each.find("internal_error") == std::string::npos);
    const std::size_t at = each.find(R"("code":")");
    ++endings[at == std::string::npos ? "fine" : each.substr(at + 8, each.find('"', at + 8) - at - 8)];
  }
  // The plans are worth asking only if some succeed and some fail, in both ways.
  CHECK(endings["fine"] > 40);
  CHECK(endings["test_failure"] > 0);
  CHECK(endings["null_value"] > 0);
  CHECK((all_answers(2, {.max_inline_ns = 0}) == expected));
  CHECK((all_answers(8, {.max_inline_ns = 20'000}) == expected));
  CHECK((all_answers(8, {.max_inline_ns = 0, .part_ns = 100}) == expected));
  CHECK((all_answers(2, {.order = run_order::one_by_one}) == expected));
}
