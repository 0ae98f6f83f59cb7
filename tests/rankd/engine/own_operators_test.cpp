// tests/rankd/engine/own_operators_test.cpp: operators of libraries in plans that run: failures, budgets, versions,
// many requests at once.
#include <rankd/abi/operators.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/plan_graph.hpp>
#include <rankd/op/operator_library.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/watchdog.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::watchdog;
using namespace std::chrono_literals;
namespace ops = rankd::operators;

namespace {

/// Fails, takes memory, or waits until another one is running, too.
struct trouble {
  static auto shape() -> ops::shape {
    return ops::shape("engine_test::trouble", "Trouble.").choice("what", {"fail", "take", "meet"});
  }
  explicit trouble(const ops::binding& with) : what(with.choice("what")) {}
  void run(ops::rows& /*rows*/) const {
    if (what == 0) throw std::runtime_error("no luck today");
    if (what == 2) meet();
  }
  void meet() const {
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
  }
  std::size_t what;
  mutable std::atomic<int> inside{0};  // requests that came in
};

/// A text for each row, as long as it is told.
struct long_text {
  static auto shape() -> ops::shape {
    return ops::shape("engine_test::long_text", "A long text.")
        .writes("out_key", ops::texts)
        .integer("size", {0, 1 << 20});
  }
  explicit long_text(const ops::binding& with)
      : out(with.written("out_key")), text(static_cast<std::size_t>(with.integer("size")), 'x') {}
  void run(ops::rows& rows) const {
    auto texts = rows.write_texts(out);
    for (std::size_t row = 0; row < rows.size(); ++row) texts.set(row, text);
  }
  ops::written_column out;
  std::string text;
};

auto loaded() -> bool {
  static const bool once =
      add_operators(*ops::detail::library<trouble, long_text>(), {"libengine_test.so", "00"}).has_value();
  return once;
}

auto troubled(const std::string& what) -> std::string {
  return node("t", "engine_test::trouble", "s", R"({"what":")" + what + "\"}");
}

const std::string asked = R"({"request_id":"r"})";

}  // namespace

TEST_CASE("an operator of a library fails its node, and a fallback answers that") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const ranking failed = world.rank(world.bind(artifact_of(source("s", 3) + "," + troubled("fail"), R"("t")")), asked);
  CHECK(error_of(failed) == "operator_failed t");
  CHECK(failed.error->message.find("no luck today") != std::string::npos);
  std::string covered = troubled("fail");
  covered.pop_back();
  covered += R"(,"fallback":{"on":["operator_failed"],"use":"input"}})";
  const ranking answer = world.rank(world.bind(artifact_of(source("s", 3) + "," + covered, R"("t")",
                                                           R"("capabilities_required":["cap.rfc.0004.fallback.v1"],)")),
                                    asked);
  CHECK(error_of(answer) == "fine");
  CHECK(ids_of(answer) == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("what an operator of a library takes counts for the budget of its plan") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const auto of_size = [&](int size) {
    const std::string text =
        node("t", "engine_test::long_text", "s", R"({"out_key":3002,"size":)" + std::to_string(size) + "}");
    return error_of(
        world.rank(world.bind(artifact_of(source("s", 4) + "," + text, R"("t")"), {.bytes = 1'000'000}), asked));
  };
  CHECK(of_size(1000) == "fine");
  CHECK(of_size(1 << 20) == "memory_budget_exceeded t");
}

TEST_CASE("an operator of a library runs for several requests at once") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world first;
  engine_world second;
  const bound_plan& plan = first.bind(artifact_of(source("s", 1) + "," + troubled("meet"), R"("t")"));
  std::string other;
  std::thread beside([&] { other = error_of(second.rank(plan, asked)); });
  CHECK(error_of(first.rank(plan, asked)) == "fine");
  beside.join();
  CHECK(other == "fine");
}

TEST_CASE("the version of a plan covers the libraries that it uses, and no others") {
  const watchdog guard(60s);
  REQUIRE(loaded());
  engine_world world;
  const bound_plan& with = world.bind(artifact_of(source("s", 1) + "," + troubled("fail"), R"("t")"));
  CHECK(with.operators == std::vector<operator_digest>{{"libengine_test.so", "00"}});
  CHECK(with.digest != with.artifact_digest);
  CHECK(with.digest == plan_identity(with.artifact_digest, {}, with.operators));
  CHECK(with.digest != plan_identity(with.artifact_digest, {}, {{"libengine_test.so", "01"}}));
  const bound_plan& without = world.bind(artifact_of(source("s", 1), R"("s")"));
  CHECK(without.operators.empty());
  CHECK(without.digest == without.artifact_digest);
  const plan_graph graph = graph_of(with, reference_project::get().declared);
  CHECK(graph.nodes.back().doc == "Trouble.");
  CHECK(graph_json(graph).find(R"("operators":[{"library":"libengine_test.so","sha256":"00"}])") != std::string::npos);
}
