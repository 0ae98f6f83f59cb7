// tests/rankd/cli/events_command_test.cpp: events as a program takes them, also one that is killed; training data.
#include <rankd/cli/commands/events_command.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/server/events/event_log.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/rankd/cli/run_serve.hpp>
#include <tests/rankd/server/arrow_reader.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using braid::testing::request_text;
using braid::testing::scratch_folder;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::read_arrow;
using rankd::testing::running_server;

namespace {

namespace fs = std::filesystem;

auto event_body(const std::string& id, const std::string& more = "") -> std::string {
  return R"({"events":[{"event_id":")" + id + R"(","type":"click")" + more + "}]}";
}

auto text_of(const fs::path& file) -> std::string { return read_text_file(file).value_or(""); }

auto ids_in(const fs::path& folder) -> std::multiset<std::string> {
  std::multiset<std::string> out;
  for (const fs::path& file : event_files(folder)) {
    const std::string text = read_text_file(file).value();
    for (std::size_t at = 0, end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
      if (const auto line = checked_event_line(std::string_view(text).substr(at, end - at)))
        out.insert(json::parse(*line).at("event_id").get<std::string>());
      at = end + 1;
    }
  }
  return out;
}

/// The training data of `shown` and `events` of a folder, made in this process.
auto joined_in(const fs::path& folder, join_counts& counts) -> std::string {
  const fs::path file = folder / "joined.csv";
  auto out = atomic_file::create(file).value();
  counts = join_events({.exposures = folder / "shown", .events = folder / "events", .out = file}, out).value();
  CHECK(out.finish().has_value());
  return read_text_file(file).value();
}

/// The reference project, whose store is embedded, with clicks counted under `title`, a key that may be null.
struct counting_project : project_copy {
  counting_project() {
    fs::remove(path() / "plans/compiled/index.json");
    write("plans/compiled/counts.json", R"({"schema_version":1,"plan_name":"counts","outputs":["h"],"nodes":[)"
                                        R"({"node_id":"c","op":"core::candidates","inputs":[],"params":{"keys":[]}},)"
                                        R"({"node_id":"h","op":"core::hash","inputs":["c"],)"
                                        R"("params":{"endpoint":"ep_0001","key":"stats:{id}","keys":[3002]}}]})");
    write("registry/counters.toml",
          "[[event]]\nname = \"click\"\n"
          "[[counter]]\nname = \"title\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n");
  }
};

auto answer_to(const running_server& server, const std::string& path, const std::string& body) -> std::string {
  auto one = server.caller();
  one.say(request_text("POST", path, {}, body));
  return one.hear().value().body;
}

auto click(const running_server& server, const std::string& id) -> std::string {
  return answer_to(server, "/v1/events", event_body(id, R"(,"item_id":7)"));
}

auto clicks_in(const running_server& server) -> json {
  const json answer = json::parse(
      answer_to(server, "/v1/rank",
                R"({"plan":"counts","request_id":"r","user_id":1,"candidates":[{"id":7}],"output_keys":["title"]})"));
  return answer.at("candidates").at(0).at("fields").value("title", json());
}

}  // namespace

TEST_CASE("a server that is killed has every event that it has answered, and goes on with them") {
  const project_copy project;
  std::set<std::string> answered;
  {
    running_server server(project.path(), {"--events", "events"});
    std::vector<braid::testing::http_caller> callers;
    for (int i = 0; i < 8; ++i) callers.push_back(server.caller());
    // Seven are answered each round, and when the last one is under way the server is killed.
    for (int round = 0; round < 10; ++round)
      for (std::size_t at = 0; at < callers.size(); ++at) {
        const std::string id = std::to_string(round) + "." + std::to_string(at);
        callers[at].say(request_text("POST", "/v1/events", {}, event_body(id)));
        if (round == 9 && at + 1 == callers.size()) break;
        if (const auto answer = callers[at].hear(); answer && answer->status == 200) answered.insert(id);
      }
    server.signal(SIGKILL);
    CHECK(server.wait() != 0);
    if (const auto last = callers.back().hear(); last && last->status == 200) answered.insert("9.7");
  }
  CHECK(answered.size() >= 79);
  const auto there = ids_in(project.path() / "events");
  for (const std::string& id : answered) CHECK(there.count(id) == 1);
  running_server again(project.path(), {"--events", "events"});
  auto one = again.caller();
  one.say(request_text("POST", "/v1/events", {}, event_body("0.0")));
  CHECK(one.hear().value().body == "{\"accepted\":0,\"duplicates\":1}\n");
  const process_end second = rankd_in(project.path(), {"serve", "--listen", "127.0.0.1:0", "--events", "events"});
  CHECK(second.status == 1);
  CHECK(has(second.err, "folder_in_use"));
}

