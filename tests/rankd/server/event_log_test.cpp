// tests/rankd/server/event_log_test.cpp: events that reach the disk before they are reported, each once.
#include <rankd/server/events/event_log.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <braid/io/backend.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace std::chrono_literals;
using braid::testing::eventually;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;
using result_kind = event_outcome::result_kind;

const event_rules rules;

auto now() -> std::chrono::milliseconds {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

auto some(const std::vector<std::string>& ids) -> std::vector<event> {
  std::vector<event> out;
  for (const std::string& id : ids) out.push_back({.event_id = id, .type = "click", .time = 1ms});
  return out;
}

/// "accepted duplicates", or why there are none.
auto sent(event_log& log, const std::vector<std::string>& ids, std::chrono::milliseconds at = now()) -> std::string {
  const event_outcome out = log.add(some(ids), rules, at).get();
  if (out.result != result_kind::written) return out.result == result_kind::full ? "full" : "failed";
  return std::to_string(out.accepted) + " " + std::to_string(out.duplicates);
}

/// The ids in the files, in order; "?" for a line that is none.
auto ids_in(const fs::path& folder) -> std::string {
  std::string out;
  for (const fs::path& file : event_files(folder)) {
    const std::string text = read_text_file(file).value();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const auto line = checked_event_line(std::string_view(text).substr(at, end - at));
      out += line ? nlohmann::json::parse(*line).at("event_id").get<std::string>() + " " : "? ";
      at = end + 1;
    }
  }
  return out;
}

/// Lets syncs wait, and fail.
struct disk {
  auto sync(int /*file*/) -> int {
    ++begun;
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return !is_held; });
    return fails ? -1 : 0;
  }
  void release() {
    {
      const std::scoped_lock lock(mutex);
      is_held = false;
    }
    changed.notify_all();
  }

  std::atomic<int> begun{0};
  std::mutex mutex;
  std::condition_variable changed;
  bool is_held = false;
  std::atomic<bool> fails{false};
};

}  // namespace

TEST_CASE("an event is on the disk once, however often and whenever it comes within the window") {
  const scratch_folder folder;
  {
    const auto log = event_log::open({.folder = folder.path() / "a" / "events"}).value();
    CHECK(sent(*log, {"a", "b", "a"}) == "2 1");
    CHECK(sent(*log, {"b", "c"}) == "1 1");
    CHECK(sent(*log, {}) == "0 0");
    CHECK(log->counts().accepted == 3);
    CHECK(log->counts().duplicates == 2);
  }
  CHECK(ids_in(folder.path() / "a" / "events") == "a b c ");
  const auto log = event_log::open({.folder = folder.path() / "a" / "events"}).value();
  CHECK(sent(*log, {"c", "d"}) == "1 1");
  CHECK(ids_in(folder.path() / "a" / "events") == "a b c d ");
}

TEST_CASE("an id is forgotten after the window, and before it where there are too many") {
  const scratch_folder folder;
  const auto start = now();
  const auto log = event_log::open({.folder = folder.path(), .window = 1h, .max_ids = 3}).value();
  CHECK(sent(*log, {"a"}, start) == "1 0");
  CHECK(sent(*log, {"a"}, start + 59min) == "0 1");
  CHECK(sent(*log, {"a"}, start + 60min) == "1 0");
  CHECK(sent(*log, {"b", "c", "d"}, start + 61min) == "3 0");
  CHECK(sent(*log, {"a"}, start + 61min) == "1 0");
  CHECK(log->counts().forgotten == 1);
}

TEST_CASE("what comes while the disk is busy is one group, and nothing is reported before its sync") {
  const scratch_folder folder;
  disk slow;
  const auto log =
      event_log::open({.folder = folder.path(), .sync = [&slow](int file) { return slow.sync(file); }}).value();
  slow.begun = 0;
  slow.is_held = true;
  auto first = log->add(some({"first"}), rules, now());
  REQUIRE(eventually([&] { return slow.begun == 1; }));
  std::vector<braid::future<event_outcome>> later;
  for (int i = 0; i < 50; ++i) later.push_back(log->add(some({"e" + std::to_string(i)}), rules, now()));
  later.push_back(log->add(some({"first"}), rules, now()));
  CHECK_FALSE(first.is_ready());
  CHECK_FALSE(later.back().is_ready());
  slow.release();
  CHECK(first.get().accepted == 1);
  for (auto& each : later) CHECK(each.get().result == result_kind::written);
  CHECK(slow.begun == 2);
  CHECK(log->counts().syncs == 2);
}

