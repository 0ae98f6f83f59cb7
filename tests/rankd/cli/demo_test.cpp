// tests/rankd/cli/demo_test.cpp: the demo project is whole, loads, and never overwrites anything.
#include <rankd/cli/projects/demo.hpp>

#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/load_store.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/umask.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace rankd;
using braid::testing::scratch_folder;
namespace fs = std::filesystem;

const demo_options small = {.size = {.seed = 5, .users = 200, .media = 1'000}};

/// All files of a folder by their relative paths.
auto find_files(const fs::path& folder) -> std::map<std::string, std::string> {
  std::map<std::string, std::string> all;
  for (const auto& item : fs::recursive_directory_iterator(folder)) {
    if (!item.is_regular_file()) continue;
    std::ifstream in(item.path(), std::ios::binary);
    all[fs::relative(item.path(), folder).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return all;
}

auto code_of(const braid::checked<demo_report>& report) -> std::string {
  return report ? "fine" : report.error().front().code;
}

}  // namespace

TEST_CASE("the same options give the same bytes, another seed gives other data") {
  const scratch_folder folder;
  const auto report = write_demo_project(folder.path() / "a", small);
  REQUIRE(report.has_value());
  REQUIRE(write_demo_project(folder.path() / "b/nested", small).has_value());
  demo_options other = small;
  other.size.seed = 6;
  REQUIRE(write_demo_project(folder.path() / "c", other).has_value());
  const auto files = find_files(folder.path() / "a");
  CHECK((files == find_files(folder.path() / "b/nested")));
  CHECK((files != find_files(folder.path() / "c")));
  CHECK(report->files == files.size());
  std::uint64_t bytes = 0;
  for (const auto& [name, text] : files) bytes += text.size();
  CHECK(report->bytes == bytes);
}

TEST_CASE("the shop is whole: registries, ten plans with tests, a model and data that loads") {
  const scratch_folder folder;
  const demo_options shop{.kind = project_kind::shop, .size = {}};
  const auto report = write_demo_project(folder.path() / "shop", shop);
  REQUIRE(report.has_value());
  CHECK(report->files == find_files(folder.path() / "shop").size());
  CHECK(write_demo_project(folder.path() / "shop", shop).error().front().code == "demo_exists");
  const auto loaded = project::load(folder.path() / "shop");
  REQUIRE(loaded.has_value());
  CHECK(registries::load(loaded->registry, loaded->environment).value().id_type() == value_type::string);
  std::map<std::string, int> ends;
  for (const auto& [name, text] : find_files(loaded->plans)) ++ends[name.substr(name.find('.'))];
  CHECK((ends == std::map<std::string, int>{{".json", 10}, {".plan.ts", 10}, {".test.ts", 10}, {".tests.json", 10}}));
  const std::vector files{folder.path() / "shop/data/shop.ndjson"};
  CHECK(load_store(folder.path() / "db", files, {}).value().records == 144);
}

TEST_CASE("the project is one that rankd understands") {
  const scratch_folder folder;
  REQUIRE(write_demo_project(folder.path(), small).has_value());
  const auto loaded = project::load(folder.path());
  REQUIRE(loaded.has_value());
  const auto declared = registries::load(loaded->registry, loaded->environment);
  REQUIRE(declared.has_value());
  CHECK(declared->find_endpoint("ep_0001") != nullptr);
  for (const char* plan : {"home_feed", "reels_plan_a", "concat_plan"}) {
    CAPTURE(plan);
    CHECK(fs::exists(loaded->plans / (std::string(plan) + ".json")));
  }
  CHECK(fs::file_size(folder.path() / "README.md") > 500);
}

TEST_CASE("the registries and the benchmark's plans are the repository's own") {
  const scratch_folder folder;
  REQUIRE(write_demo_project(folder.path(), small).has_value());
  const auto written = find_files(folder.path());
  for (const auto& [name, text] : find_files("registry"))
    if (name != "ops.toml") CHECK(written.at("registry/" + name) == text);
  CHECK_FALSE(written.contains("registry/ops.toml"));  // the compiler of plans brings that of its own version
  const auto compiled = find_files("plans/compiled");
  for (const char* plan : {"reels_plan_a.json", "concat_plan.json"})
    CHECK(written.at(std::string("plans/") + plan) == compiled.at(plan));
}

TEST_CASE("the data loads, and is what the network says") {
  const scratch_folder folder;
  REQUIRE(write_demo_project(folder.path(), small).has_value());
  const auto report = load_if_missing(folder.path() / "store", folder.path() / "data", {});
  REQUIRE((report.has_value() && report->has_value()));
  CHECK((*report)->records == 4 * small.size.users);
  const auto store = embedded_store::open(folder.path() / "store");
  REQUIRE(store.has_value());
  const auto snapshot = store->take_snapshot();
  demo_network network(small.size);
  for (std::uint32_t user = 1; user <= small.size.users; ++user) {
    const auto record = snapshot->find("follow:" + std::to_string(user)).value().value();
    const auto expected = network.follows(user);
    std::vector<std::int64_t> found(record.count());
    record.copy_ids(found);
    CHECK((found == expected));
    const auto hash = snapshot->find("user:" + std::to_string(user)).value().value();
    CHECK(hash.field("title") == network.profile(user).title);
    CHECK(hash.field("country").value_or("") == network.profile(user).country);
  }
}

TEST_CASE("nothing is ever overwritten") {
  const scratch_folder folder;
  REQUIRE(write_demo_project(folder.path() / "demo", small).has_value());
  const auto before = find_files(folder.path() / "demo");
  CHECK(code_of(write_demo_project(folder.path() / "demo", small)) == "demo_exists");
  CHECK((find_files(folder.path() / "demo") == before));

  const fs::path other = folder.write("other/rankd.toml", "name = \"mine\"\n").parent_path();
  CHECK(code_of(write_demo_project(other, small)) == "folder_not_empty");
  CHECK(find_files(other).size() == 1);
  CHECK(code_of(write_demo_project(other / "rankd.toml", small)) == "demo_write_failed");
}

TEST_CASE("a disk that is full leaves nothing of a demo behind") {
  const scratch_folder folder;
  fs::create_directory(folder.path() / "there");
  const auto end = braid::testing::run_in_child([&] {
    ::rlimit limit{.rlim_cur = 20'000, .rlim_max = 20'000};  // as a full disk does, it refuses a write in the middle
    std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string codes;
    for (const char* name : {"new/deep", "there"})
      codes += code_of(write_demo_project(folder.path() / name, small)) + " ";
    std::fputs(codes.c_str(), stderr);
  });
  CHECK(end.errors == "demo_write_failed demo_write_failed ");
  CHECK_FALSE(fs::exists(folder.path() / "new"));
  CHECK(fs::is_empty(folder.path() / "there"));
}

TEST_CASE("a demo that was killed anywhere is no project, and the next one begins it anew") {
  const scratch_folder folder;
  const fs::path whole = folder.path() / "whole";
  REQUIRE(write_demo_project(whole, small).has_value());
  const auto expected = find_files(whole);
  bool killed = true;
  int point = 0;
  for (; killed; ++point) {
    const fs::path demo = folder.path() / std::to_string(point);
    const auto end = braid::testing::run_in_child([&] {
      int left = point;
      demo_options options = small;
      options.progress = [&](const demo_progress&) {
        if (left-- == 0) ::raise(SIGKILL);
      };
      if (!write_demo_project(demo, options)) ::_exit(1);
    });
    killed = end.signal == SIGKILL;
    CHECK(end.status == 0);
    CHECK(fs::exists(demo / "rankd.toml") != killed);
    CHECK(code_of(write_demo_project(demo, small)) == (killed ? "fine" : "demo_exists"));
    CHECK((find_files(demo) == expected));
  }
  CHECK(point >= 8);
}

TEST_CASE("a demo that fails where another one was killed leaves nothing of either") {
  const scratch_folder folder;
  const fs::path demo = folder.path() / "demo";
  const auto killed = braid::testing::run_in_child([&] {
    demo_options options = small;
    options.progress = [](const demo_progress& now) {
      if (now.file == "data/media.ndjson") ::raise(SIGKILL);
    };
    static_cast<void>(write_demo_project(demo, options));
  });
  REQUIRE(killed.signal == SIGKILL);
  REQUIRE(find_files(demo).size() >= 3);
  const auto failed = braid::testing::run_in_child([&] {
    const ::rlimit limit{.rlim_cur = 2'000, .rlim_max = 2'000};
    std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    if (code_of(write_demo_project(demo, small)) != "demo_write_failed") ::_exit(1);
  });
  CHECK(failed.status == 0);
  CHECK(fs::is_empty(demo));
}

TEST_CASE("two processes cannot write a demo into one folder") {
  const scratch_folder folder;
  demo_options options = small;
  std::string inner;
  options.progress = [&](const demo_progress&) { inner = code_of(write_demo_project(folder.path(), small)); };
  CHECK(write_demo_project(folder.path(), options).has_value());
  CHECK(inner == "demo_busy");
}

TEST_CASE("the files of a project are for everybody whom the umask permits") {
  for (const auto& [mask, mode] : {std::pair<::mode_t, ::mode_t>{0022, 0644}, {0077, 0600}}) {
    const scratch_folder folder;
    const braid::testing::umask_for made_under(mask);
    REQUIRE(write_demo_project(folder.path() / "a", {.kind = project_kind::empty, .size = {}}).has_value());
    for (const auto& [name, text] : find_files(folder.path() / "a")) {
      CAPTURE(name);
      CHECK(braid::testing::mode_of(folder.path() / "a" / name) == mode);
    }
  }
}

TEST_CASE("progress counts every line") {
  const scratch_folder folder;
  demo_options options = small;
  std::vector<demo_progress> seen;
  options.progress = [&](const demo_progress& now) { seen.push_back(now); };
  REQUIRE(write_demo_project(folder.path(), options).has_value());
  REQUIRE(seen.size() >= 8);
  CHECK(seen.front().lines_done == 0);
  CHECK(seen.back().lines_done == seen.back().lines_total);
  CHECK(seen.back().lines_total == 4 * small.size.users);
  CHECK(seen.back().file == "data/media.ndjson");
}

TEST_CASE("an empty project is called as its folder, whatever that is") {
  const scratch_folder folder;
  for (const char* name : {"mine", "Näher dran", "a\"b\\c"}) {
    for (const char* end : {"", "/", "/."}) {
      const fs::path made = folder.path() / (std::string(name) + end);
      REQUIRE(write_demo_project(made, {.kind = project_kind::empty, .size = {}}));
      const auto read = project::load(folder.path() / name);
      REQUIRE(read);
      CHECK(read->name == name);
      fs::remove_all(folder.path() / name);
    }
  }
}
