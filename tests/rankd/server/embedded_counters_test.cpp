// tests/rankd/server/embedded_counters_test.cpp: counts that a log and a snapshot make again, each event once.
#include <rankd/server/events/embedded_counters.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <tests/rankd/server/counted_project.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::eventually;
using braid::testing::scratch_folder;
using rankd::testing::counted_project;
using rankd::testing::embedded_place;

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

auto now() -> milliseconds {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

auto the_project() -> const counted_project& {
  static const counted_project one(embedded_place);
  return one;
}

/// What a server has of a folder: counters, and the log that writes to them.
class counting {
 public:
  milliseconds time = now();  // before what asks for it, also at the end

  explicit counting(const fs::path& folder, std::size_t max_bytes = 1U << 20U, std::uint64_t file_bytes = 64U << 20U)
      : folder_(folder), lines_(line_file::open(folder.parent_path() / "log").value()) {
    const serve_log log(*lines_, log_level::info);
    made_ = embedded_counters::make(*the_project().rules, *the_project().declared,
                                    {.folder = folder,
                                     .max_bytes = max_bytes,
                                     .between_snapshots = 1h,
                                     .now = [this] { return time; },
                                     .log = log});
    events_ = event_log::open({.folder = folder,
                               .max_bytes = file_bytes,
                               .on_written = [this](const std::vector<rule_step>& steps,
                                                    event_position after) { made_->add(steps, after); },
                               .on_end = [this] { made_->end(); },
                               .log = log})
                  .value();
    REQUIRE(made_->start().has_value());
  }

  void click(const std::string& id, std::int64_t item = 7) { send({.event_id = id, .type = "click", .item_id = item}); }
  void send(event what) {
    if (what.time == 0ms) what.time = time;
    CHECK(events_->add({std::move(what)}, *the_project().rules, time).get().result ==
          event_outcome::result_kind::written);
  }
  auto field(const std::string& key, std::string_view name) const -> std::string {
    braid::arena memory;
    return std::string(made_->find_values(0)->field(key, name, memory).value_or("absent"));
  }
  auto clicks(const std::string& item = "7") const -> std::string { return field("stats:" + item, "clicks"); }
  auto counters() -> embedded_counters& { return *made_; }
  /// All values, by key.
  auto all() const -> std::string {
    std::map<std::string, std::string> by_key;
    made_->find_values(0)->for_each([&](const std::string& key, const counted_value& value) {
      std::string& out = by_key[key];
      if (const auto* hash = std::get_if<counted_hash>(&value.data)) {
        for (const auto& [name, text] : hash->fields) out += " " + name + "=" + text;
        return;
      }
      for (std::size_t at = 0; at < value.count(); ++at) {
        out += " " + std::string(value.text_at(at));
        if (value.kind() == record_kind::sorted_set) out += "@" + std::to_string(value.score_at(at));
      }
    });
    std::string out;
    for (const auto& [key, text] : by_key) out += key + text + ";\n";
    return out;
  }

  /// What a kill at this moment leaves on the disk.
  void copy_to(const fs::path& place) const {
    fs::create_directories(place);
    fs::copy(folder_, place, fs::copy_options::recursive);
  }

 private:
  fs::path folder_;
  std::unique_ptr<line_file> lines_;
  std::unique_ptr<embedded_counters> made_;
  std::unique_ptr<event_log> events_;
};

/// Of the log beside a folder, whose writer may have ended.
auto has_logged(const fs::path& folder, std::string_view part) -> bool {
  return read_text_file(folder / "log").value_or("").find(part) != std::string::npos;
}

auto logs(const fs::path& folder, std::string_view part) -> bool {
  return eventually([&] { return has_logged(folder, part); });
}

}  // namespace

TEST_CASE("there are none where no counter is in an embedded store") {
  const counted_project redis("{ type = \"static\", host = \"127.0.0.1\", port = 1 }");
  CHECK(embedded_counters::make(*redis.rules, *redis.declared, {.folder = "none"}) == nullptr);
}

TEST_CASE("an event is counted when it is answered, and once, also after an orderly end") {
  const scratch_folder folder;
  {
    counting server(folder.path() / "events");
    server.click("a");
    CHECK(server.clicks() == "1");
    server.click("b");
    server.click("a");
    CHECK(server.clicks() == "2");
    CHECK(server.clicks("8") == "absent");
  }
  CHECK(fs::exists(folder.path() / "events" / counters_snapshot_file));
  counting again(folder.path() / "events");
  CHECK(again.clicks() == "2");
  CHECK(again.counters().counts().written == 0);  // the snapshot has them all
  again.click("b");
  again.click("c");
  CHECK(again.clicks() == "3");
}