TEST_CASE("counters over an embedded store count each event once, after kills, loads and orderly ends") {
  const counting_project project;
  const std::vector<std::string> taking{"--events", "events"};
  const auto send = [](const running_server& to, int first, int end) {
    for (int i = first; i < end; ++i) CHECK(click(to, std::to_string(i)) == "{\"accepted\":1,\"duplicates\":0}\n");
  };
  {
    running_server server(project.path(), taking);
    CHECK(clicks_in(server).is_null());
    send(server, 0, 3);
    CHECK(clicks_in(server) == "3");
    CHECK(rankd_in(project.path(), {"load"}).status == 0);  // a generation that the next server opens
    CHECK(clicks_in(server) == "3");
    server.signal(SIGKILL);
    CHECK(server.wait() != 0);
  }
  CHECK_FALSE(fs::exists(project.path() / "events/counters.snapshot"));
  {
    running_server server(project.path(), taking);
    CHECK(clicks_in(server) == "3");
    CHECK(click(server, "2") == "{\"accepted\":0,\"duplicates\":1}\n");
    send(server, 3, 5);
    CHECK(clicks_in(server) == "5");
    server.signal(SIGTERM);
    CHECK(server.wait() == 0);
  }
  CHECK(fs::exists(project.path() / "events/counters.snapshot"));
  {
    running_server server(project.path(), taking);
    send(server, 5, 7);
    server.signal(SIGKILL);
    CHECK(server.wait() != 0);
  }
  running_server last(project.path(), taking);
  CHECK(clicks_in(last) == "7");
  auto one = last.caller();
  one.say(request_text("GET", "/metrics", {}, ""));
  const std::string metrics = one.hear().value().body;
  CHECK(has(metrics, "rankd_counter_hashes 1\n"));
  CHECK(has(metrics, "rankd_counter_steps_total{result=\"lost\"} 0\n"));
  CHECK(has(metrics, "rankd_counter_bytes "));
}

TEST_CASE("captures are files in the form that is asked for, which a server that is killed leaves readable") {
  const project_copy project;
  fs::remove(project.path() / "plans/compiled/index.json");
  project.write("plans/compiled/taps.json",
                R"({"schema_version":1,"plan_name":"taps","capabilities_required":["cap.rfc.0010.capture.v1"],)"
                R"("outputs":["a"],"nodes":[{"node_id":"a","op":"test::fixed_source","inputs":[],)"
                R"("params":{"row_count":3},"capture":{}}]})");
  const fs::path folder = project.path() / "captures";
  const auto files = [&folder] {
    std::vector<fs::path> out;
    std::error_code error;
    for (const auto& each : fs::directory_iterator(folder, error)) out.push_back(each.path());
    return out;
  };
  {
    running_server server(project.path(), {"--captures", "captures", "--captures-form", "arrow", "--loops", "1"});
    auto one = server.caller();
    one.say(request_text("POST", "/v1/rank", {}, R"({"plan":"taps","request_id":"r","user_id":1})"));
    CHECK(one.hear().value().status == 200);
    const auto is_written = [&] { return files().size() == 1 && !read_arrow(text_of(files()[0])).lines.empty(); };
    CHECK(braid::testing::eventually(is_written));
    server.signal(SIGKILL);
    CHECK(server.wait() != 0);
  }
  REQUIRE(files().size() == 1);
  CHECK(files()[0].extension() == ".arrows");
  const rankd::testing::read_stream read = read_arrow(text_of(files()[0]));
  CHECK_FALSE(read.is_ended);
  CHECK_FALSE(read.is_cut);
  REQUIRE(read.lines.size() == 1);
  CHECK(json::parse(read.lines[0]).at("rows").at("id") == json::array({1, 2, 3}));
  const process_end wrong = rankd_in(project.path(), {"serve", "--captures", "captures", "--captures-form", "parquet"});
  CHECK(wrong.status != 0);
  CHECK(has(wrong.err, "--captures-form: parquet not in {ndjson,arrow}"));
  const process_end alone = rankd_in(project.path(), {"serve", "--captures-form", "arrow"});
  CHECK(alone.status != 0);
  CHECK(has(alone.err, "--captures-form requires --captures"));
}

