// tests/rankd/cli/checkup_test.cpp: what the doctor finds of projects and machines that are right or wrong.
#include <rankd/cli/checks/checkup.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/store/load_store.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::scratch_folder;
using rankd::testing::project_copy;

namespace {

namespace fs = std::filesystem;

/// "area status" of each finding.
auto list(const checkup& all) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const finding& each : all.findings()) out.push_back(each.area + " " + std::string(to_string(each.how)));
  return out;
}

/// The first finding about an area that is as bad as this; an empty one where there is none.
auto find(const checkup& all, const std::string& area, health how) -> finding {
  for (const finding& each : all.findings())
    if (each.area == area && each.how == how) return each;
  return {};
}

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

using names = std::vector<std::string>;

/// Of the project alone.
auto examined(const fs::path& folder) -> checkup {
  checkup all;
  if (const auto in = check_project(folder, all)) {
    check_plans(*in, all);
    check_stores(*in, all);
  }
  return all;
}

void fill(const project_copy& project) {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(project.path() / "data/reference"))
    if (entry.path().extension() == ".ndjson") all.push_back(entry.path());
  const auto loaded = load_store(project.store(), all, {});
  REQUIRE(loaded);
}

struct machine : scratch_folder {
  machine() {
    write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n");
    write("proc/self/cgroup", "0::/a/b\n");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  }
};

auto system_of(const machine& of) -> checkup {
  checkup all;
  check_system(of.path(), all);
  return all;
}

}  // namespace

TEST_CASE("a project with all that it needs is fine") {
  const project_copy project;
  fill(project);
  const checkup all = examined(project.path());
  CHECK((list(all) == names{"project ok", "registries ok", "plans ok", "store ep_0001 ok"}));
  CHECK(has(find(all, "plans", health::ok).found, "2 plans can be run"));
  CHECK(has(find(all, "store ep_0001", health::ok).found, "generation 1"));
  CHECK(all.count(health::fail) == 0);
}

TEST_CASE("without a project, or with one that is wrong, nothing behind it is looked at") {
  const scratch_folder nowhere;
  CHECK((list(examined(nowhere.path())) == names{"project fail"}));
  const project_copy project;
  project.write("registry/keys.toml", "nonsense");
  const checkup all = examined(project.path());
  CHECK((list(all) == names{"project ok", "registries fail"}));
  CHECK_FALSE(all.findings().back().advice.empty());
}

TEST_CASE("each plan that is wrong is told, with those that can be run beside") {
  const project_copy project;
  fill(project);
  project.write("plans/compiled/reels_plan_a.json", "{");
  const checkup all = examined(project.path());
  CHECK(has(find(all, "plans", health::fail).found, "[digest_mismatch]"));
  CHECK(has(find(all, "plans", health::ok).found, "1 plan can be run"));
  fs::remove(project.path() / "plans/compiled/index.json");
  CHECK(has(find(examined(project.path()), "plans", health::fail).found, "[json_syntax]"));
  CHECK(has(find(examined(project.path()), "plans", health::warn).found, "no index.json"));
  fs::remove_all(project.path() / "plans/compiled");
  CHECK(has(find(examined(project.path()), "plans", health::fail).found, "[unreadable_folder]"));
  fs::create_directories(project.path() / "plans/compiled");
  CHECK(has(find(examined(project.path()), "plans", health::fail).found, "there are no plans"));
}

TEST_CASE("rules for events are told, and what serve would refuse of them is a failure") {
  const project_copy project;
  fill(project);
  const std::string right =
      "[[counter]]\nname = \"clicks\"\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"stats:{item_id}\"\n";
  project.write("registry/events.toml", right);
  CHECK(find(examined(project.path()), "events", health::ok).found == "3 event types, 1 counter");
  project.write("registry/events.toml", right +
                                            "[[sorted_set]]\nevent = \"click\"\nendpoint = \"ep_0001\"\nkey = \"k\"\n"
                                            "value = \"item_id\"\nmax_items = 9\n");
  CHECK(find(examined(project.path()), "events", health::ok).found == "3 event types, 1 counter, 1 sorted set");
  project.write("registry/events.toml", right + "event = \"clik\"\n");
  CHECK(has(find(examined(project.path()), "events", health::fail).found, "[toml_syntax]"));
  project.write("registry/events.toml", right + "by = 1\n");
  CHECK(has(find(examined(project.path()), "events", health::fail).found, "events.toml: `by` must be a string"));
}

TEST_CASE("a setting of rankd.toml that serve would refuse is a failure") {
  const project_copy project;
  fill(project);
  const std::string settings = rankd::read_text_file(project.path() / "rankd.toml").value();
  project.write("rankd.toml", settings + "[budget.plan.nothing]\nrows = 1\n[audit]\nredact = [\"contex\"]\n");
  const checkup all = examined(project.path());
  CHECK(all.count(health::fail) == 2);
  CHECK(has(find(all, "project", health::fail).found, "no plan is called `nothing` [unknown_plan]"));
  CHECK(has(find(all, "plans", health::ok).found, "2 plans can be run"));
}

