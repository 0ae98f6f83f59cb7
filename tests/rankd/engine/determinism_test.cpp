// tests/rankd/engine/determinism_test.cpp: the bytes of an answer never depend on how many workers there are, or on
// time.
#include <rankd/engine/engine.hpp>

#include <tests/rankd/engine/engine_world.hpp>

#include <braid/base/random.hpp>

#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

/// Plans that depend on the seed only: sources and viewers, then operators of all kinds on any of the nodes before.
class plan_maker {
 public:
  explicit plan_maker(std::uint64_t seed) : random_(seed) {}

  auto make() -> std::string {
    add(node(next(), "core::viewer", "", R"({"endpoint":"ep_0001"})"));
    add(source(next(), static_cast<int>(random_.below(4) == 0 ? 1500 + random_.below(1000) : random_.below(6))));
    const std::size_t more = 4 + random_.below(8);
    for (std::size_t i = 0; i < more; ++i) add_operator(pick());
    std::string outputs;
    for (const std::string& id : unused_) outputs += (outputs.empty() ? "\"" : ",\"") + id + "\"";
    return artifact_of(
        nodes_, outputs,
        R"("expr_table":{"e":{"op":"mul","a":{"op":"key_ref","key_id":1},)"
        R"("b":{"op":"coalesce","a":{"op":"param_ref","param_id":1},"b":{"op":"const_number","value":0.1}}},)"
        R"("n":{"op":"key_ref","key_id":2001}},)"
        R"("pred_table":{"p":{"op":"cmp","cmp":"<","a":{"op":"key_ref","key_id":2001},)"
        R"("b":{"op":"const_number","value":2}},"c":{"op":"not_null","x":{"op":"key_ref","key_id":3001}}},)");
  }

 private:
  auto next() -> std::string { return "n" + std::to_string(count_++); }

  auto pick() -> std::string {
    const std::string id = "n" + std::to_string(random_.below(count_));
    unused_.erase(id);
    return id;
  }

  void add(const std::string& text) {
    nodes_ += (nodes_.empty() ? "" : ",") + text;
    unused_.insert("n" + std::to_string(count_ - 1));
  }

  void add_operator(const std::string& from) {
    const std::string list = R"({"endpoint":"ep_0001","fanout":)" + std::to_string(1 + random_.below(4)) + "}";
    switch (random_.below(11)) {
      case 0: return add(sleep(next(), from, static_cast<int>(random_.below(3))));
      case 1: return add(sleep(next(), from, static_cast<int>(random_.below(3)), sometimes_failing()));
      case 2: return add(busy(next(), from, static_cast<int>(random_.below(2))));
      case 3: return add(node(next(), "core::vm", from, R"({"out_key":2001,"expr_id":"e"})"));
      case 4: return add(node(next(), "core::vm", from, R"({"out_key":1001,"expr_id":"n"})"));  // fails on nulls
      case 5: return add(node(next(), "core::filter", from, R"({"pred_id":"p"})"));
      case 6: return add(node(next(), "core::filter", from, R"({"pred_id":"c"})"));
      case 7: return add(node(next(), "core::sort", from, R"({"by":3001,"order":"desc"})"));
      case 8: return add(node(next(), "core::take", from, R"({"count":7})"));
      case 9: return add(node(next(), "core::follow", from, list));
      default: {
        const std::string other = pick();
        return add(node(next(), "core::concat", from, R"({"rhs":")" + other + "\"}"));
      }
    }
  }

  auto sometimes_failing() -> sleep_end { return random_.below(3) == 0 ? sleep_end::failing : sleep_end::well; }

  braid::random_source random_;
  std::size_t count_ = 0;
  std::string nodes_;
  std::set<std::string> unused_;
};

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
  constexpr std::uint64_t generated = 16;
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
  const std::vector<std::string> expected = all_answers(1, {.longest_run_here_ns = 20'000});
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
  CHECK((all_answers(2, {.longest_run_here_ns = 0}) == expected));
  CHECK((all_answers(8, {.longest_run_here_ns = 20'000}) == expected));
  CHECK((all_answers(8, {.longest_run_here_ns = 0, .part_ns = 100}) == expected));
  CHECK((all_answers(2, {.order = run_order::one_by_one}) == expected));
}