TEST_CASE("what was shown and what came of it are joined") {
  const scratch_folder folder;
  const fs::path shown = folder.path() / "shown";
  const fs::path events = folder.path() / "events";
  fs::create_directories(shown);
  fs::create_directories(events);
  folder.write(
      "shown/exposures-20260101T000000Z-1-000001.ndjson",
      R"({"time":"t1","request_id":"r","plan":"p","plan_digest":"d","user_id":4,"rows":{"id":[7,8],"title":["a, \"b\"",null]}})"
      "\n"
      "no line\n"
      R"({"time":"t2","request_id":"s","plan":"p","plan_digest":"d","rows":{"id":[7],"score":[0.5]}})"
      "\n");
  folder.write("events/events-000001.ndjson", R"({"event_id":"1","type":"click","request_id":"r","item_id":8})"
                                              "\n"
                                              R"({"event_id":"1","type":"click","request_id":"r","item_id":8})"
                                              "\n"
                                              R"({"event_id":"2","type":"click","request_id":"r","item_id":8})"
                                              "\n"
                                              R"({"event_id":"3","type":"purchase","request_id":"s","item_id":7})"
                                              "\n"
                                              R"({"event_id":"4","type":"click","request_id":"other","item_id":7})"
                                              "\n"
                                              R"({"event_id":"5","type":"click"})"
                                              "\n");
  const process_end done = rankd_in(folder.path(), {"events", "join", "--exposures", "shown", "--events", "events"});
  CHECK(done.status == 0);
  CHECK(done.out ==
        "request_id,time,plan,plan_digest,user_id,position,id,score,title,events.click,events.purchase\n"
        "r,t1,p,d,4,1,7,,\"a, \"\"b\"\"\",0,0\n"
        "r,t1,p,d,4,2,8,,,2,0\n"
        "s,t2,p,d,,1,7,0.5,,0,1\n");
  CHECK(has(done.err, "shown/exposures-20260101T000000Z-1-000001.ndjson: 1 line was skipped"));
  const process_end filed =
      rankd_in(folder.path(), {"events", "join", "--exposures", "shown", "--events", "events", "--out", "rows.csv"});
  CHECK(filed.out == "3 rows of 2 answers, with 3 of 5 events\n");
  CHECK(read_text_file(folder.path() / "rows.csv").value() == done.out);
  const process_end none = rankd_in(folder.path(), {"events", "join", "--exposures", "gone", "--events", "events"});
  CHECK(none.status == 1);
  CHECK(has(none.err, "there is no such folder"));
}

TEST_CASE("a row of training data has its first cell where that is empty") {
  const scratch_folder folder;
  fs::create_directories(folder.path() / "events");
  folder.write("shown/exposures-20260101T000000Z-1-000001.ndjson",
               R"({"time":"t1","plan":"p","plan_digest":"d","user_id":4,"rows":{"id":[7,8]}})"
               "\n");
  join_counts counts;
  CHECK(joined_in(folder.path(), counts) ==
        "request_id,time,plan,plan_digest,user_id,position,id\n,t1,p,d,4,1,7\n,t1,p,d,4,2,8\n");
  CHECK(counts.rows == 2);
}

TEST_CASE("no cell of training data is a formula, and each text can be had back") {
  const scratch_folder folder;
  const json rows{{"id", {"-7", "+8", "-x"}},
                  {"text", {"=LINK(\"a\")", "\tb", "-inf"}},
                  {"score", {-0.5, -1.5, -3}},
                  {"more", {"a=b", "-1.5e3", "-1-1"}}};
  const json shown{{"request_id", "=1+1"}, {"time", "+t"},    {"plan", "-p"},
                   {"plan_digest", "@d"},  {"user_id", "'u"}, {"rows", rows}};
  folder.write("shown/exposures-20260101T000000Z-1-000001.ndjson", shown.dump() + "\n");
  const json clicked{{"event_id", "1"}, {"type", "=click"}, {"request_id", "=1+1"}, {"item_id", "-7"}};
  folder.write("events/events-000001.ndjson", clicked.dump() + "\n");
  join_counts counts;
  CHECK(joined_in(folder.path(), counts) ==
        "request_id,time,plan,plan_digest,user_id,position,id,more,score,text,events.=click\n"
        "'=1+1,'+t,'-p,'@d,''u,1,-7,a=b,-0.5,\"'=LINK(\"\"a\"\")\",1\n"
        "'=1+1,'+t,'-p,'@d,''u,2,'+8,-1.5e3,-1.5,'\tb,0\n"
        "'=1+1,'+t,'-p,'@d,''u,3,'-x,'-1-1,-3,'-inf,0\n");
  CHECK(counts.matched == 1);
}

