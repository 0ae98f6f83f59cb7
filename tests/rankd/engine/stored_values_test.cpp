// tests/rankd/engine/stored_values_test.cpp: odd values on their way from a store to an answer: binary text, null, ids.
#include <rankd/engine/ranking.hpp>

#include <rankd/store/data_writer.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::artifact_of;
using rankd::testing::engine_world;
using rankd::testing::ids_of;
using rankd::testing::node;
using rankd::testing::op_world;

namespace {

using ids = std::vector<std::int64_t>;

constexpr std::int64_t two_to_53 = std::int64_t{1} << 53U;
constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t min_value = std::numeric_limits<std::int64_t>::min();

/// An engine whose store holds, byte for byte, what a test says: countries of users, and whom user 1 follows.
class odd_world {
 public:
  odd_world(const std::map<std::int64_t, std::string>& countries, const ids& followed) {
    std::filesystem::create_directories(folder_.path() / "first.lmdb");
    auto writer = data_writer::create(data_file(folder_.path() / "first.lmdb", 1), 1 << 24).value();
    record_builder builder;
    for (const auto& [user, country] : countries) {
      const std::vector<hash_field> fields{{"country", country}};
      writer.put("user:" + std::to_string(user), builder.hash(fields, {})).value();
    }
    writer.put("follow:1", builder.id_list(followed, {})).value();
    writer.finish().value();
    write_manifest(folder_.path() / "first.lmdb", seal_generation(folder_.path() / "first.lmdb", 1).value()).value();
    store_ = testing::value_of(open_store(*op_world().find_endpoint("ep_0001"), folder_.path()));
    world_.emplace(op_world(), std::vector<store*>{store_.get(), nullptr, nullptr}, 1);
  }

  /// What follows for user 1, and then the nodes of `more`, of which the last is `z`.
  auto rank(const std::string& more, const std::string& tables = "") -> ranking {
    const std::string endpoint = R"({"endpoint":"ep_0001")";
    const bound_plan& plan = world_->bind(
        artifact_of(node("v", "core::viewer", "", endpoint + "}") + "," +
                        node(more.empty() ? "z" : "f", "core::follow", "v", endpoint + R"(,"fanout":100})") + more,
                    R"("z")", tables));
    return world_->rank(plan, R"({"user_id":1,"request_id":"r"})");
  }

  auto filtered(const std::string& predicate) -> ids {
    return ids_of(
        rank("," + node("z", "core::filter", "f", R"({"pred_id":"p"})"), R"("pred_table":{"p":)" + predicate + "},"));
  }

  auto sorted(const std::string& order) -> ids {
    return ids_of(rank("," + node("z", "core::sort", "f", R"({"by":1,"order":")" + order + "\"}")));
  }

 private:
  braid::testing::scratch_folder folder_;
  std::unique_ptr<store> store_;
  std::optional<engine_world> world_;
};

auto id_compared(const std::string& how, const std::string& value) -> std::string {
  return R"({"op":"cmp","cmp":")" + how + R"(","a":{"op":"key_ref","key_id":1},"b":{"op":"const_number","value":)" +
         value + "}}";
}

auto id_in(const std::string& list) -> std::string {
  return R"({"op":"in","lhs":{"op":"key_ref","key_id":1},"list":[)" + list + "]}";
}

auto country_compared(const std::string& how) -> std::string {
  return R"({"op":"cmp","cmp":")" + how + R"(","a":{"op":"key_ref","key_id":3001},"b":{"op":"const_null"}})";
}

}  // namespace

TEST_CASE("text that is not UTF-8 is escaped in the answer and hurts no other row") {
  odd_world world({{2, "US"}, {3, "\xff\xc3("}, {4, std::string("\0\x1b", 2)}, {5, "DE"}}, {2, 3, 4, 5, 6});
  const std::string answer = to_json(world.rank(""));
  CHECK(answer.find(R"([{"id":2,"fields":{"country":"US"}},{"id":3,"fields":{"country":{"base64":"/8Mo"}}},)"
                    R"({"id":4,"fields":{"country":"\u0000\u001b"}},{"id":5,"fields":{"country":"DE"}},)"
                    R"({"id":6,"fields":{}}])") != std::string::npos);
  CHECK(json::accept(answer));
}

