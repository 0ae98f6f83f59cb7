// tests/rankd/server/shadow_boards_test.cpp: candidates that reloads bring, change and take away.
#include <rankd/server/shadow/shadow_boards.hpp>

#include <rankd/registry/diagnostic.hpp>

#include <tests/rankd/server/changing_world.hpp>
#include <tests/rankd/server/closed_store.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using nlohmann::json;

namespace {

/// A server that begins without candidates; reloads take those that are wanted.
class reloading_world : public changing_world {
 public:
  reloading_world() {
    write("b", 2);
    want({});
  }

  void want(std::vector<shadow_settings> next) {
    changes.shadows_by([next = std::move(next)] { return braid::checked<std::vector<shadow_settings>>(next); },
                       [this](std::vector<shadow_settings> all) { return server().renew_shadows(std::move(all)); });
  }
  auto reload() -> json { return ask_json("POST", "/v1/reload"); }
  /// Whether that was a change.
  auto reload_with(std::vector<shadow_settings> next) -> bool {
    want(std::move(next));
    return reload().value("shadows_changed", false);
  }

  auto seen() -> json { return ask_json("GET", "/v1/shadow/a"); }
  auto count(const std::string& verdict) -> int { return seen().at("counts").at(verdict).get<int>(); }
  auto has_runs(int runs) -> bool {
    return eventually([&] { return seen().at("runs") == runs; });
  }
};

auto code_of(const json& answer) -> std::string { return answer.at("error").at("code"); }

/// Whether the metrics have the thread of candidates.
auto has_thread(const std::string& metrics) -> bool { return metrics.find(R"(pool="shadow")") != std::string::npos; }

/// Counts those that there are.
class numbered_store : public closed_store {
 public:
  explicit numbered_store(int& alive) : alive_(&alive) { ++*alive_; }
  numbered_store(const numbered_store&) = delete;
  auto operator=(const numbered_store&) -> numbered_store& = delete;
  ~numbered_store() override { --*alive_; }

 private:
  int* alive_;
};

}  // namespace

TEST_CASE("a candidate that stays beside its plan keeps its counts, and takes another share") {
  shadow_boards boards;
  CHECK(boards.find("a") == nullptr);
  CHECK(boards.all()->empty());
  CHECK_FALSE(boards.replace({}));
  const std::vector<shadow_settings> first{{.plan = "a", .candidate = "b", .share = 1},
                                           {.plan = "c", .candidate = "b", .share = 1}};
  CHECK(boards.replace(first));
  CHECK_FALSE(boards.replace(first));
  const auto of_a = boards.find("a");
  const auto of_c = boards.find("c");
  REQUIRE(of_a != nullptr);
  CHECK(of_a->wants("r"));
  of_a->count(shadow_verdict::busy);
  CHECK(boards.replace(
      {{.plan = "a", .candidate = "b", .share = 1e-9, .in_flight = 7}, {.plan = "c", .candidate = "d", .share = 1}}));
  CHECK(boards.find("a") == of_a);
  CHECK_FALSE(of_a->wants("r"));
  CHECK(of_a->max_runs() == 7);
  const json seen = json::parse(of_a->to_json());
  CHECK(seen.at("counts").at("busy") == 1);
  CHECK(seen.at("share") == 1e-9);
  CHECK(boards.find("c") != of_c);
  CHECK(of_c->candidate() == "b");  // a run that began for it may end with it
  CHECK(boards.replace({}));
  CHECK(boards.find("a") == nullptr);
}

TEST_CASE("a reload brings the first candidate, changes it, and takes it away") {
  reloading_world world;
  CHECK_FALSE(world.reload().contains("shadows_changed"));
  CHECK(code_of(world.seen()) == "unknown_shadow");
  CHECK(world.reload_with({{.plan = "a", .candidate = "b", .share = 1}}));
  CHECK(world.mark() == 1);
  CHECK(world.has_runs(1));
  CHECK(world.count("values") == 1);
  CHECK_FALSE(world.reload().contains("shadows_changed"));
  CHECK(world.reload_with({{.plan = "a", .candidate = "b", .share = 1, .in_flight = 2}}));
  CHECK(world.seen().at("in_flight") == 2);
  CHECK(world.mark() == 1);
  CHECK(world.has_runs(2));
  CHECK(world.reload_with({}));
  CHECK(world.mark() == 1);
  CHECK(code_of(world.seen()) == "unknown_shadow");
  CHECK(world.ask("GET", "/metrics").body.find("rankd_shadow_total") == std::string::npos);
}