TEST_CASE("events that the disk does not take are reported so, and may come again") {
  const scratch_folder folder;
  disk bad;
  {
    const auto log =
        event_log::open({.folder = folder.path(), .sync = [&bad](int file) { return bad.sync(file); }}).value();
    CHECK(sent(*log, {"a"}) == "1 0");
    bad.fails = true;
    CHECK(sent(*log, {"b"}) == "failed");
    bad.is_held = true;
    auto lost = log->add(some({"c"}), rules, now());
    REQUIRE(eventually([&] { return bad.begun == 5; }));
    auto same = log->add(some({"c"}), rules, now());
    bad.release();
    CHECK(lost.get().result == result_kind::failed);
    CHECK(same.get().result == result_kind::failed);
    bad.fails = false;
    CHECK(sent(*log, {"a", "b", "c"}) == "2 1");
    CHECK(log->counts().failed == 2);
  }
  CHECK(ids_in(folder.path()) == "a b c ");
}

TEST_CASE("the log says why the disk does not take events") {
  const scratch_folder folder;
  const fs::path lines = folder.path() / "log";
  const auto to = line_file::open(lines).value();
  std::atomic<bool> is_full{false};
  const auto sync = [&](int /*file*/) {
    errno = ENOSPC;
    return is_full ? -1 : 0;
  };
  const auto log =
      event_log::open({.folder = folder.path() / "events", .sync = sync, .log = serve_log(*to, log_level::info)})
          .value();
  CHECK(sent(*log, {"a"}) == "1 0");
  CHECK_FALSE(read_text_file(lines).value().contains("events_not_written"));
  is_full = true;
  CHECK(sent(*log, {"b"}) == "failed");
  CHECK(eventually([&] {
    const std::string text = read_text_file(lines).value();
    return text.contains(R"("level":"error","event":"events_not_written","folder":")") &&
           text.contains(R"("message":"No space left on device")");
  }));
}

TEST_CASE("nothing is written behind events that the disk neither took nor let be cut") {
  const scratch_folder folder;
  std::atomic<bool> fails{false};
  std::atomic<int> number{-1};
  braid::descriptor writable;
  // The file of the log becomes one that can only be read, until it is put back.
  const auto sync = [&](int file) {
    if (!fails) return 0;
    if (number.exchange(file) == -1) {
      writable = braid::descriptor(::dup(file));
      const braid::descriptor readable(::open(event_files(folder.path()).back().c_str(), O_RDONLY | O_CLOEXEC));
      ::dup2(readable.number(), file);
    }
    return -1;
  };
  {
    const auto log = event_log::open({.folder = folder.path(), .sync = sync}).value();
    CHECK(sent(*log, {"a"}) == "1 0");
    fails = true;
    CHECK(sent(*log, {"b"}) == "failed");
    fails = false;
    CHECK(ids_in(folder.path()) == "a b ");  // whole, and not to be cut yet
    CHECK(sent(*log, {"c"}) == "failed");
    REQUIRE(::dup2(writable.number(), number) == number);
    CHECK(sent(*log, {"d"}) == "1 0");
  }
  CHECK(ids_in(folder.path()) == "a d ");
  const auto log = event_log::open({.folder = folder.path()}).value();
  CHECK(sent(*log, {"a", "b"}) == "1 1");
}

TEST_CASE("too much that waits is refused as a whole") {
  const scratch_folder folder;
  const auto log = event_log::open({.folder = folder.path(), .max_waiting = 200}).value();
  CHECK(sent(*log, {"a", "b", "c"}) == "full");
  CHECK(sent(*log, {"a"}) == "1 0");
  CHECK(log->counts().refused == 3);
}