TEST_CASE("an empty string and a null are different cells of training data") {
  const scratch_folder folder;
  fs::create_directories(folder.path() / "events");
  folder.write("shown/exposures-20260101T000000Z-1-000001.ndjson",
               R"({"request_id":"r","user_id":"","rows":{"id":[7,8],"title":["",null],"price":[-0.0,1e+20]}})"
               "\n");
  join_counts counts;
  CHECK(joined_in(folder.path(), counts) ==
        "request_id,time,plan,plan_digest,user_id,position,id,price,title\n"
        "r,,,,\"\",1,7,-0.0,\"\"\nr,,,,\"\",2,8,1e+20,\n");
}

TEST_CASE("a damaged event is no training data, and those behind it are") {
  const scratch_folder folder;
  folder.write("shown/exposures-20260101T000000Z-1-000001.ndjson", R"({"request_id":"r","rows":{"id":[7]}})"
                                                                   "\n");
  {
    const auto log = event_log::open({.folder = folder.path() / "events"}).value();
    std::vector<event> some;
    for (const char* id : {"a", "b", "c"})
      some.push_back({.event_id = id, .type = "click", .time = std::chrono::milliseconds(1)});
    CHECK(log->add(some, event_rules(), std::chrono::milliseconds(1)).get().accepted == 3);
  }
  const fs::path file = event_files(folder.path() / "events").front();
  std::string text = read_text_file(file).value();
  text[text.find(R"("b")") + 1] = 'x';
  folder.write("events/events-000001.ndjson", text);
  join_counts counts;
  CHECK(joined_in(folder.path(), counts).starts_with("request_id,time,plan,plan_digest,user_id,position,id,events.c"));
  CHECK(counts.events == 2);
  CHECK(counts.broken == lines_by_file{{file, 1}});
}

namespace {

/// A folder with two exposures of the same two items, a minute apart, and their events.
class labelled_folder {
 public:
  labelled_folder() {
    for (const char* line : {R"("request_id":"r","time":"2026-11-24T00:00:00.500000Z")",
                             R"("request_id":"s","time":"2026-11-24T00:01:00Z")"})
      shown_ += std::string("{") + line + R"(,"rows":{"id":[7,8],"rank":[1,2]},"shared":{"country":"FR"}})" + "\n";
    folder_.write("shown/exposures-1.ndjson", shown_);
    write_labels(label("clicked", "click", 10, "value = \"any\""));
    fs::create_directories(folder_.path() / "events");
  }

  static auto label(const std::string& name, const std::string& event, int window_s, const std::string& more = "")
      -> std::string {
    return "[[label]]\nname = \"" + name + "\"\nevents = [\"" + event + "\"]\nwindow_s = " + std::to_string(window_s) +
           "\n" + more + "\n";
  }

  void write_labels(const std::string& text) { folder_.write("labels.toml", text); }

  /// Adds an event of the item 7, `ms` milliseconds after midnight.
  void add(const std::string& request, const std::string& type, std::int64_t ms, const std::string& more = "") {
    events_ += R"({"event_id":")" + std::to_string(++number_) + R"(","type":")" + type + R"(","time_ms":)" +
               std::to_string(midnight + ms) + R"(,"request_id":")" + request + R"(","item_id":7)" + more + "}\n";
    folder_.write("events/events-000001.ndjson", events_);
  }

  /// A member of an event that arrives `ms` milliseconds after midnight.
  static auto received(std::int64_t ms) -> std::string { return ",\"received_ms\":" + std::to_string(midnight + ms); }

  auto join(std::vector<std::string> options) -> process_end {
    std::vector<std::string> all{"events",   "join",   "--exposures", "shown",
                                 "--events", "events", "--labels",    "labels.toml"};
    all.insert(all.end(), options.begin(), options.end());
    return rankd_in(folder_.path(), all);
  }