TEST_CASE("text that is not UTF-8 is filtered, sorted and matched as the bytes that it is") {
  odd_world world({{2, "b"},
                   {3, "\xff"},
                   {4, "a"},
                   {5,
                    "\x80"
                    "a"}},
                  {2, 3, 4, 5});
  CHECK((ids_of(world.rank("," + node("z", "core::sort", "f", R"({"by":3001})"))) == ids{4, 2, 5, 3}));
  CHECK((world.filtered(R"({"op":"in","lhs":{"op":"key_ref","key_id":3001},"list":["a","ÿ"]})") == ids{4}));
  CHECK((world.filtered(R"({"op":"regex","key_id":3001,"pattern":{"kind":"literal","value":"a$"},"flags":""})") ==
         ids{4, 5}));
}

TEST_CASE("a country that is not null is one that is there, were it empty") {
  odd_world world({{2, "US"}, {4, ""}, {5, "null"}, {6, "\xff"}}, {2, 3, 4, 5, 6, 7});
  CHECK((world.filtered(country_compared("!=")) == ids{2, 4, 5, 6}));
  CHECK((world.filtered(country_compared("==")) == ids{3, 7}));
  CHECK((world.filtered(R"({"op":"not_null","x":{"op":"key_ref","key_id":3001}})") == ids{2, 4, 5, 6}));
  CHECK((world.filtered(R"({"op":"not","x":)" + country_compared("!=") + "}") == ids{3, 7}));
}

TEST_CASE("ids past 2^53 compare exactly in filters") {
  odd_world world({}, {two_to_53 - 1, two_to_53, two_to_53 + 1, two_to_53 + 2, -two_to_53 - 1, greatest, greatest - 1,
                       min_value, min_value + 1});
  CHECK((world.filtered(id_compared("==", "9007199254740993")) == ids{two_to_53 + 1}));
  CHECK((world.filtered(id_compared("==", "9007199254740992.0")) == ids{two_to_53}));
  CHECK((world.filtered(id_compared("==", "-9007199254740993")) == ids{-two_to_53 - 1}));
  CHECK((world.filtered(id_compared("<", "-9223372036854775807")) == ids{min_value}));
  CHECK((world.filtered(id_compared(">", "9223372036854775806")) == ids{greatest}));
  CHECK((world.filtered(id_compared(">=", "9223372036854775807")) == ids{greatest}));
  CHECK((world.filtered(id_compared(">", "9007199254740992")) ==
         ids{two_to_53 + 1, two_to_53 + 2, greatest, greatest - 1}));
}

TEST_CASE("ids past 2^53 are found exactly in lists") {
  odd_world world({}, {two_to_53, two_to_53 + 1, two_to_53 + 2, greatest, greatest - 1, min_value});
  CHECK((world.filtered(id_in("9007199254740993,9223372036854775806,-9223372036854775808")) ==
         ids{two_to_53 + 1, greatest - 1, min_value}));
  CHECK((world.filtered(id_in("9007199254740992.0,9223372036854775808.0")) == ids{two_to_53}));
}

TEST_CASE("ids past 2^53 are sorted and printed exactly") {
  odd_world world({}, {two_to_53 + 2, greatest, two_to_53, min_value, two_to_53 + 1, greatest - 1});
  const ids ascending{min_value, two_to_53, two_to_53 + 1, two_to_53 + 2, greatest - 1, greatest};
  CHECK((world.sorted("asc") == ascending));
  CHECK((world.sorted("desc") == ids(ascending.rbegin(), ascending.rend())));
  const std::string answer = to_json(world.rank(""));
  for (const std::int64_t id : ascending)
    CHECK(answer.find("{\"id\":" + std::to_string(id) + ",") != std::string::npos);
}