TEST_CASE("a log goes on in another file where one is full") {
  const scratch_folder folder;
  const auto log = event_log::open({.folder = folder.path(), .max_bytes = 1}).value();
  for (const char* id : {"a", "b", "c"}) CHECK(sent(*log, {id}) == "1 0");
  CHECK(event_files(folder.path()).size() == 3);
  CHECK(ids_in(folder.path()) == "a b c ");
  CHECK((fs::status(event_files(folder.path()).front()).permissions() & fs::perms::others_all) == fs::perms::none);
}

TEST_CASE("what a crash has left of a line is cut, wherever it was cut off") {
  const scratch_folder whole;
  {
    const auto log = event_log::open({.folder = whole.path()}).value();
    CHECK(sent(*log, {"a"}) == "1 0");
    CHECK(sent(*log, {"b"}) == "1 0");
  }
  const std::string text = read_text_file(event_files(whole.path()).front()).value();
  const std::size_t first = text.find('\n') + 1;
  for (std::size_t size = first; size < text.size(); ++size) {
    const scratch_folder folder;
    folder.write("events-000001.ndjson", text.substr(0, size));
    const auto log = event_log::open({.folder = folder.path()}).value();
    CHECK(ids_in(folder.path()) == "a ");
    CHECK(sent(*log, {"a", "b"}) == "1 1");
    CHECK(ids_in(folder.path()) == "a b ");
  }
  std::string changed = text;
  changed[first + 16] ^= 1;
  const scratch_folder folder;
  folder.write("events-000001.ndjson", changed);
  CHECK(sent(*event_log::open({.folder = folder.path()}).value(), {"c"}) == "1 0");
  CHECK(ids_in(folder.path()) == "a c ");
}

TEST_CASE("whole lines behind a damaged one stay, and the log goes on in another file and says it") {
  const scratch_folder whole;
  CHECK(sent(*event_log::open({.folder = whole.path()}).value(), {"a", "b", "c"}) == "3 0");
  const std::string text = read_text_file(event_files(whole.path()).front()).value();
  const std::size_t second = text.find('\n') + 1;
  for (const std::size_t line : {std::size_t{0}, second})
    for (const char* torn : {"", R"({"event_id":"torn)"}) {
      const bool is_first = line == 0;
      const scratch_folder folder;
      std::string changed = text;
      changed[line + 13] ^= 1;
      const fs::path file = folder.write("events-000007.ndjson", changed += torn);
      {
        const auto lines = line_file::open(folder.path() / "log").value();
        const auto log =
            event_log::open({.folder = folder.path(), .log = serve_log(*lines, log_level::warning)}).value();
        CHECK(sent(*log, {"a", "b", "c", "d"}) == "2 2");
        CHECK(sent(*log, {"a", "b", "c", "d"}) == "0 4");
      }
      CHECK(read_text_file(file).value() == changed);
      CHECK(event_files(folder.path()).back().filename() == "events-000008.ndjson");
      const std::string rest = *torn == '\0' ? "" : "? ";
      CHECK(ids_in(folder.path()) == (is_first ? "? b c " + rest + "a d " : "a ? c " + rest + "b d "));
      const std::string said = read_text_file(folder.path() / "log").value();
      CHECK(said.find("events_damaged") != std::string::npos);
      CHECK(said.find("events-000007.ndjson") != std::string::npos);
      CHECK(sent(*event_log::open({.folder = folder.path()}).value(), {"a", "b", "c", "d"}) == "0 4");
    }
}

TEST_CASE("what is cut from the end of a log is said") {
  const scratch_folder folder;
  folder.write("events-000001.ndjson", "torn");
  {
    const auto lines = line_file::open(folder.path() / "log").value();
    const auto log = event_log::open({.folder = folder.path(), .log = serve_log(*lines, log_level::warning)}).value();
    CHECK(sent(*log, {"a"}) == "1 0");
  }
  CHECK(ids_in(folder.path()) == "a ");
  const std::string said = read_text_file(folder.path() / "log").value();
  CHECK(said.find(R"("event":"events_cut")") != std::string::npos);
  CHECK(said.find(R"("bytes":4)") != std::string::npos);
}