TEST_CASE("a store that is missing, broken, empty or older than its data is told") {
  const project_copy project;
  CHECK(has(find(examined(project.path()), "store ep_0001", health::warn).found, "not been filled"));
  fill(project);
  fs::last_write_time(project.path() / "data/reference/media.ndjson",
                      fs::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(has(find(examined(project.path()), "store ep_0001", health::warn).found, "changed since"));
  for (const auto& entry : fs::directory_iterator(project.store()))
    if (entry.path().extension() == ".mdb") fs::resize_file(entry.path(), 4096);
  CHECK(has(find(examined(project.path()), "store ep_0001", health::fail).found, "[store_truncated]"));
}

TEST_CASE("a store with a damaged block fails with the block, and one without checksums is told") {
  const project_copy project;
  fill(project);
  const fs::path data = project.store() / "data-1.mdb";
  const auto size = fs::file_size(data);
  {
    std::fstream both(data, std::ios::binary | std::ios::in | std::ios::out);
    both.seekp(static_cast<std::streamoff>(size - 1)).put('\x5a').flush();
  }
  const std::string found = find(examined(project.path()), "store ep_0001", health::fail).found;
  CHECK(has(found, "data-1.mdb: block "));
  CHECK(has(found, "[store_corrupt]"));
  project.write("build/data/reference.lmdb/rankd-store", "rankd-store 1\n1 " + std::to_string(size) + "\n");
  const checkup all = examined(project.path());
  CHECK(has(find(all, "store ep_0001", health::warn).found, "has no checksums"));
  CHECK(all.count(health::fail) == 0);
}

TEST_CASE("only the first of many diagnostics are told, and how many there are more") {
  braid::diagnostics many;
  for (int at = 0; at < 8; ++at)
    many.add({.code = "c", .pointer = {}, .message = "m", .hint = {}, .node = "n", .source = "f"});
  checkup all;
  all.fail("x", many, "do");
  CHECK(all.findings().size() == 6);
  CHECK(all.findings().front().found == "f: node `n`: m [c]");
  CHECK(all.findings().front().advice == "do");
  CHECK(all.findings().back().found == "3 more diagnostics");
}

TEST_CASE("memory is what machine and cgroups leave together") {
  machine of;
  const auto memory = [&] { return system_of(of).findings(); };
  const auto found = [&] {
    for (const finding& each : memory())
      if (each.area == "memory") return std::string(to_string(each.how)) + " " + each.found;
    return std::string("nothing");
  };
  CHECK(found() == "ok 3906 MiB of memory are left on this machine");
  of.write("sys/fs/cgroup/a/memory.max", "2147483648\n");
  of.write("sys/fs/cgroup/a/memory.current", "1073741824\n");
  CHECK(found() == "ok 1024 MiB of memory are left in this cgroup");
  of.write("sys/fs/cgroup/a/b/memory.max", "1048576\n");
  of.write("sys/fs/cgroup/a/b/memory.current", "2097152\n");
  CHECK(found() == "warn 0 MiB of memory are left in this cgroup");
  of.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(found() == "ok 1024 MiB of memory are left in this cgroup");
  fs::remove_all(of.path() / "proc");
  fs::remove_all(of.path() / "sys/fs");
  CHECK(found() == "warn the amount of free memory is unknown");
}

TEST_CASE("a slow clock is told") {
  machine of;
  CHECK(has(find(system_of(of), "clock", health::ok).found, "source tsc, "));
  of.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  CHECK(has(find(system_of(of), "clock", health::warn).found, "source hpet, "));
  fs::remove_all(of.path() / "sys/devices");
  CHECK(has(find(system_of(of), "clock", health::ok).found, "source unknown, "));
}

TEST_CASE("workers, descriptors and kernel are told in any case") {
  const checkup all = system_of(machine());
  for (const char* area : {"descriptors", "memory", "cpus", "kernel", "clock"}) {
    CAPTURE(area);
    const auto& found = all.findings();
    CHECK(std::ranges::find(found, area, &finding::area) != found.end());
  }
}

TEST_CASE("findings are lines for people and an object for programs, and steer no terminal") {
  checkup all;
  all.ok("a", "fine\x1b");
  all.warn("long", "so so", "do this");
  all.fail("b", "bad \"x\"", "do that");
  CHECK(to_text(all) ==
        "ok    a     fine\\x1b\n"
        "warn  long  so so\n"
        "            -> do this\n"
        "fail  b     bad \"x\"\n"
        "            -> do that\n"
        "1 failure, 1 warning\n");
  const auto parsed = nlohmann::json::parse(to_json(all));
  CHECK(parsed.at("failures") == 1);
  CHECK(parsed.at("warnings") == 1);
  CHECK(parsed.at("findings").size() == 3);
  CHECK(parsed.at("findings").at(2).at("status") == "fail");
  CHECK(parsed.at("findings").at(2).at("advice") == "do that");
  CHECK(nlohmann::json::parse(to_json(checkup())).at("findings").empty());
}
