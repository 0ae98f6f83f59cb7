// tests/rankd/store/load_store_test.cpp: a load is all or nothing, whatever the data says and whenever it is killed.
#include <rankd/store/load_store.hpp>

#include <rankd/store/embedded.hpp>
#include <rankd/store/record_parser.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/umask.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <doctest/doctest.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

using table = std::map<std::string, std::string>;

auto text_of(const record_view& record) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < record.count(); ++i) {
    if (record.kind() == record_kind::hash)
      text += std::string(record.field_at(i).name) + "=" + std::string(record.field_at(i).value) + ";";
    else
      text +=
          (record.kind() == record_kind::id_list ? std::to_string(record.id_at(i)) : std::string(record.text_at(i))) +
          ",";
  }
  return text;
}

/// All that a store holds, as text.
auto contents(const fs::path& folder) -> table {
  const auto store = embedded_store::open(folder);
  REQUIRE(store.has_value());
  const auto snapshot = store->take_snapshot();
  REQUIRE(snapshot.has_value());
  auto cursor = snapshot->walk();
  REQUIRE(cursor.has_value());
  table all;
  for (auto entry = cursor->next(); entry.value(); entry = cursor->next())
    all.emplace((*entry)->key, text_of((*entry)->record));
  return all;
}

auto files_in(const fs::path& folder) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& item : fs::directory_iterator(folder)) names.push_back(item.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A scratch folder with data files and a store.
struct workplace {
  scratch_folder folder;
  fs::path store = folder.path() / "store";

  auto load(std::string_view text, const load_options& options = {}) const -> braid::checked<load_report> {
    const std::vector<fs::path> files = {folder.write("data.ndjson", text)};
    return load_store(store, files, options);
  }
};

auto codes_of(const braid::checked<load_report>& report) -> std::vector<std::string> {
  REQUIRE_FALSE(report.has_value());
  std::vector<std::string> codes;
  for (const auto& item : report.error()) codes.push_back(item.code);
  return codes;
}

/// A disk that this process alone sees. False where the system does not let this user have one.
auto mount_small_disk(const fs::path& folder) -> bool {
  const std::string user = "0 " + std::to_string(::getuid()) + " 1";
  const std::string group = "0 " + std::to_string(::getgid()) + " 1";
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user;
    std::ofstream("/proc/self/gid_map") << group;
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=300k") == 0;
}

constexpr std::string_view first_data = R"({"hash":"user:1","fields":{"title":"One","country":"US"}}
{"list":"follow:1","values":[2,3]}

{"list":"follow:2","values":["x",3]}
)";
const table first_table = {{"follow:1", "2,3,"}, {"follow:2", "x,3,"}, {"user:1", "country=US;title=One;"}};

/// Enough records for several pieces of progress and several pages.
auto big_data(std::string_view value, int records) -> std::string {
  std::string text;
  for (int i = 0; i < records; ++i)
    text +=
        R"({"hash":"user:)" + std::to_string(i) + R"(","fields":{"title":")" + std::string(2'000, value[0]) + "\"}}\n";
  return text;
}

constexpr std::size_t small_save = 900'000;

/// A load that is killed once a piece of its data is saved and more has been read.
void kill_behind_first_piece(const fs::path& store, const std::vector<fs::path>& files) {
  const auto end = braid::testing::run_in_child([&] {
    load_options options{.save_bytes = small_save};
    options.progress = [](const load_progress& now) {
      if (now.bytes_done > 0) ::raise(SIGKILL);
    };
    static_cast<void>(load_store(store, files, options));
  });
  REQUIRE(end.signal == SIGKILL);
}

}  // namespace

TEST_CASE("what was loaded is there, and nothing else") {
  const workplace work;
  const auto report = work.load(first_data);
  REQUIRE(report.has_value());
  CHECK(report->records == 3);
  CHECK(report->kept == 0);
  CHECK(report->generation == 1);
  CHECK(contents(work.store) == first_table);
  CHECK(files_in(work.store) == std::vector<std::string>{"data-1.mdb", "data-1.sums", "rankd-store"});
}