TEST_CASE("one process writes to a folder, and one that cannot be made is an error") {
  const scratch_folder folder;
  const auto log = event_log::open({.folder = folder.path()}).value();
  const auto second = event_log::open({.folder = folder.path()});
  REQUIRE_FALSE(second);
  CHECK(second.error().front().code == "folder_in_use");
  const fs::path file = folder.write("file", "");
  const auto none = event_log::open({.folder = file});
  REQUIRE_FALSE(none);
  CHECK(none.error().front().code == "unwritable_file");
}

TEST_CASE("events fail while the folder, the lock or the file is gone, and no second process writes") {
  const scratch_folder folder;
  const fs::path place = folder.path() / "events";
  const fs::path lines = folder.path() / "log";
  const auto to = line_file::open(lines).value();
  const auto log = event_log::open({.folder = place, .log = serve_log(*to, log_level::info)}).value();
  CHECK(sent(*log, {"a"}) == "1 0");
  const auto said = [&](const std::string& event) {
    return eventually([&] { return read_text_file(lines).value().find("\"" + event + "\"") != std::string::npos; });
  };

  fs::rename(place, folder.path() / "moved");
  CHECK(sent(*log, {"b"}) == "failed");
  CHECK(said("events_misplaced"));
  fs::create_directory(place);
  CHECK(sent(*log, {"b"}) == "failed");  // another folder of that name is not the log
  fs::remove(place);
  fs::rename(folder.path() / "moved", place);
  CHECK(sent(*log, {"b"}) == "1 0");
  CHECK(said("events_back"));

  fs::remove(place / "lock");
  CHECK(sent(*log, {"c"}) == "failed");
  const auto second = event_log::open({.folder = place});
  REQUIRE(!second);
  CHECK(second.error().front().code == "folder_in_use");
  CHECK(sent(*log, {"c"}) == "failed");  // the second one has made a lock of its own
  CHECK(log->counts().failed == 4);
  CHECK(ids_in(place) == "a b ");
}

TEST_CASE("what is written while the lock is deleted is cut again, and not reported") {
  const scratch_folder folder;
  disk slow;
  const auto log =
      event_log::open({.folder = folder.path(), .sync = [&](int file) { return slow.sync(file); }}).value();
  CHECK(sent(*log, {"a"}) == "1 0");
  const int before = slow.begun;
  {
    const std::scoped_lock lock(slow.mutex);
    slow.is_held = true;
  }
  auto result = log->add(some({"b"}), rules, now());
  CHECK(eventually([&] { return slow.begun == before + 1; }));
  fs::remove(folder.path() / "lock");
  slow.release();
  CHECK(result.get().result == result_kind::failed);
  CHECK(ids_in(folder.path()) == "a ");
  CHECK(sent(*log, {"b"}) == "failed");
}

TEST_CASE("what events add to counters is known once they are on the disk, and not for those that are there") {
  const scratch_folder folder;
  folder.write(counters_file, "[[counter]]\nname = \"c\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"k\"\n");
  const auto declared = registries::load("registry", "dev").value();
  const auto counted = event_rules::load(folder.path(), declared).value();
  std::atomic<std::size_t> steps{0};
  event_position after;
  std::size_t ends = 0;
  disk bad;
  auto log = event_log::open({.folder = folder.path() / "log",
                              .on_written =
                                  [&](const std::vector<rule_step>& more, event_position place) {
                                    steps += more.size();
                                    after = place;
                                  },
                              .on_end = [&] { ++ends; },
                              .sync = [&bad](int file) { return bad.sync(file); }})
                 .value();
  CHECK(log->add(some({"a", "b", "a"}), counted, now()).get().accepted == 2);
  CHECK(steps == 2);
  const fs::path file = event_files(folder.path() / "log").front();
  CHECK(after == event_position{.file = 1, .bytes = fs::file_size(file)});
  CHECK_FALSE(event_log::open({.folder = folder.path() / "log", .on_end = [&] { ++ends; }}).has_value());
  CHECK(ends == 0);  // the folder belongs to the other one
  bad.fails = true;
  CHECK(log->add(some({"c"}), counted, now()).get().result == result_kind::failed);
  CHECK(steps == 2);
  log.reset();
  CHECK(ends == 1);
}