TEST_CASE("candidates and plans change together or not at all") {
  reloading_world world;
  world.want({{.plan = "a", .candidate = "none_such", .share = 1}});
  const json unknown = world.reload();
  CHECK(code_of(unknown) == "unknown_plan");
  const std::string text = unknown.dump();
  for (const char* said : {"`none_such`", "/shadow/a/plan", "rankd.toml", "build that plan"})
    CHECK_MESSAGE(text.find(said) != std::string::npos, said);
  CHECK(code_of(world.seen()) == "unknown_shadow");
  CHECK_FALSE(has_thread(world.ask("GET", "/metrics").body));
  CHECK(world.reload_with({{.plan = "a", .candidate = "b", .share = 1}}));
  CHECK(has_thread(world.ask("GET", "/metrics").body));
  world.write("a", 3);
  world.want({{.plan = "a", .candidate = "bb", .share = 1}});
  CHECK(code_of(world.reload()) == "unknown_plan");
  CHECK(world.mark() == 1);
  CHECK(world.seen().at("candidate") == "b");
  world.write("bb", 4);
  world.folder.write("a.json", "{}");
  CHECK(code_of(world.reload()) == "missing_field");
  CHECK(world.seen().at("candidate") == "b");
  world.write("a", 3);
  CHECK(world.reload().at("shadows_changed") == true);
  CHECK(world.mark() == 3);
  CHECK(world.seen().at("candidate") == "bb");
}

TEST_CASE("a run goes on when its candidate is taken away, and counts where another one runs beside that plan") {
  reloading_world world;
  std::string slow = artifact_of(source("s", 1) + "," + sleep("z", "s", an_hour_ms), "\"z\"");
  world.folder.write("slow.json", slow.replace(slow.find("\"t\""), 3, "\"slow\""));
  CHECK(world.reload_with({{.plan = "a", .candidate = "slow", .share = 1, .in_flight = 1}}));
  CHECK(world.mark() == 1);
  CHECK(world.mark() == 1);
  CHECK(world.count("busy") == 1);
  CHECK(world.reload_with({}));
  CHECK(world.reload_with({{.plan = "a", .candidate = "b", .share = 1, .in_flight = 1}}));
  CHECK(world.count("busy") == 0);
  CHECK(world.mark() == 1);
  CHECK(world.count("busy") == 1);
  CHECK(world.reload_with({{.plan = "a", .candidate = "b", .share = 1, .in_flight = 2}}));
  CHECK(world.mark() == 1);
  CHECK(world.has_runs(1));
}

TEST_CASE("stores of candidates are opened for the first one, once, and go where it is not put in place") {
  int alive = 0;
  std::size_t asked = 0;
  fixed_plans plans(test_plans());
  const auto open = [&]() -> braid::checked<shadow_stores> {
    if (++asked == 1) return refused("not_now", "the store is not there", "try again", "store");
    shadow_stores out{.own = {}, .all = reference_project::get().stores};
    out.own.push_back(std::make_unique<numbered_store>(alive));
    return out;
  };
  serve_options options;
  options.listen = braid::socket_address::loopback(0);
  auto server = value_of(rank_server::start({.declared = &reference_project::get().declared,
                                             .stores = reference_project::get().stores,
                                             .open_shadow_stores = open,
                                             .plans = &plans},
                                            std::move(options)));
  const std::vector<shadow_settings> next{{.plan = "ten", .candidate = "concat_plan", .share = 1}};
  CHECK_FALSE(value_of(server->renew_shadows({}))());
  CHECK(asked == 0);
  const auto failed = server->renew_shadows(next);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().front().code == "not_now");
  {
    const auto left = value_of(server->renew_shadows(next));
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
  CHECK(value_of(server->renew_shadows(next))());
  CHECK_FALSE(value_of(server->renew_shadows(next))());
  CHECK(value_of(server->renew_shadows({}))());
  CHECK(value_of(server->renew_shadows(next))());
  CHECK(asked == 3);
  CHECK(alive == 1);
  server.reset();
  CHECK(alive == 0);
}
