// tests/rankd/store/counted_store_test.cpp: counters laid over the hashes of an embedded store.
#include <rankd/store/counted_store.hpp>

#include <rankd/store/error.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/store/asking.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/coro/spawn.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using rankd::testing::ask_store;

namespace {

constexpr std::string_view data = R"({"hash":"item:1","fields":{"clicks":"5","title":"One"}}
{"list":"item:2","values":[5,6,7]}
{"hash":"item:3","fields":{"title":"Three"}}
)";

struct counted_world {
  counted_world() {
    REQUIRE(load_store(folder.path() / "db", std::vector{folder.write("data.ndjson", data)}, {}).has_value());
    endpoint_entry endpoint;
    endpoint.endpoint_id = "ep_0001";
    endpoint.resolver = endpoint_entry::embedded_resolver{"db"};
    over = std::make_unique<counted_store>(open_store(endpoint, folder.path()).value(), counted);
  }

  void count(const std::string& key, std::string_view field, std::string value) const {
    CHECK(counted->update(key, 1ms, [&](counted_hash& hash) { return hash.set(field, std::move(value)), true; }) ==
          counted_hashes::outcome::done);
  }
  auto all_of(std::vector<std::int64_t> ids) -> std::string {
    braid::arena memory;
    const auto got = braid::sync_wait(ask_store(*over, hash_read{{"item:", ids}}, memory));
    if (!got) return over->explain(got.error()).code;
    std::string out;
    for (const auto& hash : *got) {
      for (const hash_field& each : hash) out.append(each.name).append("=").append(each.value).append(" ");
      out += "; ";
    }
    return out;
  }

  braid::testing::scratch_folder folder;
  std::shared_ptr<counted_hashes> counted = std::make_shared<counted_hashes>(1U << 20U);
  std::unique_ptr<store> over;
};

}  // namespace

TEST_CASE("a counted field hides a loaded one of its name, and the others stay") {
  counted_world world;
  CHECK(world.all_of({1, 3, 4}) == "clicks=5 title=One ; title=Three ; ; ");
  world.count("item:1", "clicks", "1");
  world.count("item:3", "a", "2");
  world.count("item:3", "z", "3");
  world.count("item:4", "clicks", "4");
  CHECK(world.all_of({1, 3, 4, 5}) == "clicks=1 title=One ; a=2 title=Three z=3 ; clicks=4 ; ; ");

  braid::arena memory;
  const std::vector<std::int64_t> ids = {4, 5, 1, 3};
  const auto clicks = braid::sync_wait(ask_store(*world.over, field_read{{"item:", ids}, "clicks"}, memory)).value();
  CHECK(clicks[0] == "4");
  CHECK(clicks[1] == std::nullopt);
  CHECK(clicks[2] == "1");
  CHECK(clicks[3] == std::nullopt);

  const std::vector<std::string_view> keys = {"item:1", "item:5", "item:4"};
  const std::vector<std::string_view> fields = {"title", "clicks"};
  const auto named =
      braid::sync_wait(
          ask_store(*world.over, named_read{.kind = read_kind::fields, .keys = keys, .fields = fields}, memory))
          .value();
  CHECK(named.of_key[0][0].text == "One");
  CHECK(named.of_key[0][1].text == "1");
  CHECK_FALSE(named.of_key[1][1].is_there);
  CHECK_FALSE(named.of_key[2][0].is_there);
  CHECK(named.of_key[2][1].text == "4");
}

TEST_CASE("other kinds of values are those that were loaded") {
  counted_world world;
  world.count("item:2", "clicks", "1");
  CHECK(world.all_of({2}) == "store_wrong_type");
  braid::arena memory;
  const std::vector<std::int64_t> ids = {2};
  const auto list = braid::sync_wait(ask_store(*world.over, list_read{{"item:", ids}, 2}, memory)).value();
  CHECK(std::vector(list.lists[0].begin(), list.lists[0].end()) == std::vector<std::int64_t>{5, 6});
  CHECK(world.over->answers_at_once());
  CHECK(world.over->damage().empty());
}