TEST_CASE("a kill at any moment leaves each event counted once") {
  const scratch_folder folder;
  counting server(folder.path() / "events", 1U << 20U, 600);  // a new file after a few events
  for (int i = 1; i <= 12; ++i) {
    server.click("e" + std::to_string(i));
    if (i % 4 == 2) CHECK(server.counters().write_snapshot().has_value());
    const std::string name = "after" + std::to_string(i);
    server.copy_to(folder.path() / name / "events");
    const fs::path killed = folder.path() / name / "events";
    // The next event, of which a part was written, and a snapshot of which the same is true.
    const fs::path newest = event_files(killed).back();
    const std::string text = read_text_file(newest).value();
    folder.write(newest, text + R"({"event_id":"torn","type":"cl)");
    folder.write(killed / (std::string(counters_snapshot_file) + ".new"), "rankd coun");
    {
      counting again(killed);
      CHECK(again.clicks() == std::to_string(i));
      again.click("e" + std::to_string(i));
      CHECK(again.clicks() == std::to_string(i));
      again.click("torn");
      CHECK(again.clicks() == std::to_string(i + 1));
    }
    CHECK_FALSE(has_logged(folder.path() / name, "counters_"));
    CHECK(counting(killed).clicks() == std::to_string(i + 1));
  }
  CHECK(event_files(folder.path() / "events").size() > 2);
}

TEST_CASE("a kill at any moment leaves each event applied once by rules of all kinds") {
  const scratch_folder folder;
  counting server(folder.path() / "events", 1U << 20U, 600);  // a new file after a few events
  const auto send = [](counting& to, int number) {
    const std::string id = "e" + std::to_string(number);
    const std::int64_t item = number % 5;
    for (const char* type : {"seen", number % 3 == 0 ? "unblock" : "block", "rate"})
      to.send({.event_id = id + type,
               .type = type,
               .user_id = row_id(std::int64_t{1}),
               .item_id = row_id(item),
               .fields = {{"stars", scalar(static_cast<double>(number % 4))}}});
  };
  for (int i = 1; i <= 12; ++i) {
    server.time += 1s;
    send(server, i);
    if (i % 4 == 2) CHECK(server.counters().write_snapshot().has_value());
    const fs::path killed = folder.path() / ("after" + std::to_string(i)) / "events";
    server.copy_to(killed);
    counting again(killed);
    again.time = server.time;
    CHECK(again.all() == server.all());
    send(again, i);  // duplicates
    CHECK(again.all() == server.all());
  }
  const std::string all = server.all();
  for (const char* part : {"session:1 ", "viewed:1 ", "blocked:1 ", "seen:1 ", "rated:1 "})
    CHECK(all.find(part) != std::string::npos);
  CHECK(all.find("viewed:1 2 1 0;") != std::string::npos);  // a list shows what was applied twice
}

TEST_CASE("a snapshot that is damaged is counted again from the files that are there") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  { counting(events).click("a"); }
  const std::string whole = read_text_file(events / counters_snapshot_file).value();
  folder.write(events / counters_snapshot_file, whole.substr(0, whole.size() / 2));
  counting again(events);
  CHECK(again.clicks() == "1");
  CHECK(logs(folder.path(), "counters_recounted"));
  CHECK(logs(folder.path(), R"("message":"it is damaged","first":"events-000001.ndjson")"));
}

TEST_CASE("a snapshot that cannot be read stays, and nothing is counted in its place") {
  const scratch_folder folder;
  const fs::path snapshot = folder.path() / counters_snapshot_file;
  fs::create_directory(snapshot);
  const auto counters =
      embedded_counters::make(*the_project().rules, *the_project().declared, {.folder = folder.path(), .now = now});
  const auto started = counters->start();
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().front().code == "unreadable_file");
  CHECK(started.error().front().source == snapshot.string());
}

TEST_CASE("a snapshot of another log is not believed, and files that went before it are kept in mind") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  {
    counting server(events, 1U << 20U, 100);  // each event has a file
    server.click("a");
    server.click("b");
    server.click("c");
  }
  fs::remove(event_files(events).front());
  { CHECK(counting(events).clicks() == "3"); }
  CHECK_FALSE(has_logged(folder.path(), "counters_"));
  for (const fs::path& file : event_files(events)) fs::remove(file);
  counting again(events);
  CHECK(again.clicks() == "absent");
  CHECK(logs(folder.path(), "the snapshot counts events beyond the end of the log"));
}

TEST_CASE("a snapshot whose file of the log is gone goes on with the next one, and says so") {
  const scratch_folder folder;
  counting server(folder.path() / "events", 1U << 20U, 100);  // each event has a file
  server.click("a");
  server.click("b");
  CHECK(server.counters().write_snapshot().has_value());
  server.click("c");
  const fs::path events = folder.path() / "killed" / "events";
  server.copy_to(events);
  fs::remove(event_files(events)[1]);
  CHECK(counting(events).clicks() == "3");
  CHECK(logs(events.parent_path(), "counters_gap"));
  CHECK(logs(events.parent_path(), "events-000003.ndjson"));
}

