// tests/rankd/engine/plan_library_stress.cpp: good and bad reloads while requests run: no answer of two versions, no
// set of two reloads, and no plan that stays. BRAID_STRESS=50 makes 10^4 reloads.
#include <rankd/engine/plans/plan_library.hpp>

#include <tests/rankd/engine/library_world.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/base/random.hpp>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace braid::testing;

namespace {

constexpr std::size_t max_kept = 3;

auto declared() -> const registries& { return reference_project::get().declared; }

/// Pages of this process that are in memory, in KiB.
auto resident_kib() -> std::size_t {
  std::ifstream in("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  in >> total >> resident;
  return resident * 4;
}

/// Writes deployments, right and wrong ones; `value` is what the plans a, b and c of the right ones answer.
class deployer {
 public:
  deployer(const scratch_folder& folder, plan_library& library, std::uint64_t seed)
      : folder_(&folder), library_(&library), random_(seed) {}

  auto refused() const -> std::size_t { return refused_; }
  auto accepted() const -> std::size_t { return accepted_; }

  void deploy() {
    const auto kind = random_.below(8);
    if (kind != 0) ++value_;
    std::vector<std::pair<std::string, std::string>> plans;
    for (const char* name : {"a", "b", "c"}) plans.emplace_back(name, marked_plan(name, value_));
    for (const auto& [name, text] : plans) folder_->write(name + ".json", text);
    folder_->write("index.json", rankd::testing::index_of(plans));
    if (kind == 1) folder_->write("c.json", "{");
    if (kind == 2) folder_->write("b.json", marked_plan("b", value_ + 1));  // not what the index says
    if (kind == 3) std::filesystem::remove(folder_->path() / "b.json");
    const bool is_good = kind == 0 || kind > 3;
    const auto report = library_->reload(folder_->path());
    CHECK(report.has_value() == is_good);
    ++(is_good ? accepted_ : refused_);
    change_pins();
  }

 private:
  /// Of c only, so that a and b stay together.
  void change_pins() {
    const auto kind = random_.below(6);
    if (kind == 0) static_cast<void>(library_->roll_back("c"));
    if (kind == 1) static_cast<void>(library_->unpin("c"));
  }

  const scratch_folder* folder_;
  plan_library* library_;
  braid::random_source random_;
  int value_ = 0;
  std::size_t refused_ = 0;
  std::size_t accepted_ = 0;
};

/// Asks the plans of one set again and again; gives what was wrong first, or nothing.
auto ask(engine_world& world, const plan_library& library, const std::atomic<bool>& over,
         std::atomic<std::size_t>& answers) -> std::string {
  int newest = 0;
  while (!over) {
    const auto set = library.current();
    std::vector<std::string> marks;
    for (const char* name : {"a", "b", "c"})
      marks.push_back(mark_of(world.on().run(
          world.ranker().rank(set->find(name), value_of(parse_request(R"({"user_id":1})", declared()))))));
    ++answers;
    for (const std::string& mark : marks)
      if (mark.find_first_not_of("0123456789") != std::string::npos) return "an answer is " + mark;
    if (marks[0] != marks[1]) return "a set has a of " + marks[0] + " and b of " + marks[1];
    if (std::stoi(marks[0]) < newest) return "an older version than before";
    newest = std::stoi(marks[0]);
  }
  return {};
}

}  // namespace

TEST_CASE("requests under reloads get answers of one version, from sets of one reload") {
  const watchdog dog(std::chrono::seconds(1200));
  const scratch_folder folder;
  plan_library library(declared(), {.max_kept = max_kept});
  const std::size_t reloads = scaled(200);
  deployer by(folder, library, printed_seed());
  while (by.accepted() == 0) by.deploy();

  engine_world world;
  std::atomic<bool> over = false;
  std::atomic<std::size_t> answers = 0;
  std::vector<std::string> wrong(3);
  std::vector<std::thread> asking;
  for (std::string& mine : wrong) asking.emplace_back([&] { mine = ask(world, library, over, answers); });

  std::size_t max_in_memory = 0;
  std::size_t early_kib = 0;
  for (std::size_t at = 0; at < reloads; ++at) {
    by.deploy();
    max_in_memory = std::max(max_in_memory, library.versions_in_memory());
    if (at == reloads / 10) early_kib = resident_kib();
  }
  over = true;
  for (std::thread& each : asking) each.join();
  world.close();

  for (const std::string& each : wrong) CHECK(each.empty());
  const std::size_t late_kib = resident_kib();
  std::printf("%zu reloads accepted, %zu refused, %zu rounds of requests, at most %zu versions, %zu KiB then %zu KiB\n",
              by.accepted(), by.refused(), answers.load(), max_in_memory, early_kib, late_kib);
  // Three plans, one pin, and a set or two in the hands of each thread that asks.
  CHECK(max_in_memory <= 3 * max_kept + 1 + asking.size() * 6);
  CHECK(library.versions_in_memory() <= 3 * max_kept + 1);
  CHECK(library.versions_in_memory() == library.versions().size());
  if (is_stress_run() && !under_address_sanitizer && !under_thread_sanitizer) CHECK(late_kib < early_kib + 16 * 1024);
}

TEST_CASE("an artifact that is written over while it is loaded is one version or another, or refused") {
  const watchdog dog(std::chrono::seconds(600));
  const scratch_folder folder;
  plan_library library(declared());
  constexpr int kinds = 12;  // texts of different lengths: written over in place, one may end with the rest of another
  std::set<std::string> digests;
  const auto text_of = [](int kind) { return marked_plan("a", kind * kind * kind); };
  for (int kind = 0; kind < kinds; ++kind) digests.insert(sha256_hex(text_of(kind)));
  folder.write("a.json", text_of(0));
  value_of(library.reload(folder.path()));

  std::atomic<bool> over = false;
  std::thread writing([&] {
    for (int kind = 0; !over; kind = (kind + 1) % kinds) folder.write("a.json", text_of(kind));
  });
  std::size_t refused = 0;
  const std::size_t reloads = scaled(100);
  for (std::size_t at = 0; at < reloads; ++at) {
    if (!library.reload(folder.path())) ++refused;
    CHECK(digests.contains(value_of(library.find("a"))->digest));
  }
  over = true;
  writing.join();
  std::printf("%zu of %zu reloads were refused\n", refused, reloads);
  value_of(library.reload(folder.path()));
}
