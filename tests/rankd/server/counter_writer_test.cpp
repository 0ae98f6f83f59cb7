// tests/rankd/server/counter_writer_test.cpp: counters of events in a real Redis, and without one.
#include <rankd/server/counter_writer.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/line_file.hpp>
#include <rankd/store/redis_store.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/redis_server.hpp>
#include <tests/support/run_on_loop.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/base/arena.hpp>
#include <braid/net/redis_connection.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::redis_server;
using braid::testing::run_on_loop;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

/// Registries of which ep_0001 is Redis at a port, with counters of clicks, of prices, and of pieces, which are whole.
class counted_project {
 public:
  explicit counted_project(const std::string& resolver) {
    for (const auto& each : fs::directory_iterator("registry"))
      if (each.path().extension() == ".toml") fs::copy(each.path(), folder_.path() / each.path().filename());
    fs::remove(folder_.path() / "endpoints.prod.toml");
    fs::remove(folder_.path() / "endpoints.test.toml");
    folder_.write("endpoints.dev.toml",
                  "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"redis_default\"\nkind = \"redis\"\n"
                  "resolver = " +
                      resolver +
                      "\npolicy = { max_inflight = 64, connect_timeout_ms = 20000, "
                      "request_timeout_ms = 20000, connections = 1 }\n");
    more_of("keys.toml",
            "[[key]]\nkey_id = 8001\nname = \"plays\"\ntype = \"float\"\nnullable = true\n"
            "[[key]]\nkey_id = 8002\nname = \"plays_at\"\ntype = \"int\"\nnullable = true\n");
    more_of("params.toml",
            "[[param]]\nparam_id = 8001\nname = \"now_ms\"\ntype = \"int\"\nnullable = false\n"
            "source = \"context\"\nclock = \"milliseconds\"\n");
    folder_.write(
        counters_file,
        "[[counter]]\nname = \"clicks\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n"
        "[[counter]]\nname = \"spent\"\nevent = \"purchase\"\nendpoint = \"ep_0001\"\nkey = \"spent\"\n"
        "by = \"price\"\nwindow_s = 3600\n"
        "[[counter]]\nname = \"pieces\"\nevent = \"order\"\nendpoint = \"ep_0001\"\nkey = \"orders\"\n"
        "by = \"count\"\n"
        "[[counter]]\nname = \"plays\"\nevent = \"play\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n"
        "half_life_s = 10\nidle_s = 600\n"
        "[[event]]\nname = \"play\"\n"
        "[[event]]\nname = \"click\"\n[[event]]\nname = \"purchase\"\n"
        "[[event]]\nname = \"order\"\nfields = { count = \"int\" }\n");
    declared = std::make_unique<registries>(registries::load(folder_.path(), "dev").value());
    rules = std::make_unique<event_rules>(event_rules::load(folder_.path(), *declared).value());
  }

  [[nodiscard]] auto path() const -> const fs::path& { return folder_.path(); }

  std::unique_ptr<registries> declared;
  std::unique_ptr<event_rules> rules;

 private:
  void more_of(const std::string& file, const std::string& lines) const {
    folder_.write(file, read_text_file(folder_.path() / file).value() + lines);
  }

  scratch_folder folder_;
};

auto at_port(const redis_server& server) -> std::string {
  return "{ type = \"static\", host = \"127.0.0.1\", port = " + std::to_string(server.port()) + " }";
}

/// The reply to a command as text.
auto ask(const redis_server& server, std::vector<std::string_view> words) -> std::string {
  std::string out;
  run_on_loop([&](braid::loop& io) -> braid::task<void> {
    braid::redis_options options;
    options.port = server.port();
    options.request_timeout = options.connect_timeout = std::chrono::seconds(20);
    braid::redis_connection redis(io, options);
    braid::arena memory;
    const auto reply = co_await redis.command(words, memory);
    if (reply)
      out = reply->type() == braid::resp_type::integer ? std::to_string(reply->integer()) : std::string(reply->text());
  });
  return out;
}

auto step(std::size_t counter, std::string key, scalar by) -> counter_step {
  return {.counter = counter, .key = std::move(key), .by = std::move(by)};
}

