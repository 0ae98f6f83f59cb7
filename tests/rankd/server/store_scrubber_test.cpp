// tests/rankd/server/store_scrubber_test.cpp: damage of a store that is served is found, told, and answered with
// errors.
#include <rankd/server/store_scrubber.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/store/folder.hpp>
#include <tests/rankd/server/closed_store.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::eventually;
using braid::testing::scratch_folder;
using nlohmann::json;
using rankd::testing::reference_project;
using rankd::testing::serve_world;

namespace {

/// Pretends to keep so many bytes, which are damaged when the test says so.
class kept_bytes final : public rankd::testing::closed_store {
 public:
  explicit kept_bytes(std::uint64_t all) : all_(all) {}

  auto scrub(std::uint64_t max_bytes) -> scrub_step override {
    if (!damage_.empty() || all_ == 0) return {};
    const std::uint64_t read = std::min(max_bytes, all_ - at_);
    at_ = (at_ + read) % all_;
    return {.bytes = read, .ends_round = at_ == 0};
  }
  [[nodiscard]] auto damage() const -> std::string override { return damage_; }

  void break_it() { damage_ = "it is broken"; }

 private:
  std::uint64_t all_;
  std::uint64_t at_ = 0;
  std::string damage_;
};

void change_a_byte(const std::filesystem::path& file) {
  std::fstream both(file, std::ios::binary | std::ios::in | std::ios::out);
  both.seekp(1).put('x').flush();  // of the number of the first page, which nobody reads
  REQUIRE(both.good());
}

auto list_lines(const std::filesystem::path& file) -> std::string { return read_text_file(file).value_or(""); }

}  // namespace

TEST_CASE("stores are read in turn, piece by piece, and those without files are passed over") {
  constexpr std::uint64_t step = store_scrubber::step_bytes;
  kept_bytes large(2 * step + 1);
  kept_bytes none(0);
  kept_bytes small(5);
  store_scrubber scrubber({{"large", &large}, {"none", &none}, {"small", &small}}, {});
  for (int round = 0; round < 2; ++round) {
    std::vector<std::pair<std::uint64_t, bool>> steps;
    for (int at = 0; at < 5; ++at) {
      const scrub_step done = scrubber.step();
      steps.emplace_back(done.bytes, done.ends_round);
    }
    CHECK(steps == decltype(steps){{step, false}, {step, false}, {1, false}, {0, false}, {5, true}});
  }
  const std::vector<scrub_counts> counts = scrubber.counts();
  REQUIRE(counts.size() == 3);
  CHECK(counts[0].endpoint_id == "large");
  CHECK(counts[0].bytes == 2 * (2 * step + 1));
  CHECK(counts[0].rounds == 2);
  CHECK(counts[1].bytes == 0);
  CHECK(counts[1].rounds == 0);
  CHECK(counts[2].rounds == 2);
  CHECK(store_scrubber({}, {}).step().ends_round);
}

TEST_CASE("damage is logged once, and the other stores are read on") {
  const scratch_folder folder;
  kept_bytes bad(5);
  kept_bytes good(5);
  {
    const auto lines = line_file::open(folder.path() / "log").value();
    store_scrubber scrubber({{"ep_1", &bad}, {"ep_2", &good}}, serve_log(*lines, log_level::error));
    scrubber.step();
    bad.break_it();
    for (int at = 0; at < 6; ++at) scrubber.step();
    CHECK(scrubber.counts()[0].is_damaged);
    CHECK_FALSE(scrubber.counts()[1].is_damaged);
    CHECK(scrubber.counts()[1].rounds == 3);
  }
  const json line = json::parse(list_lines(folder.path() / "log"));  // one line, or it is no JSON
  CHECK(line.at("level") == "error");
  CHECK(line.at("event") == "store_corrupt");
  CHECK(line.at("endpoint") == "ep_1");
  CHECK(line.at("message") == "it is broken");
}

TEST_CASE("a thread scrubs by itself, and ends with the object in the middle of a pause") {
  kept_bytes some(5);
  store_scrubber scrubber({{"ep_1", &some}}, {});
  REQUIRE(scrubber.start({.bytes_per_second = 1U << 30U, .between_rounds = 1us}).has_value());
  CHECK(eventually([&] { return scrubber.counts()[0].rounds >= 3; }));
  kept_bytes other(5);
  store_scrubber patient({{"ep_1", &other}}, {});
  REQUIRE(patient.start({.bytes_per_second = 1, .between_rounds = 1h}).has_value());
  CHECK(eventually([&] { return patient.counts()[0].rounds == 1; }));
}

TEST_CASE("a server whose store turns out to be damaged is not ready, and says so instead of answering") {
  const reference_project own;
  const auto& endpoint = own.declared.endpoints().front();
  const auto place = own.folder.path() / std::get<endpoint_entry::embedded_resolver>(endpoint.resolver).path;
  store_scrubber scrubber({{endpoint.endpoint_id, own.stores.front()}}, {});
  serve_world world({}, nullptr, {}, own.stores, &scrubber);
  const std::string_view request = R"({"user_id":1,"plan":"reels_plan_a"})";
  while (!scrubber.step().ends_round) {}
  CHECK(world.rank(request).status == 200);
  CHECK(world.ask("GET", "/readyz").status == 200);
  auto metrics = rankd::testing::read_metrics(world.ask("GET", "/metrics").body);
  CHECK(metrics.at(R"(rankd_store_scrub_rounds_total{endpoint="ep_0001"})") == 1);
  CHECK(metrics.at(R"(rankd_store_scrubbed_bytes_total{endpoint="ep_0001"})") > 0);
  CHECK(metrics.at(R"(rankd_store_damaged{endpoint="ep_0001"})") == 0);

  change_a_byte(data_file(place, 1));
  scrubber.step();
  const auto refused = world.rank(request);
  CHECK(refused.status == 502);
  const json error = json::parse(refused.body).at("error");
  CHECK(error.at("code") == "store_corrupt");
  CHECK(error.at("message").get<std::string>().find("data-1.mdb: block 0 (bytes 0 to ") != std::string::npos);
  CHECK(world.rank(R"({"user_id":1,"plan":"ten"})").status == 200);  // which asks no store
  const auto ready = world.ask("GET", "/readyz");
  CHECK(ready.status == 503);
  const json not_ready = json::parse(ready.body);
  CHECK(not_ready.at("error").at("code") == "store_corrupt");
  CHECK(not_ready.at("status") == "not_ready");
  REQUIRE(not_ready.at("checks").size() == 3);
  CHECK(not_ready.at("checks")[0].at("state") == "ok");
  CHECK(not_ready.at("checks")[1].at("state") == "failed");
  CHECK(not_ready.at("checks")[1].at("message") == not_ready.at("error").at("message"));
  CHECK(not_ready.at("checks")[2].at("name") == "plans");
  CHECK(world.ask("GET", "/healthz").status == 200);
  metrics = rankd::testing::read_metrics(world.ask("GET", "/metrics").body);
  CHECK(metrics.at(R"(rankd_store_damaged{endpoint="ep_0001"})") == 1);
}