TEST_CASE("the files of a store are for their owner and group at most, or as the umask says") {
  for (const auto& [mask, mode] : {std::pair<::mode_t, ::mode_t>{0, 0640}, {0022, 0640}, {0077, 0600}}) {
    const workplace work;
    const braid::testing::umask_for made_under(mask);
    REQUIRE(work.load(first_data).has_value());
    for (const std::string& name : files_in(work.store)) CHECK(braid::testing::mode_of(work.store / name) == mode);
  }
}

TEST_CASE("a merge keeps what the files do not name and replaces what they name") {
  const workplace work;
  REQUIRE(work.load(first_data).has_value());
  const auto report = work.load("{\"list\":\"follow:1\",\"values\":[]}\n{\"hash\":\"user:9\",\"fields\":{}}");
  REQUIRE(report.has_value());
  CHECK(report->records == 2);
  CHECK(report->kept == 2);
  CHECK(report->generation == 2);
  table expected = first_table;
  expected["follow:1"] = "";
  expected["user:9"] = "";
  CHECK(contents(work.store) == expected);
  CHECK(files_in(work.store) == std::vector<std::string>{"data-2.mdb", "data-2.sums", "rankd-store"});
}

TEST_CASE("a key may change from a list to a hash between loads") {
  const workplace work;
  REQUIRE(work.load(first_data).has_value());
  REQUIRE(work.load(R"({"hash":"follow:1","fields":{"a":"b"}})").has_value());
  CHECK(contents(work.store).at("follow:1") == "a=b;");
}

TEST_CASE("a replacement keeps nothing") {
  const workplace work;
  REQUIRE(work.load(first_data).has_value());
  REQUIRE(work.load(R"({"list":"a","values":[1]})", {.mode = load_mode::replace}).has_value());
  CHECK(contents(work.store) == table{{"a", "1,"}});
}

TEST_CASE("a replacement repairs a store whose data was cut short, a merge refuses") {
  const workplace work;
  REQUIRE(work.load(first_data).has_value());
  fs::resize_file(work.store / "data-1.mdb", 100);
  CHECK(codes_of(work.load(first_data)) == std::vector<std::string>{"store_truncated"});
  REQUIRE(work.load(first_data, {.mode = load_mode::replace}).has_value());
  CHECK(contents(work.store) == first_table);
}

TEST_CASE("a load that is refused once all records were seen leaves the store as it was") {
  const workplace work;
  REQUIRE(work.load(first_data).has_value());
  std::size_t seen = 0;
  load_options options{.first_map_bytes = 1,  // so that lines are read more than once
                       .seen = [&](std::string_view, const record_view&) { ++seen; },
                       .refused = [] { return braid::diagnostics(line_diagnostic(1, "no", "", "it is refused", "")); }};
  CHECK(codes_of(work.load("{\"list\":\"z\",\"values\":[1]}\n", options)) == std::vector<std::string>{"no"});
  const std::size_t records = seen;
  CHECK(records > 0);
  CHECK(contents(work.store) == first_table);
  CHECK(files_in(work.store) == std::vector<std::string>{"data-1.mdb", "data-1.sums", "rankd-store"});
  options.refused = [] { return braid::diagnostics(); };
  CHECK(work.load("{\"list\":\"z\",\"values\":[1]}\n", options).has_value());
}

TEST_CASE("a load of no data makes an empty store") {
  const workplace work;
  REQUIRE(work.load("").has_value());
  CHECK(contents(work.store).empty());
  REQUIRE(load_store(work.store, {}, {}).has_value());
  CHECK(contents(work.store).empty());
}

