// tests/rankd/server/record_writer_test.cpp: calls that change records: all or nothing, once for each id, and together.
#include <rankd/server/records/record_writer.hpp>

#include <rankd/server/records/record_call.hpp>
#include <rankd/store/dump.hpp>
#include <rankd/store/embedded.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::scratch_folder;
using kind = record_outcome::result_kind;

namespace {

namespace fs = std::filesystem;

/// A store with a hash and a list, and a writer whose clock the test sets.
struct writing_world {
  scratch_folder folder;
  fs::path place = folder.path() / "store";
  std::unique_ptr<followed_store> store;
  std::chrono::milliseconds now{1'000'000'000'000};
  int served = 0;
  std::optional<record_writer> writer;

  writing_world() {
    const std::vector<fs::path> files = {folder.write("data.ndjson", R"({"hash":"item:1","fields":{"a":"1","b":"2"}}
{"list":"list:1","values":[1,2]}
)")};
    REQUIRE(load_store(place, files, {}).has_value());
    store = followed_store::open(place, "db").value();
    begin();
  }
  /// Begins anew, as another process over the same folder.
  void begin() {
    writer.emplace(
        *store, vector_lengths(),
        [this] {
          ++served;
          REQUIRE(store->refresh().has_value());
        },
        [this] { return now; });
  }

  auto apply(std::string_view lines, std::string_view id = {}) -> record_outcome { return writer->apply(id, lines); }
  /// All records, as lines.
  [[nodiscard]] auto contents() const -> std::string {
    const auto opened = embedded_store::open(place).value();
    const auto snapshot = opened.take_snapshot().value();
    auto cursor = snapshot.walk().value();
    std::string out;
    for (auto entry = cursor.next(); entry.value(); entry = cursor.next())
      append_record(out, (*entry)->key, (*entry)->record);
    return out;
  }
};

auto code_of(const record_outcome& outcome) -> std::string {
  return outcome.problems.empty() ? "none" : outcome.problems.front().code;
}

}  // namespace

TEST_CASE("a call sets and deletes, and the server answers from it before the call ends") {
  writing_world world;
  const record_outcome done = world.apply(R"({"hash":"item:2","fields":{"a":"9"}}

{"delete":"item:1","fields":["b"]}
{"delete":"list:1"}
)");
  CHECK(done.result == kind::written);
  CHECK(done.generation == 2);
  CHECK(done.records == 1);
  CHECK(done.deletions == 2);
  CHECK(world.served == 1);
  CHECK(world.store->generation() == 2);
  CHECK(world.contents() == R"({"hash":"item:1","fields":{"a":"1"}}
{"hash":"item:2","fields":{"a":"9"}}
)");
  CHECK(world.writer->counts().written == 1);
}

TEST_CASE("a call with a wrong line changes nothing, and says everything that is wrong") {
  writing_world world;
  const std::string before = world.contents();
  const record_outcome wrong = world.apply("{\"delete\":\"item:1\"}\n{\"hash\":7,\"fields\":{}}\nnonsense\n");
  CHECK(wrong.result == kind::refused);
  REQUIRE(wrong.problems.size() == 2);
  CHECK(wrong.problems.front().message == "line 2: expected a string, got an integer");
  CHECK(wrong.problems.front().pointer == "/hash");
  CHECK(code_of(world.apply("{\"delete\":\"a\"}\n{\"delete\":\"a\"}\n")) == "duplicate_key");
  CHECK(code_of(world.apply("\n \n")) == "empty_body");
  CHECK(code_of(world.apply("")) == "empty_body");
  const record_outcome of_list = world.apply("{\"delete\":\"item:1\"}\n{\"delete\":\"list:1\",\"fields\":[\"a\"]}\n");
  CHECK(of_list.result == kind::refused);
  CHECK(code_of(of_list) == "not_a_hash");
  CHECK(of_list.problems.front().message.starts_with("line 2: the key `list:1` is not a hash"));
  std::string many;
  for (int line = 0; line < 200; ++line) many += "nonsense\n";
  CHECK(world.apply(many).problems.size() == max_load_diagnostics + 1);
  CHECK(world.contents() == before);
  CHECK(world.served == 0);
  CHECK(read_manifest(world.place)->generation == 1);
  CHECK(world.writer->counts().refused == 6);
}

TEST_CASE("a call with an id counts once, also for another process, until a day has passed") {
  writing_world world;
  const std::string_view lines = "{\"hash\":\"item:2\",\"fields\":{\"a\":\"9\"}}\n";
  CHECK(world.apply(lines, "one").result == kind::written);
  CHECK(world.apply("{\"delete\":\"item:2\"}\n", "two").result == kind::written);
  const std::string after = world.contents();
  world.begin();
  const record_outcome again = world.apply(lines, "one");
  CHECK(again.result == kind::repeated);
  CHECK(again.generation == 2);
  CHECK(again.records == 1);
  CHECK(world.apply("{\"delete\":\"item:1\"}\n", "one").result == kind::reused);
  CHECK(world.contents() == after);
  CHECK(world.writer->counts().repeated == 1);
  world.now += record_writer::id_window - std::chrono::milliseconds(1);
  CHECK(world.apply(lines, "one").result == kind::repeated);
  world.now += std::chrono::milliseconds(1);
  CHECK(world.apply(lines, "one").result == kind::written);
  CHECK(world.contents() != after);
}

TEST_CASE("a load keeps the ids of calls") {
  writing_world world;
  const std::string_view lines = "{\"hash\":\"item:2\",\"fields\":{\"a\":\"9\"}}\n";
  CHECK(world.apply(lines, "one").result == kind::written);
  const std::vector<fs::path> files = {world.folder.write("more.ndjson", "{\"delete\":\"item:2\"}\n")};
  REQUIRE(load_store(world.place, files, {}).has_value());
  CHECK(world.apply(lines, "one").result == kind::repeated);
}

TEST_CASE("a store that cannot be written fails the call, which may be sent again") {
  writing_world world;
  const fs::path aside = world.folder.path() / "aside";
  fs::rename(world.place, aside);
  const record_outcome failed = world.apply("{\"delete\":\"item:1\"}\n", "one");
  CHECK(failed.result == kind::failed);
  CHECK(code_of(failed) == "store_missing");
  CHECK_FALSE(fs::exists(world.place));
  fs::rename(aside, world.place);
  CHECK(world.apply("{\"delete\":\"item:1\"}\n", "one").result == kind::written);
  CHECK(world.writer->counts().failed == 1);
}

TEST_CASE("a call whose generation this process cannot open is not served, until it comes again and can be") {
  writing_world world;
  const std::string_view lines = "{\"hash\":\"item:2\",\"fields\":{\"a\":\"9\"}}\n";
  int looks = 0;
  record_writer blind(*world.store, vector_lengths(), [&looks] { ++looks; });
  for (int time = 0; time < 2; ++time) {
    const record_outcome outcome = blind.apply("one", lines);
    CHECK(outcome.result == kind::unserved);
    CHECK(outcome.generation == 2);
  }
  CHECK(looks == 2);
  CHECK(blind.counts().failed == 2);
  CHECK(world.contents().find("item:2") != std::string::npos);
  CHECK(blind.apply("one", "{\"delete\":\"item:1\"}\n").result == kind::reused);
  CHECK(world.apply(lines, "one").result == kind::repeated);
  CHECK(world.store->generation() == 2);
  CHECK(blind.apply("one", lines).result == kind::repeated);
  CHECK(looks == 2);
}

TEST_CASE("calls that wait become one generation, in the order in which they came, and fail each for itself") {
  writing_world world;
  const std::vector<std::pair<std::string, std::string>> calls{
      {R"({"hash":"item:3","fields":{"a":"1","b":"2"}}
{"delete":"item:1","fields":["a"]}
{"list":"list:2","values":[7]}
{"hash":"item:4","fields":{"a":"1"}}
)",
       "x"},
      {R"({"delete":"item:3","fields":["b"]}
{"delete":"item:1","fields":["b"]}
{"delete":"item:4","fields":["a"]}
{"delete":"list:1"}
)",
       "y"},
      {"{\"delete\":\"item:3\"}\n{\"delete\":\"list:2\",\"fields\":[\"a\"]}\n", "z"},
      {"{\"set\":\"list:1\",\"members\":[\"new\"]}\n{\"delete\":\"item:4\",\"fields\":[\"b\"]}\n", ""},
      {"{\"delete\":\"list:1\",\"fields\":[\"a\"]}\n", ""},
      {"{\"delete\":\"absent\"}\n", "x"},
  };
  std::vector<record_outcome> outcomes(calls.size());
  std::vector<std::thread> callers;
  std::optional<record_writer> writer;
  // While the first call is written, the others come one after another.
  const auto let_others_wait = [&] {
    REQUIRE(world.store->refresh().has_value());
    if (!callers.empty()) return;
    for (std::size_t at = 0; at < calls.size(); ++at) {
      callers.emplace_back([&, at] { outcomes[at] = writer->apply(calls[at].second, calls[at].first); });
      while (writer->waiting() <= at) std::this_thread::yield();
    }
  };
  writer.emplace(*world.store, vector_lengths(), let_others_wait);
  CHECK(writer->apply({}, "{\"string\":\"first\",\"value\":\"1\"}\n").generation == 2);
  for (std::thread& each : callers) each.join();

  std::vector<kind> results;
  for (const record_outcome& each : outcomes) results.push_back(each.result);
  CHECK((results ==
         std::vector{kind::written, kind::written, kind::refused, kind::written, kind::refused, kind::reused}));
  for (const std::size_t at : {0, 1, 3}) CHECK(outcomes[at].generation == 3);
  for (const std::size_t at : {2, 4}) CHECK(code_of(outcomes[at]) == "not_a_hash");
  CHECK(world.store->generation() == 3);
  CHECK(world.contents() == R"({"string":"first","value":"1"}
{"hash":"item:3","fields":{"a":"1"}}
{"set":"list:1","members":["new"]}
{"list":"list:2","values":[7]}
)");
}
