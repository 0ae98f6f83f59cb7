// tests/rankd/server/counter_writer_test.cpp: counters of events in a real Redis, and without one.
#include <rankd/server/counter_writer.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/line_file.hpp>
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
    folder_.write(
        counters_file,
        "[[counter]]\nname = \"clicks\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n"
        "[[counter]]\nname = \"spent\"\nevent = \"purchase\"\nendpoint = \"ep_0001\"\nkey = \"spent\"\n"
        "by = \"price\"\nwindow_s = 3600\n"
        "[[counter]]\nname = \"pieces\"\nevent = \"order\"\nendpoint = \"ep_0001\"\nkey = \"orders\"\n"
        "by = \"count\"\n"
        "[[event]]\nname = \"click\"\n[[event]]\nname = \"purchase\"\n"
        "[[event]]\nname = \"order\"\nfields = { count = \"int\" }\n");
    declared = std::make_unique<registries>(registries::load(folder_.path(), "dev").value());
    rules = std::make_unique<event_rules>(event_rules::load(folder_.path(), *declared).value());
  }

  [[nodiscard]] auto path() const -> const fs::path& { return folder_.path(); }

  std::unique_ptr<registries> declared;
  std::unique_ptr<event_rules> rules;

 private:
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