TEST_CASE("all bad lines of all files are complained about, and the old store stays") {
  const workplace work;
  REQUIRE(work.load(first_data).has_value());
  const std::vector<fs::path> files = {
      work.folder.write("a.ndjson",
                        "{\"list\":\"a\",\"values\":[1]}\n{\"list\":\"b\",\"values\":[null]}\n\nnonsense\n"),
      work.folder.write("b.ndjson",
                        "{\"list\":\"a\",\"values\":[2]}\n{\"hash\":\"c\",\"fields\":{}}\n"
                        "{\"list\":\"c\",\"values\":[]}\n")};
  const auto report = load_store(work.store, files, {});
  CHECK(codes_of(report) == std::vector<std::string>{"wrong_type", "bad_json", "duplicate_key", "duplicate_key"});
  auto diagnostic = report.error().begin();
  CHECK(diagnostic->source == files[0].string());
  CHECK(diagnostic->message == "line 2: `b`: expected an integer or a string, got null");
  CHECK((++diagnostic)->message.starts_with("line 4: "));
  ++diagnostic;
  CHECK(diagnostic->source == files[1].string());
  CHECK(diagnostic->message == "line 1: the key `a` is already in line 1 of " + files[0].string());
  CHECK((++diagnostic)->message == "line 3: the key `c` is already in line 2");
  CHECK(contents(work.store) == first_table);
  CHECK(files_in(work.store) == std::vector<std::string>{"data-1.mdb", "data-1.sums", "rankd-store"});
}

TEST_CASE("a first load that fails leaves no store, and the next one succeeds") {
  const workplace work;
  CHECK(codes_of(work.load("nonsense")) == std::vector<std::string>{"bad_json"});
  CHECK(embedded_store::open(work.store).error().front().code == "store_missing");
  CHECK(work.load(first_data).has_value());
}

TEST_CASE("diagnostics end at the limit, and say so") {
  const workplace work;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "nonsense\n";
  const auto codes = codes_of(work.load(text));
  CHECK(codes.size() == max_load_diagnostics + 1);
  CHECK(codes.back() == "too_many_diagnostics");
}

TEST_CASE("files that cannot be read are all named") {
  const workplace work;
  const std::vector<fs::path> files = {work.folder.path() / "absent", work.folder.path()};
  const auto report = load_store(work.store, files, {});
  CHECK(codes_of(report) == std::vector<std::string>{"data_unreadable", "data_unreadable"});
  CHECK(report.error().front().source == files[0].string());
}

TEST_CASE("a folder of somebody else, or of a later version, is left alone") {
  const workplace work;
  const fs::path letter = work.folder.write("foreign/letter.txt", "dear");
  const std::vector<fs::path> files = {work.folder.write("data.ndjson", first_data)};
  const load_options replace = {.mode = load_mode::replace};
  CHECK(codes_of(load_store(letter.parent_path(), files, replace)) == std::vector<std::string>{"store_foreign"});
  CHECK(codes_of(load_store(letter, files, replace)) == std::vector<std::string>{"store_foreign"});
  CHECK(files_in(letter.parent_path()) == std::vector<std::string>{"letter.txt"});
  const fs::path newer = work.folder.write("newer/rankd-store", "rankd-store 3\n").parent_path();
  CHECK(codes_of(load_store(newer, files, replace)) == std::vector<std::string>{"store_newer"});
}

TEST_CASE("a second load at the same time is refused") {
  const workplace work;
  std::vector<std::string> inner;
  load_options options;
  options.progress = [&](const load_progress& now) {
    if (now.stage == load_stage::syncing) inner = codes_of(work.load("", {}));
  };
  REQUIRE(work.load(first_data, options).has_value());
  CHECK(inner == std::vector<std::string>{"store_busy"});
}

TEST_CASE("a load that outgrows its map starts over with more room") {
  const workplace work;
  load_options options = {.first_map_bytes = 1};
  int starts = 0;
  options.progress = [&](const load_progress& now) {
    starts += now.stage == load_stage::reading && now.bytes_done == 0;
  };
  const auto report = work.load(big_data("a", 500), options);
  REQUIRE(report.has_value());
  CHECK(report->records == 500);
  CHECK(starts > 3);
  CHECK(contents(work.store).size() == 500);
}