  /// The labels of the four rows, when all windows are over.
  auto labels() -> std::string {
    const process_end done = join({"--until", "2026-12-24T00:00:00Z"});
    std::string out;
    for (std::size_t at = done.out.find('\n') + 1; at < done.out.size();) {
      const std::size_t end = done.out.find('\n', at);
      const std::string line = done.out.substr(at, end - at);
      const std::string cells = "FR,";
      out += line.substr(line.find(cells) + cells.size() + 2) + " ";
      at = end + 1;
    }
    return out;
  }

  auto path() const -> const fs::path& { return folder_.path(); }

 private:
  static constexpr std::int64_t midnight = 1'795'478'400'000;  // 2026-11-24

  scratch_folder folder_;
  std::string shown_;
  std::string events_;
  int number_ = 0;
};

}  // namespace

TEST_CASE("an event counts for a label only within its window") {
  labelled_folder folder;
  CHECK(folder.labels() == "0 0 0 0 ");
  folder.add("r", "click", 499);     // before the exposure
  folder.add("r", "click", 10'501);  // after its window
  folder.add("r", "view", 1000);     // of another type
  CHECK(folder.labels() == "0 0 0 0 ");
  folder.add("r", "click", 10'500);
  CHECK(folder.labels() == "1 0 0 0 ");
  folder.add("s", "click", 60'000);
  folder.add("s", "click", 60'001);
  CHECK(folder.labels() == "1 0 1 0 ");
  const process_end done = folder.join({"--until", "2026-12-24T00:00:00Z", "--out", "rows.csv"});
  CHECK(done.out == "4 rows of 2 answers, with 3 of 6 events\n");
  CHECK(read_text_file(folder.path() / "rows.csv").value() ==
        "request_id,time,plan,plan_digest,user_id,position,id,country,rank,label.clicked\n"
        "r,2026-11-24T00:00:00.500000Z,,,,1,7,FR,1,1\nr,2026-11-24T00:00:00.500000Z,,,,2,8,FR,2,0\n"
        "s,2026-11-24T00:01:00Z,,,,1,7,FR,1,1\ns,2026-11-24T00:01:00Z,,,,2,8,FR,2,0\n");
}

TEST_CASE("an event must arrive within the delay of its label") {
  labelled_folder folder;
  folder.write_labels(folder.label("clicked", "click", 10, "delay_s = 5"));
  folder.add("r", "click", 1000, folder.received(15'501));
  CHECK(folder.labels() == "0 0 0 0 ");
  folder.add("r", "click", 1000, folder.received(15'500));
  CHECK(folder.labels() == "1 0 0 0 ");
  // The clock of this client is fast: the event has happened when it was received.
  folder.add("r", "click", 3'600'000, folder.received(9000));
  CHECK(folder.labels() == "2 0 0 0 ");
}

TEST_CASE("one run computes several labels, each with its types, its window and its value") {
  labelled_folder folder;
  folder.write_labels(folder.label("clicks", "click", 10) + folder.label("clicked", "click", 100, "value = \"any\"") +
                      folder.label("spent", "purchase", 100, "value = \"sum\"\nby = \"price\"") +
                      "[[label]]\nname = \"both\"\nevents = [\"click\", \"purchase\"]\nwindow_s = 100\n");
  folder.add("r", "click", 1000);
  folder.add("r", "click", 2000);
  folder.add("r", "purchase", 50'000, R"(,"fields":{"price":2.25})");
  folder.add("r", "purchase", 60'000, R"(,"fields":{"price":4})");
  folder.add("r", "purchase", 60'000, R"(,"fields":{"price":"9"})");
  folder.add("r", "purchase", 60'000);
  folder.add("s", "click", 90'000);
  CHECK(folder.labels() == "2,1,6.25,6 0,0,0,0 0,1,0,1 0,0,0,0 ");
}

TEST_CASE("an answer is left out until its windows are over, unless the command is told otherwise") {
  labelled_folder folder;
  folder.write_labels(folder.label("a", "click", 12, "delay_s = 1") + folder.label("b", "click", 10, "delay_s = 7"));
  folder.add("r", "click", 1000);
  // The first answer is complete 17 s after it was shown, at 17.5 s, and the second one a minute later.
  const process_end none = folder.join({"--until", "2026-11-24T00:00:17.499999Z", "--out", "rows.csv"});
  CHECK(none.out ==
        "0 rows of 0 answers, with 0 of 1 event\n"
        "2 answers were left out, because later events may still change the labels\n");
  const process_end first = folder.join({"--until", "2026-11-24T00:00:17.5Z", "--out", "rows.csv"});
  CHECK(first.out ==
        "2 rows of 1 answer, with 1 of 1 event\n1 answer was left out, because later events may still change the "
        "labels\n");
  const process_end all = folder.join({"--until", "2026-11-24T00:00:17.5Z", "--include-open", "--out", "rows.csv"});
  CHECK(all.out == "4 rows of 2 answers, with 1 of 1 event\n");
  const process_end wrong = folder.join({"--until", "yesterday"});
  CHECK(wrong.status == 2);
  CHECK(has(wrong.err, "`yesterday` is not a time in UTC, such as 2026-11-24T00:00:00Z"));
  const process_end alone =
      rankd_in(folder.path(), {"events", "join", "--exposures", "shown", "--events", "events", "--include-open"});
  CHECK(alone.status == 2);
  CHECK(has(alone.err, "--include-open requires --labels"));
}

TEST_CASE("a type that a label names and no event has is reported, and so is a wrong file of labels") {
  labelled_folder folder;
  folder.write_labels(folder.label("a", "clik", 10));
  folder.add("r", "click", 1000);
  CHECK(has(folder.join({}).err, "a label names the event type `clik`, but no event has this type"));
  folder.write_labels(folder.label("a", "click", -5));
  const process_end wrong = folder.join({});
  CHECK(wrong.status == 1);
  CHECK(has(wrong.err, "out_of_range"));
  CHECK(has(wrong.err, "/label/0/window_s"));
}

TEST_CASE("captured values of shown rows are columns of training data") {
  const scratch_folder folder;
  folder.write("shown/exposures-1.ndjson", R"({"request_id":"r","rows":{"id":[8,7]},"shared":{"price":3}})"
                                           "\n");
  fs::create_directories(folder.path() / "events");
  folder.write("rows/captures-1.ndjson",
               R"({"request_id":"r","node":"score","side":"out","state":"done","rows":{"id":[7,8,9],"price":[1,2,3]}})"
               "\n"
               R"({"request_id":"r","node":"score","side":"in","of":"a","rows":{"id":[7],"price":[100]}})"
               "\n"
               R"({"request_id":"r","node":"first","side":"out","state":"done","rows":{"id":[7],"likes":[true]}})"
               "\n"
               R"({"request_id":"r","node":"first","side":"out","state":"failed"})"
               "\n"
               R"({"request_id":"s","node":"score","side":"out","state":"done","rows":{"id":[7],"price":[50]}})"
               "\n"
               R"({"request_id":"r","node":"score","side":"out","rows":{"id":[7,8],"price":[1]}})"
               "\n");
  const std::vector<std::string> call{"events",   "join",   "--exposures", "shown",
                                      "--events", "events", "--captures",  "rows"};
  const process_end done = rankd_in(folder.path(), call);
  CHECK(done.out ==
        "request_id,time,plan,plan_digest,user_id,position,id,price,first.likes,score.price\n"
        "r,,,,,1,8,3,,2\nr,,,,,2,7,3,true,1\n");
  CHECK(has(done.err, "rows/captures-1.ndjson: 1 line was skipped"));
  folder.write("rows/captures-2.arrows", "");
  const process_end arrow = rankd_in(folder.path(), call);
  CHECK(arrow.status == 1);
  CHECK(has(arrow.err, "unsupported_form"));
  CHECK(has(arrow.err, "run `rankd serve` with `--captures-form ndjson`"));
}

TEST_CASE("a request on the command line captures the rows of nodes") {
  const project_copy project;
  const std::string request = R"({"user_id":1,"plan":"reels_plan_a","request_id":"r"})";
  const process_end done =
      rankd_in(project.path(), {"rank", "--capture", "cutoff:final_score", "--capture", "viewer"}, request);
  CHECK(done.status == 0);
  const json answer = json::parse(done.out);
  REQUIRE(answer.at("captured").size() == 2);
  CHECK(answer.at("captured")[0].at("node") == "cutoff");
  CHECK(answer.at("captured")[0].at("rows").contains("final_score"));
  CHECK(answer.at("captured")[1].at("rows").at("id") == json::array({1}));
  const process_end table = rankd_in(project.path(), {"rank", "--table", "--capture", "cutoff"}, request);
  CHECK(has(table.out, "cutoff returns "));
  const process_end wrong = rankd_in(project.path(), {"rank", "--capture", "cutof"}, request);
  CHECK(wrong.status == 1);
  CHECK(has(wrong.out, "unknown_node"));
  CHECK(has(wrong.out, "did you mean `cutoff`"));
}
