// tests/rankd/engine/generations_test.cpp: a request reads one generation of a store, however often that changes
// meanwhile.
#include <rankd/engine/engine.hpp>

#include <rankd/store/followed_store.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/store_layer.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::scratch_folder;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

/// Calls a function before each question.
class disturbed_store final : public store_layer {
 public:
  disturbed_store(std::shared_ptr<store> behind, std::function<void()> disturb)
      : store_layer(*behind), owned_(std::move(behind)), disturb_(std::move(disturb)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    disturb_();
    return behind().ask(question, arena);
  }
  [[nodiscard]] auto pinned() -> std::shared_ptr<store> override {
    auto under = behind().pinned();
    return under == nullptr ? nullptr : std::make_shared<disturbed_store>(std::move(under), disturb_);
  }

 private:
  std::shared_ptr<store> owned_;
  std::function<void()> disturb_;
};

/// A store that changes at each question: in generation N, user 1 follows N, who alone has a country.
struct changing_data {
  scratch_folder folder;
  fs::path place = folder.path() / "store";
  int loads = 0;
  std::shared_ptr<followed_store> store;
  std::unique_ptr<disturbed_store> disturbed;

  changing_data() {
    load();
    store = value_of(followed_store::open(place, "ep_0001"));
    disturbed = std::make_unique<disturbed_store>(store, [this] {
      load();
      REQUIRE(store->refresh().value().has_value());
    });
  }

  void load() {
    const std::string id = std::to_string(++loads);
    const std::vector<fs::path> files = {
        folder.write("data.ndjson", R"({"list":"follow:1","values":[)" + id + "]}\n" + R"({"hash":"user:)" + id +
                                        R"(","fields":{"country":"C)" + id + "\"}}\n")};
    REQUIRE(load_store(place, files, {.mode = load_mode::replace}).has_value());
  }
};

auto following(const std::string& cached = "") -> std::string {
  std::string follow = node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":10})");
  follow.pop_back();
  follow += cached + "}";
  return node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," + follow;
}

/// What a request is answered, with the generation that its explanation names.
auto shown(const ranking& answer) -> std::string {
  REQUIRE_FALSE(answer.error);
  const json candidates = json::parse(to_json(answer)).at("candidates");
  REQUIRE(candidates.size() == 1);
  REQUIRE(answer.explained->generations.size() == 1);
  return std::to_string(answer.explained->generations.front().generation) + ": " + candidates[0].at("id").dump() +
         " from " + candidates[0].at("fields").at("country").get<std::string>();
}

constexpr std::string_view request = R"({"user_id":1,"explain":true})";

}  // namespace

TEST_CASE("all reads of a request are of the generation with which it began") {
  changing_data data;
  const registries& declared = reference_project::get().declared;
  std::vector<store*> stores(declared.endpoints().size(), nullptr);
  stores.at(0) = data.disturbed.get();
  engine_world world(declared, stores, 1);
  const bound_plan& plan = world.bind(artifact_of(following(), "\"f\""));
  CHECK(shown(world.rank(plan, request)) == "1: 1 from C1");
  const int loads = data.loads;
  CHECK(loads > 2);  // in the middle of the request
  const std::string now = std::to_string(loads);
  CHECK(shown(world.rank(plan, request)) == now + ": " + now + " from C" + now);
}

TEST_CASE("so are those of a part that is kept for other requests") {
  changing_data data;
  const registries& declared = reference_project::get().declared;
  std::vector<store*> stores(declared.endpoints().size(), nullptr);
  stores.at(0) = data.disturbed.get();
  engine_options options;
  options.cache.bytes = 1 << 20;
  engine_world world(declared, stores, 1, options);
  const bound_plan& plan = world.bind(artifact_of(following(R"(,"cache":{"ttl_ms":86400000})"), "\"f\"",
                                                  R"("capabilities_required":["cap.rfc.0011.cache.v1"],)"));
  CHECK(shown(world.rank(plan, request)) == "1: 1 from C1");
  const std::string now = std::to_string(data.loads);
  CHECK(shown(world.rank(plan, request)) == now + ": " + now + " from C" + now);
  CHECK(world.ranker().cached()->misses == 2);
}