/// A play of item 7 so many seconds after a time of about now.
auto play(int seconds, scalar by = std::int64_t{1}) -> counter_step {
  return {.counter = 3,
          .key = "stats:7",
          .by = std::move(by),
          .at = std::chrono::milliseconds(1'795'000'000'000) + std::chrono::seconds(seconds)};
}

}  // namespace

TEST_CASE("counters are added up in hashes, and those of a window end") {
  const redis_server server;
  const counted_project project(at_port(server));
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  writer->add({step(0, "stats:7", std::int64_t{1}), step(0, "stats:7", std::int64_t{1}), step(1, "spent", 0.5)});
  writer->add({step(1, "spent", 2.25)});
  CHECK(eventually([&] { return writer->counts().written == 4; }));
  CHECK(ask(server, {"HGET", "stats:7", "clicks"}) == "2");
  CHECK(ask(server, {"TTL", "stats:7"}) == "-1");
  CHECK(ask(server, {"HGET", "spent", "spent"}) == "2.75");
  const int left = std::stoi(ask(server, {"TTL", "spent"}));
  CHECK((left > 3000 && left <= 3600));
}

TEST_CASE("whole amounts and fractions are added to one field") {
  const redis_server server;
  const counted_project project(at_port(server));
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  writer->add({step(1, "spent", 19.75), step(1, "spent", std::int64_t{20}), step(1, "spent", 0.5)});
  writer->add({step(1, "whole", std::int64_t{20}), step(2, "orders", std::int64_t{3})});
  CHECK(eventually([&] { return writer->counts().written + writer->counts().lost == 5; }));
  CHECK(writer->counts().lost == 0);
  CHECK(ask(server, {"HGET", "spent", "spent"}) == "40.25");
  CHECK(ask(server, {"HGET", "whole", "spent"}) == "20");
  CHECK(ask(server, {"HGET", "orders", "pieces"}) == "3");
  const std::string calls = ask(server, {"INFO", "commandstats"});
  CHECK(calls.find("cmdstat_hincrby:calls=1,") != std::string::npos);
  CHECK(calls.find("cmdstat_hincrbyfloat:calls=4,") != std::string::npos);
}

TEST_CASE("what was counted with a half-life fades, whichever event comes first") {
  const redis_server server;
  const counted_project project(at_port(server));
  const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
  const auto after = [&](std::vector<counter_step> steps) {
    const std::uint64_t before = writer->counts().written + writer->counts().lost;
    const std::size_t more = steps.size();
    writer->add(std::move(steps));
    CHECK(eventually([&] { return writer->counts().written + writer->counts().lost == before + more; }));
    return ask(server, {"HGET", "stats:7", "plays"}) + " at " + ask(server, {"HGET", "stats:7", "plays_at"});
  };
  CHECK(after({play(0)}) == "1 at 1795000000000");
  CHECK(after({play(10)}) == "1.5 at 1795000010000");
  CHECK(after({play(30)}) == "1.375 at 1795000030000");
  CHECK(after({play(20)}) == "1.875 at 1795000030000");  // late by a half-life
  CHECK(after({play(30, 0.125), play(30, std::int64_t{-1})}) == "1 at 1795000030000");
  CHECK(after({play(1'000'000)}) == "1 at 1796000000000");  // what was long ago is nothing
  CHECK(writer->counts().lost == 0);

  // The same events in another order, exactly.
  CHECK(ask(server, {"DEL", "stats:7"}) == "1");
  CHECK(after({play(30), play(20), play(0), play(10)}) == "1.875 at 1795000030000");
  const int left = std::stoi(ask(server, {"TTL", "stats:7"}));
  CHECK((left > 500 && left <= 600));

  // A counter of before, and what is none.
  CHECK(ask(server, {"HDEL", "stats:7", "plays_at"}) == "1");
  CHECK(ask(server, {"HSET", "stats:7", "plays", "40"}) == "0");
  CHECK(after({play(50)}) == "41 at 1795000050000");
  CHECK(ask(server, {"HSET", "stats:7", "plays", "many"}) == "0");
  CHECK(after({play(60)}) == "many at 1795000050000");
  CHECK(ask(server, {"HSET", "stats:7", "plays", "1e308"}) == "0");
  CHECK(after({play(50, 1.7e308)}) == "1e308 at 1795000050000");
  CHECK(writer->counts().lost == 2);
}

