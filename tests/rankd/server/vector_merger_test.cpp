// tests/rankd/server/vector_merger_test.cpp: changed vectors are merged into their file while requests find the same.
#include <rankd/server/vector_merger.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/store_follower.hpp>
#include <rankd/server/studio/plan_source.hpp>
#include <tests/rankd/server/merging_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/http_caller.hpp>
#include <tests/support/umask.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using merge_step = vector_merger::merge_step;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

namespace fs = std::filesystem;

/// Vector 5 is new, 1 is deleted, and 3 is another one.
constexpr const char* three_changes = R"({"set":"changed","members":[1,3,5]}
{"hash":"item:3","fields":{"v":[9,0]}}
{"hash":"item:5","fields":{"v":[5,0]}}
)";

auto count_of(std::string_view text, std::string_view part) -> int {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A log that tests can read at the end.
struct read_log {
  braid::testing::scratch_folder folder;
  std::unique_ptr<line_file> file = value_of(line_file::open(folder.path() / "log"));
  serve_log log{*file, log_level::info};

  auto lines() -> std::string {
    file.reset();
    return read_text_file(folder.path() / "log").value();
  }
};

/// An error that ends a merge at a step, as the end of the process would.
struct interrupted {};

}  // namespace

TEST_CASE("a list with enough ids goes into the file, and requests find the same at each step") {
  const merging_project project;
  read_log log;
  std::string found;
  merging_process* self = nullptr;
  merging_process process(project, log.log, [&](merge_step) { found += self->find() + ";"; });
  self = &process;
  REQUIRE(::chmod(project.file().c_str(), 0644) == 0);
  process.look();
  CHECK(process.find() == "4 3 2 1");
  project.change(three_changes);
  process.look();
  CHECK(found == "3 5 4 2;3 5 4 2;3 5 4 2;");
  CHECK(process.find() == "3 5 4 2");
  CHECK(project.listed().empty());
  CHECK(project.merged() == "2 3 4 5");
  CHECK(braid::testing::mode_of(project.file()) == 0644);  // so that servers of other users can read it
  const merge_counts counts = process.counts();
  CHECK(counts.generation == 2);
  CHECK(counts.merges == 1);
  CHECK(counts.failures == 0);
  CHECK(counts.merging > braid::duration::zero());
  process.look();
  CHECK(process.counts().listed == 0);
  CHECK(process.counts().merges == 1);
  const std::string lines = log.lines();
  CHECK(lines.find(R"("event":"vectors_merged","endpoint":"ep_0002","changes":3,"vectors":4,)") != std::string::npos);
  CHECK(lines.find(R"("event":"vectors_changed","endpoint":"ep_0002","digest":")") != std::string::npos);
  CHECK(lines.find("error") == std::string::npos);
}

TEST_CASE("a shorter list stays, and 0 merges no list") {
  for (const int merge_at : {4, 0}) {
    const merging_project project(merge_at);
    merging_process process(project);
    project.change(three_changes);
    process.look();
    CHECK(process.counts().listed == 3);
    CHECK(process.counts().merges == 0);
    CHECK(project.listed() == "1 3 5");
    CHECK(project.merged() == "1 2 3 4");
    CHECK(process.find() == "3 5 4 2");
  }
}

TEST_CASE("a change that arrives during a merge stays in the list") {
  const merging_project project;
  merging_process process(project, {}, [&](merge_step done) {
    if (done == merge_step::written)
      project.change(R"({"set":"changed","members":[1,3,5,6]}
{"hash":"item:5","fields":{"v":[1.5,0]}}
{"hash":"item:6","fields":{"v":[6,0]}}
)");
  });
  project.change(three_changes);
  process.look();
  CHECK(project.merged() == "2 3 4 5");  // with the first vector of 5
  CHECK(project.listed() == "5 6");
  CHECK(process.find() == "3 6 4 2 5");
}

TEST_CASE("changes stay in the list while a request may use the old file") {
  const merging_project project;
  merging_process process(project);
  plan_handle old = value_of(process.library.find("near"));
  project.change(three_changes);
  process.look();
  CHECK(process.counts().merges == 1);
  CHECK(project.listed() == "1 3 5");
  CHECK(process.find(old) == "3 5 4 2");
  CHECK(process.find() == "3 5 4 2");
  old = nullptr;
  process.look();
  CHECK(project.listed().empty());
  CHECK(process.counts().merges == 1);
  CHECK(process.find() == "3 5 4 2");
}

TEST_CASE("changes stay in the list while a version with the old file is pinned") {
  const merging_project project;
  merging_process process(project);
  value_of(process.library.pin("near", 1));
  project.change(three_changes);
  for (int time = 0; time < 2; ++time) process.look();
  CHECK(process.counts().merges == 1);
  CHECK(project.listed() == "1 3 5");
  CHECK(process.find() == "3 5 4 2");
  REQUIRE(process.library.unpin("near"));
  for (int time = 0; time < 2; ++time) process.look();
  CHECK(project.listed().empty());
  CHECK(process.find() == "3 5 4 2");
}

TEST_CASE("one process merges, and removes the changes when all others have the new file") {
  const merging_project project;
  merging_process one(project);
  merging_process two(project);
  for (merging_process* each : {&one, &two}) each->look();
  project.change(three_changes);
  {
    auto third = vector_claims::open(project.file()).value();
    REQUIRE(third.try_lock().value());
    one.look();
    CHECK(one.counts().merges == 0);  // while another process merges
  }
  one.look();
  CHECK(one.counts().merges == 1);
  CHECK(project.listed() == "1 3 5");
  value_of(two.store->refresh());
  CHECK(two.find() == "3 5 4 2");
  two.look();  // opens the new file; the list is left to whoever looks next
  CHECK(two.counts().generation == 2);
  CHECK(two.find() == "3 5 4 2");
  one.look();
  CHECK(one.counts().merges + two.counts().merges == 1);
  CHECK(project.listed().empty());
  for (merging_process* each : {&one, &two}) {
    each->look();
    CHECK(each->find() == "3 5 4 2");
  }
}

TEST_CASE("a process that begins opens what others have merged before it serves") {
  const merging_project project;
  merging_process late(project);  // has loaded its plans
  merging_process one(project);
  project.change(three_changes);
  one.look();
  CHECK(project.listed().empty());
  value_of(late.store->refresh());
  REQUIRE(late.merger->start(minutes(10)));
  CHECK(late.find() == "3 5 4 2");
  CHECK(late.counts().generation == 1);
}

TEST_CASE("changes of before another merge are not merged again by a process whose store is behind") {
  const merging_project project;
  merging_process behind(project);
  project.change(three_changes);
  value_of(behind.store->refresh());
  merging_process one(project);
  one.look();
  project.change("{\"delete\":\"item:3\"}\n{\"delete\":\"item:5\"}\n{\"set\":\"changed\",\"members\":[3,5]}\n");
  one.look();
  CHECK(project.merged() == "2 4");
  CHECK(project.listed().empty());
  behind.merger->look(braid::time_point(std::chrono::hours(1)));  // its store has the first three changes
  CHECK(behind.counts().merges == 0);
  CHECK(project.merged() == "2 4");
}

TEST_CASE("a process that ends at any step loses no change, and the next one completes the merge") {
  for (const merge_step last : {merge_step::written, merge_step::published, merge_step::shortened}) {
    const merging_project project;
    {
      merging_process process(project, {}, [last](merge_step done) {
        if (done == last) throw interrupted();
      });
      project.change(three_changes);
      CHECK_THROWS_AS(process.look(), interrupted);
    }
    merging_process next(project);
    CHECK(next.find() == "3 5 4 2");
    next.look();
    CHECK(next.counts().merges == 0);  // the file has the changes already
    CHECK(next.find() == "3 5 4 2");
    CHECK(project.merged() == "2 3 4 5");
    CHECK(project.listed().empty());
  }
}

TEST_CASE("a failure is logged once for each cause, and tried again after longer and longer pauses") {
  const merging_project project;
  read_log log;
  merging_process process(project, log.log);
  project.change(three_changes);
  fs::create_directory(project.file().string() + ".new");  // as a disk that cannot be written
  process.look();
  CHECK(process.counts().failures == 1);
  CHECK(process.find() == "3 5 4 2");
  process.look(milliseconds(999));
  CHECK(process.counts().failures == 1);
  process.look(seconds(1));
  CHECK(process.counts().failures == 2);
  process.look(milliseconds(2999));
  CHECK(process.counts().failures == 2);
  process.look(seconds(3));
  CHECK(process.counts().failures == 3);
  for (int time = 1; time <= 20; ++time) process.look(minutes(10) * time);
  CHECK(process.counts().failures == 23);
  process.look(minutes(204));
  CHECK(process.counts().failures == 23);
  process.look(minutes(205));  // the longest pause is 5 minutes
  CHECK(process.counts().failures == 24);
  CHECK(process.counts().merges == 0);
  CHECK(project.listed() == "1 3 5");

  fs::remove(project.file().string() + ".new");
  process.look(minutes(300));
  CHECK(process.counts().merges == 1);
  CHECK(process.find() == "3 5 4 2");

  project.change("{\"list\":\"item:7\",\"values\":[1]}\n{\"set\":\"changed\",\"members\":[7,8]}\n");
  process.look(minutes(400));
  process.look(minutes(500));
  CHECK(process.counts().failures == 26);
  const std::string lines = log.lines();
  CHECK(count_of(lines, R"("event":"vectors_not_merged","endpoint":"ep_0002","code":"output_unwritable")") == 1);
  CHECK(count_of(lines, R"("event":"vectors_not_merged","endpoint":"ep_0002","code":"changes_unreadable")") == 1);
  CHECK(count_of(lines, "vectors_not_merged") == 2);
}

TEST_CASE("a damaged file is reported, and what was opened before goes on to serve") {
  const merging_project project;
  read_log log;
  merging_process process(project, log.log);
  project.change(three_changes);
  std::string bytes = read_text_file(project.file()).value();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  REQUIRE(replace_file(project.file(), bytes));
  process.look();
  CHECK(process.counts().failures == 1);
  CHECK(process.find() == "3 5 4 2");
  fs::remove(project.file());
  process.look(seconds(1));
  CHECK(process.counts().failures == 2);
  CHECK(process.find() == "3 5 4 2");
  const std::string lines = log.lines();
  CHECK(count_of(lines, R"("code":"vectors_corrupt")") == 1);
  CHECK(count_of(lines, R"("code":"vectors_missing")") == 1);
}

TEST_CASE("a server that stops begins no merge, and its thread ends") {
  const merging_project project;
  merging_process process(project);
  REQUIRE(process.merger->start(minutes(10)));
  process.merger->cancel();
  project.change(three_changes);
  process.look();
  CHECK(process.counts().merges == 0);
  process.merger.reset();
  CHECK(project.listed() == "1 3 5");
}

TEST_CASE("the thread of a server merges, and the metrics tell") {
  const merging_project project;
  merging_process process(project);
  store_follower follower({{"ep_0001", process.store.get()}}, {});
  REQUIRE(follower.start());
  REQUIRE(process.merger->start(milliseconds(1)));
  const library_plans plans(process.library);
  serve_options options;
  options.listen = braid::socket_address::loopback(0);
  const auto server = value_of(rank_server::start({.declared = &process.declared,
                                                   .stores = {process.store.get(), nullptr},
                                                   .plans = &plans,
                                                   .follower = &follower,
                                                   .merger = &*process.merger},
                                                  options));
  project.change(three_changes);
  CHECK(eventually([&] { return process.counts().merges == 1 && process.counts().listed == 0; }));
  braid::testing::http_caller caller(server->address());
  caller.say(braid::testing::request_text("GET", "/metrics", {}, {}));
  const std::string metrics = caller.hear().value().body;
  for (const char* const line :
       {"rankd_vectors_generation{endpoint=\"ep_0002\"} 2\n", "rankd_vectors_listed{endpoint=\"ep_0002\"} 0\n",
        "rankd_vectors_merges_total{endpoint=\"ep_0002\",result=\"done\"} 1\n",
        "rankd_vectors_merges_total{endpoint=\"ep_0002\",result=\"failed\"} 0\n",
        "rankd_vectors_merge_seconds_total{endpoint=\"ep_0002\"} "})
    CHECK_MESSAGE(metrics.find(line) != std::string::npos, line);
}

TEST_CASE("requests find each vector from its change on, while merges run beside them") {
  constexpr int rounds = 12;
  const merging_project project;
  merging_process process(project);
  store_follower follower({{"ep_0001", process.store.get()}}, {});
  REQUIRE(process.merger->start(milliseconds(1)));
  const library_plans plans(process.library);
  serve_options options;
  options.listen = braid::socket_address::loopback(0);
  options.default_deadline = minutes(1);
  options.loops = 2;
  const auto server = value_of(rank_server::start({.declared = &process.declared,
                                                   .stores = {process.store.get(), nullptr},
                                                   .plans = &plans,
                                                   .follower = &follower,
                                                   .merger = &*process.merger},
                                                  options));
  // Round N adds the vector 100 + N, which is nearer than all before. A request finds those of its round, and 4 to 1.
  std::atomic<int> begun{0};
  std::atomic<int> served{0};
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  std::atomic<int> answers{0};
  const auto ask = [&] {
    braid::testing::http_caller caller(server->address());
    while (!over) {
      const int least = served;
      caller.say(
          braid::testing::request_text("POST", "/v1/rank", {}, R"({"plan":"near","candidates":[{"id":9,"v":[1,0]}]})"));
      const nlohmann::json answer = nlohmann::json::parse(caller.hear().value().body);
      const int most = begun;
      std::vector<int> ids;
      for (const auto& each : answer.at("candidates")) ids.push_back(each.at("id").get<int>());
      const int round = ids.empty() ? 0 : std::max(ids.front() - 100, 0);
      std::vector<int> expected;
      for (int id = 100 + round; id > 100; --id) expected.push_back(id);
      expected.insert(expected.end(), {4, 3, 2, 1});
      expected.resize(std::min<std::size_t>(expected.size(), 10));  // as many as the plan finds
      if (round < least || round > most || ids != expected) ++wrong;
      ++answers;
    }
  };
  {
    const std::jthread first(ask);
    const std::jthread second(ask);
    for (int round = 1; round <= rounds; ++round) {
      begun = round;
      const std::string id = std::to_string(100 + round);
      std::string members = id;
      if (std::string old = project.listed(); !old.empty()) {
        std::ranges::replace(old, ' ', ',');
        members += "," + old;
      }
      project.change(R"({"set":"changed","members":[)" + members + "]}\n" + R"({"hash":"item:)" + id +
                     R"(","fields":{"v":[)" + id + ",0]}}\n");
      REQUIRE(follower.look());
      served = round;
      const int enough = answers + 2;
      CHECK(eventually([&] { return answers >= enough; }));
    }
    over = true;
  }
  CHECK(wrong == 0);
  CHECK(eventually([&] {
    static_cast<void>(follower.look());
    return process.counts().merges > 0 && process.counts().listed < 2;
  }));
  CHECK(process.counts().failures == 0);
}