TEST_CASE("a counter that is new counts no event of before an orderly end, also where none was counted then") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  const auto view = [](counting& in) { in.send({.event_id = "v", .type = "view", .item_id = 7}); };
  {
    counting server(events);
    server.click("a");
    view(server);
  }
  const counted_project more(embedded_place);
  const std::string rules = read_text_file(more.path() / events_file).value();
  more.write(std::string(events_file), rules +
                                           "[[counter]]\nname = \"views\"\nevent = \"view\"\nendpoint = \"ep_0001\"\n"
                                           "key = \"stats:{item_id}\"\n");
  const auto counted = event_rules::load(more.path(), *more.declared).value();
  const auto counters = embedded_counters::make(counted, *more.declared, {.folder = events});
  REQUIRE(counters->start().has_value());
  braid::arena memory;
  CHECK(counters->find_values(0)->field("stats:7", "clicks", memory) == "1");
  CHECK(counters->find_values(0)->field("stats:7", "views", memory) == std::nullopt);
}

TEST_CASE("a damaged line of the log does not count, and those after it do") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  {
    counting server(events);
    server.click("a");
    server.click("b");
    server.click("c");
  }
  fs::remove(events / counters_snapshot_file);
  const fs::path file = event_files(events).front();
  std::string text = read_text_file(file).value();
  text[text.find("\"b\"") + 1] = 'x';
  folder.write(file, text);
  counting again(events);
  CHECK(again.clicks() == "2");
  CHECK(logs(folder.path(), "counters_passed_over"));
}

TEST_CASE("an event that stands in the log twice counts once when counts are made again") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  { counting(events).click("a"); }
  fs::remove(events / counters_snapshot_file);
  const fs::path file = event_files(events).front();
  const std::string text = read_text_file(file).value();
  folder.write(file, text + text);
  CHECK(counting(events).clicks() == "1");
}

TEST_CASE("a window ends by the clock, and again the same when the log is counted again") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  const auto buy = [](counting& in, const std::string& id) {
    in.send({.event_id = id, .type = "purchase", .fields = {{"price", scalar(0.5)}}});
  };
  counting server(events);
  const milliseconds begin = server.time;
  buy(server, "a");
  server.time += 3'599s;
  buy(server, "b");
  CHECK(server.field("spent", "spent") == "1");
  server.time += 1s;
  CHECK(server.field("spent", "spent") == "absent");
  buy(server, "c");
  CHECK(server.field("spent", "spent") == "0.5");
  server.copy_to(folder.path() / "killed" / "events");
  counting again(folder.path() / "killed" / "events");
  again.time = begin + 7'199s;
  CHECK(again.field("spent", "spent") == "0.5");
  again.time = begin + 7'200s;
  CHECK(again.field("spent", "spent") == "absent");
  CHECK(again.counters().hashes() == 1);
  again.time += 2min;
  again.click("d");
  CHECK(again.counters().write_snapshot().has_value());  // which frees what has ended
  CHECK(again.counters().hashes() == 1);
}

TEST_CASE("a full memory refuses new hashes, says so, counts what is lost, and goes on where some have ended") {
  const scratch_folder folder;
  counting server(folder.path() / "events", 1'000);
  const auto play = [&server](const std::string& id, std::int64_t item) {
    server.send({.event_id = id, .type = "play", .item_id = item});
    return server.field("stats:" + std::to_string(item), "plays");
  };
  for (std::int64_t item = 0; item < 20; ++item) play("e" + std::to_string(item), item);
  const std::uint64_t written = server.counters().counts().written;
  CHECK((written > 1 && written < 10));
  CHECK(server.counters().counts().lost == 20 - written);
  CHECK(server.counters().bytes() <= 1'000);
  CHECK(play("more", 0) == "2");
  CHECK(play("other", 19) == "absent");
  CHECK(logs(folder.path(), "counters_full"));
  server.time += 600s;  // the end of all, which are free a minute later
  CHECK(play("early", 19) == "absent");
  server.time += 60s;
  CHECK(play("late", 19) == "1");
  CHECK(server.counters().hashes() == 1);
}

TEST_CASE("a snapshot that the disk does not take is reported, and no event counts less for it") {
  const scratch_folder folder;
  const fs::path events = folder.path() / "events";
  counting server(events);
  server.click("a");
  const fs::path fresh = events / (std::string(counters_snapshot_file) + ".new");
  fs::create_symlink("/dev/full", fresh);
  CHECK_FALSE(server.counters().write_snapshot().has_value());
  CHECK(server.counters().snapshots_failed() == 1);
  CHECK(logs(folder.path(), "counters_not_saved"));
  CHECK_FALSE(fs::is_symlink(fresh));  // half of a snapshot would take the room that the log needs
  CHECK(server.counters().write_snapshot().has_value());
  CHECK(server.clicks() == "1");
}