TEST_CASE("a plan reads what has faded until its request, by the time that this gives") {
  const redis_server server;
  counted_project project(at_port(server));
  {
    const auto writer = counter_writer::start(*project.rules, *project.declared, {}).value();
    writer->add({play(0), play(10)});
    CHECK(eventually([&] { return writer->counts().written == 2; }));
  }
  braid::redis_options at;
  at.port = server.port();
  redis_store from({.endpoint_id = "ep_0001", .server = at});
  rankd::testing::engine_world in(*project.declared, {&from}, 1);
  // plays * 2 ^ ((plays_at - now) / 10000)
  const bound_plan& plan = in.bind(rankd::testing::artifact_of(
      R"({"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[]}},)" +
          rankd::testing::node("h", "core::hash", "c",
                               R"({"endpoint":"ep_0001","key":"stats:{id}","keys":[8001,8002]})") +
          "," + rankd::testing::node("s", "core::vm", "h", R"({"out_key":2001,"expr_id":"e"})"),
      R"("s")",
      R"("capabilities_required":["cap.rfc.0001.arithmetic.v1"],"expr_table":{"e":{"op":"coalesce","a":{"op":"mul",)"
      R"("a":{"op":"key_ref","key_id":8001},"b":{"op":"pow","a":{"op":"const_number","value":2},)"
      R"("b":{"op":"div","a":{"op":"sub","a":{"op":"key_ref","key_id":8002},"b":{"op":"param_ref","param_id":8001}},)"
      R"("b":{"op":"const_number","value":10000}}}},"b":{"op":"const_number","value":0}}},)"));
  const auto score_at = [&](std::string_view now) {
    const ranking answer =
        in.rank(plan, R"({"candidates":[{"id":7},{"id":8}],"output_keys":["final_score"],"context":{"now_ms":)" +
                          std::string(now) + "}}");
    return to_json(answer);
  };
  CHECK(
      score_at("1795000010000").find(R"({"id":7,"fields":{"final_score":1.5}},{"id":8,"fields":{"final_score":0}})") !=
      std::string::npos);
  CHECK(score_at("1795000030000").find(R"("final_score":0.375})") != std::string::npos);
}

TEST_CASE("what Redis refuses is lost, counted and logged, and does not hold up others") {
  const redis_server server;
  const counted_project project(at_port(server));
  CHECK(ask(server, {"SET", "stats:7", "no hash"}) == "OK");
  {
    const auto lines = line_file::open(project.path() / "log").value();
    const auto writer =
        counter_writer::start(*project.rules, *project.declared, serve_log(*lines, log_level::info)).value();
    writer->add({step(0, "stats:7", std::int64_t{1}), step(0, "stats:8", std::int64_t{1})});
    CHECK(eventually([&] { return writer->counts().lost == 1 && writer->counts().written == 1; }));
  }
  CHECK(ask(server, {"HGET", "stats:8", "clicks"}) == "1");
  const std::string log = read_text_file(project.path() / "log").value();
  CHECK(log.find("counters_failed") != std::string::npos);
  CHECK(log.find("WRONGTYPE") != std::string::npos);
}

TEST_CASE("too many additions that wait are lost, and an embedded store takes none") {
  const counted_project nowhere("{ type = \"static\", host = \"127.0.0.1\", port = 1 }");
  const auto writer = counter_writer::start(*nowhere.rules, *nowhere.declared, {}).value();
  writer->add(std::vector<counter_step>(counter_writer::max_waiting + 1, step(0, "k", std::int64_t{1})));
  CHECK(writer->counts().lost >= counter_writer::max_waiting + 1);
  const counted_project embedded("{ type = \"embedded\", path = \"store\" }");
  const auto refused = counter_writer::start(*embedded.rules, *embedded.declared, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "embedded_counter");
}