TEST_CASE("progress goes through all stages up to all bytes") {
  const workplace work;
  const std::string text = big_data("a", 1'500);
  std::vector<load_progress> seen;
  load_options options;
  options.progress = [&](const load_progress& now) { seen.push_back(now); };
  REQUIRE(work.load(text, options).has_value());
  REQUIRE(seen.size() >= 7);
  CHECK(seen.front().bytes_done == 0);
  CHECK(seen.back().stage == load_stage::cleaning);
  CHECK(seen.back().bytes_done == text.size());
  for (std::size_t i = 1; i < seen.size(); ++i) {
    CHECK(seen[i].stage >= seen[i - 1].stage);
    CHECK(seen[i].bytes_done >= seen[i - 1].bytes_done);
    CHECK(seen[i].bytes_total == text.size());
  }
}

TEST_CASE("a load killed at any point leaves the old store or the new one") {
  constexpr int records = 1'200;
  const std::string new_data = big_data("b", records);
  const workplace prepared;
  REQUIRE(prepared.load(big_data("a", records)).has_value());
  int point = 0;
  int old_stores = 0;
  for (bool killed = true; killed; ++point) {
    const workplace work;
    fs::copy(prepared.store, work.store);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int left = point;
      load_options options;
      options.progress = [&](const load_progress&) {
        if (left-- == 0) ::raise(SIGKILL);
      };
      ::_exit(work.load(new_data, options).has_value() ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    killed = WIFSIGNALED(status);
    const table found = contents(work.store);
    const char version = found.begin()->second[6];
    CHECK(found.size() == records);
    CHECK(std::all_of(found.begin(), found.end(), [&](const auto& entry) { return entry.second[6] == version; }));
    old_stores += version == 'a';
    CHECK((killed || version == 'b'));
    CHECK(work.load(first_data, {.mode = load_mode::replace}).has_value());  // nothing is locked, nothing is in the way
    CHECK(files_in(work.store).size() == 3);
  }
  CHECK(point >= 7);
  CHECK(old_stores == point - 2);  // all but the kill after the switch and the load that lived
}

TEST_CASE("a load that was killed is gone on with, and makes the same store") {
  constexpr int records = 1'200;
  const std::string data = big_data("b", records);
  const workplace whole;
  REQUIRE(whole.load(big_data("a", 900)).has_value());
  REQUIRE(whole.load(data).has_value());
  const table expected = contents(whole.store);
  int resumed = 0;
  bool killed = true;
  for (int point = 0; killed; ++point) {
    const workplace work;
    REQUIRE(work.load(big_data("a", 900)).has_value());
    const std::vector<fs::path> files = {work.folder.write("data.ndjson", data)};
    load_options options{.save_bytes = small_save};
    const auto end = braid::testing::run_in_child([&] {
      int left = point;
      options.progress = [&](const load_progress&) {
        if (left-- == 0) ::raise(SIGKILL);
      };
      if (!load_store(work.store, files, options)) ::_exit(1);
    });
    CHECK(end.status == 0);
    killed = end.signal == SIGKILL;
    const auto again = load_store(work.store, files, options);
    REQUIRE(again.has_value());
    CHECK(again->resumed_at <= data.size());
    resumed += again->resumed_at > 0;
    if (again->generation == 2) {
      CHECK(again->records == records);
      CHECK(again->kept == expected.size() - records);
    }
    CHECK(contents(work.store) == expected);
    CHECK(files_in(work.store).size() == 3);
  }
  CHECK(resumed >= 2);
}

TEST_CASE("a load of other data than the one that was killed starts anew") {
  const workplace work;
  const std::vector<fs::path> files = {work.folder.write("data.ndjson", big_data("a", 1'200))};
  kill_behind_first_piece(work.store, files);
  REQUIRE(files_in(work.store) == std::vector<std::string>{"data-1.mdb"});
  const auto report = work.load(big_data("b", 100));
  REQUIRE(report.has_value());
  CHECK(report->resumed_at == 0);
  CHECK(report->records == 100);
  CHECK(contents(work.store).size() == 100);
}

TEST_CASE("what an interrupted load has left and is damaged is not gone on with") {
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{5'000}, std::uintmax_t{100'000}}) {
    CAPTURE(size);
    const workplace work;
    const std::vector<fs::path> files = {work.folder.write("data.ndjson", big_data("a", 1'200))};
    kill_behind_first_piece(work.store, files);
    fs::resize_file(work.store / "data-1.mdb", size);
    const auto report = load_store(work.store, files, {.save_bytes = small_save});
    REQUIRE(report.has_value());
    CHECK(report->resumed_at == 0);
    CHECK(contents(work.store).size() == 1'200);
  }
}

TEST_CASE("a load that may be refused sees all records, also those that an interrupted one had read") {
  const workplace work;
  const std::vector<fs::path> files = {work.folder.write("data.ndjson", big_data("a", 1'200))};
  kill_behind_first_piece(work.store, files);
  std::size_t seen = 0;
  const auto report = load_store(work.store, files,
                                 {.save_bytes = small_save,
                                  .seen = [&](std::string_view, const record_view&) { ++seen; },
                                  .refused = [] { return braid::diagnostics(); }});
  REQUIRE(report.has_value());
  CHECK(report->resumed_at == 0);
  CHECK(seen == 1'200);
}

TEST_CASE("bad lines are complained about whether or not the load was killed behind them") {
  const workplace work;
  const std::vector<fs::path> files = {work.folder.write("data.ndjson", "{bad\n" + big_data("a", 1'200) + "{bad\n")};
  kill_behind_first_piece(work.store, files);
  CHECK(codes_of(load_store(work.store, files, {})).size() == 2);
  CHECK_FALSE(fs::exists(work.store / "data-1.mdb"));
}

TEST_CASE("a disk without room is said to be full, and the old store stays") {
  const scratch_folder folder;
  const std::vector<fs::path> some = {folder.write("some.ndjson", first_data)};
  const std::vector<fs::path> more = {folder.write("more.ndjson", big_data("a", 1'200))};
  const fs::path disk = folder.path() / "disk";
  fs::create_directory(disk);
  const auto end = braid::testing::run_in_child([&] {
    if (!mount_small_disk(disk)) ::_exit(77);
    if (!load_store(disk / "store", some, {}).has_value()) ::_exit(1);
    const table before = contents(disk / "store");
    const auto refused = load_store(disk / "store", more, {.save_bytes = 50'000});
    if (refused.has_value() || refused.error().front().code != "disk_full") ::_exit(2);
    if (contents(disk / "store") != before) ::_exit(3);
    if (files_in(disk / "store").size() != 3) ::_exit(4);
  });
  if (end.status == 77) MESSAGE(std::string("left out: this user may not mount a disk"));
  CHECK(end.signal == 0);
  if (end.status != 77) CHECK(end.status == 0);
}

TEST_CASE("the first use loads all NDJSON of the data folder, in order, once") {
  const workplace work;
  const fs::path data = work.folder.write("data/b.ndjson", R"({"list":"b","values":[1]})").parent_path();
  work.folder.write("data/a.ndjson", R"({"list":"a","values":[1]})");
  work.folder.write("data/README.md", "no data");
  auto report = load_if_missing(work.store, data, {});
  REQUIRE((report.has_value() && report->has_value()));
  CHECK((*report)->records == 2);
  CHECK(contents(work.store) == table{{"a", "1,"}, {"b", "1,"}});

  work.folder.write("data/c.ndjson", R"({"list":"c","values":[1]})");
  report = load_if_missing(work.store, data, {});
  REQUIRE(report.has_value());
  CHECK_FALSE(report->has_value());
  CHECK(contents(work.store).size() == 2);
}

TEST_CASE("the first use says what is missing or foreign") {
  const workplace work;
  const fs::path empty = work.folder.write("empty/README.md", "no data").parent_path();
  CHECK(load_if_missing(work.store, empty, {}).error().front().code == "data_missing");
  CHECK(load_if_missing(work.store, work.folder.path() / "absent", {}).error().front().code == "data_unreadable");
  CHECK(load_if_missing(empty, empty, {}).error().front().code == "store_foreign");
  CHECK_FALSE(fs::exists(work.store));
}

TEST_CASE("of processes that use a store first at the same time one loads and the others wait") {
  const workplace work;
  const fs::path data = work.folder.write("data/a.ndjson", big_data("a", 3'000)).parent_path();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    const auto report = load_if_missing(work.store, data, {});
    const bool fine = report.has_value() && contents(work.store).size() == 3'000;
    ::_exit(!fine ? 9 : report->has_value() ? 1 : 0);
  }
  int loads = 0;
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) <= 1);
    loads += WEXITSTATUS(status);
  }
  CHECK(loads == 1);
}
