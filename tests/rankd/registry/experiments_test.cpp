// tests/rankd/registry/experiments_test.cpp: what experiments.toml declares, and the buckets of units.
#include <rankd/registry/experiments.hpp>

#include <rankd/registry/digest.hpp>
#include <tests/support/scratch_folder.hpp>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

constexpr const char* param_rows =
    "[[param]]\nparam_id = 1\nname = \"size\"\ntype = \"int\"\nnullable = false\ndefault = 20\n"
    "[[param]]\nparam_id = 2\nname = \"device\"\ntype = \"string\"\nnullable = true\nsource = \"context\"\n";

constexpr const char* layers_and_one =
    "[[layer]]\nname = \"feed\"\nsalt = \"s\"\n[[layer]]\nname = \"by_device\"\nsalt = \"t\"\nunit = \"device\"\n"
    "buckets = 10\n[[experiment]]\nid = \"exp_0001\"\nname = \"sizes\"\nlayer = \"by_device\"\nstatus = \"active\"\n"
    "plans = [\"a\", \"b\"]\narms = [{ name = \"old\", from = 0, to = 4 }, { name = \"new\", from = 5, to = 9, set = "
    "{ size = 9 } }]\nfilter = { param = \"device\", in = [\"tv\"] }\nstart = \"2026-11-24T01:02:03Z\"\n"
    "end = \"2026-12-24T00:00:00Z\"\n";

auto load(const std::optional<std::string>& text) -> experiment_set {
  const braid::testing::scratch_folder folder;
  folder.write("keys.toml",
               "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n");
  folder.write("params.toml", param_rows);
  folder.write("endpoints.dev.toml", "");
  if (text) folder.write("experiments.toml", *text);
  const registries declared = registries::load(folder.path(), "dev").value();
  return experiment_set::load(folder.path(), declared).value();
}

}  // namespace

TEST_CASE("a project without the file has no experiments and no digest of them") {
  const experiment_set none = load(std::nullopt);
  CHECK(none.layers().empty());
  CHECK(none.experiments().empty());
  CHECK(none.digest().empty());
  CHECK(load("").digest() == sha256_hex("{}"));
}

TEST_CASE("experiments are read with their layer, arms and filter") {
  const experiment_set all = load(layers_and_one);
  REQUIRE(all.layers().size() == 2);
  CHECK(all.layers()[0].buckets == 10'000);
  CHECK(!all.layers()[0].unit_param);
  CHECK(all.layers()[1].unit_param == 2U);
  REQUIRE(all.experiments().size() == 1);
  const experiment_entry& one = all.experiments()[0];
  CHECK(one.layer == 1);
  CHECK(one.belongs_to("b"));
  CHECK(!one.belongs_to("c"));
  REQUIRE(one.arms.size() == 2);
  CHECK(one.arms[0].set.empty());
  CHECK(one.arms[1].from == 5);
  CHECK(one.arms[1].to == 9);
  REQUIRE(one.arms[1].set.size() == 1);
  CHECK(one.arms[1].set[0].value == scalar(std::int64_t{9}));
  REQUIRE(one.filter);
  CHECK(one.filter->in == std::vector<scalar>{std::string("tv")});
  CHECK(all.digest() != load("").digest());
}

TEST_CASE("an experiment runs from its start until its end, while it is active") {
  experiment_entry one = load(layers_and_one).experiments()[0];
  using namespace std::chrono_literals;
  const auto start = std::chrono::sys_days(std::chrono::year(2026) / 11 / 24) + 1h + 2min + 3s;
  const auto end = std::chrono::sys_days(std::chrono::year(2026) / 12 / 24);
  CHECK(!one.runs_at(start - 1s));
  CHECK(one.runs_at(start));
  CHECK(one.runs_at(end - 1s));
  CHECK(!one.runs_at(end));
  one.status = experiment_status::ended;
  CHECK(!one.runs_at(start));
  one.status = experiment_status::active;
  one.start.reset();
  CHECK(one.runs_at(start - 1s));
}

TEST_CASE("a plan that is not there is a stranger") {
  const auto found = load(layers_and_one).strangers({"a", "bb"});
  REQUIRE(found.size() == 1);
  CHECK(found.front().code == "unknown_plan");
  CHECK(found.front().pointer == "/experiment/0/plans/1");
  CHECK(found.front().source.ends_with("experiments.toml"));
}

// The figures are those of Python: int(sha256(b"2026-11\0" + b"1").hexdigest()[:16], 16) % 10000, and so on.
TEST_CASE("a bucket is that of the digest of salt and unit") {
  CHECK(hash_to_bucket("2026-11", "1", 10'000) == 4207);
  CHECK(hash_to_bucket("2026-11", "2", 10'000) == 3825);
  CHECK(hash_to_bucket("2026-12", "1", 10'000) == 8357);
  CHECK(hash_to_bucket("salt", "device-ä", 7) == 2);
  CHECK(hash_to_bucket("", "", 1'000'000) == 783192);
  CHECK(hash_to_bucket("any", "thing", 1) == 0);
}

TEST_CASE("buckets are filled alike") {
  std::array<int, 10> counts{};
  for (int id = 1; id <= 10'000; ++id) ++counts[hash_to_bucket("2026-11", std::to_string(id), 10)];
  for (const int count : counts) {
    CHECK(count > 850);  // 1000 with a deviation of 30
    CHECK(count < 1150);
  }
}
