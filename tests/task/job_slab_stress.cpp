// tests/task/job_slab_stress.cpp: under load, and under stops in the middle of it, each job runs once or is dropped
// once, behind what it continues and before what waits for it.
#include <braid/task/job_slab.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::job_slab;
using braid::relaxed;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

/// One line of the ledger: a job, and what became of it.
struct entry {
  braid::atomic<int> runs{0};
  braid::atomic<int> before{0};  // runs of what it continues, as it saw them
  const entry* after = nullptr;  // what it continues
  bool accepted = false;         // written by its maker: it was scheduled, or continues what was scheduled
};

/// A callable that fits the slot and checks its own content, so that a slot that is used twice at once is noticed.
struct work {
  entry* line;
  std::array<std::uint64_t, 6> pattern;

  work(entry& of, std::uint64_t number) : line(&of) { pattern.fill(number); }

  void operator()() {
    if (line->after != nullptr) line->before.store(line->after->runs.load(relaxed), relaxed);
    for (const std::uint64_t each : pattern)
      if (each != pattern[0]) line->runs.fetch_add(100, relaxed);
    line->runs.fetch_add(1, relaxed);
  }
};

/// Makes jobs on one thread until its lines are used up or the slab is closed.
class planter {
 public:
  planter(job_slab& slab, std::size_t size, std::uint64_t seed) : slab_(slab), random_(seed), entries_(size) {}

  void plant_all() {
    while (used_ + max_count <= entries_.size() && plant()) {}
  }

  /// Lines that were neither run once nor left out, or ran too early, or although nobody had accepted them.
  [[nodiscard]] auto wrong() const -> std::ptrdiff_t {
    return std::ranges::count_if(entries_, [](const entry& line) {
      const int runs = line.runs.load(relaxed);
      const bool early = runs == 1 && line.after != nullptr && line.before.load(relaxed) != 1;
      return runs > (line.accepted ? 1 : 0) || early;
    });
  }
  [[nodiscard]] auto accepted() const -> std::ptrdiff_t { return std::ranges::count_if(entries_, &entry::accepted); }
  [[nodiscard]] auto runs() const -> std::ptrdiff_t {
    return std::ranges::count_if(entries_, [](const entry& line) { return line.runs.load(relaxed) == 1; });
  }

 private:
  static constexpr std::size_t max_count = 12;  // lines of one planting

  struct planted {
    job_slab::handle job;
    entry* line;
  };

  /// A job, or nothing: the slab is full or closed.
  auto open(const entry* after) -> std::optional<planted> {
    entry& line = entries_[used_];
    line.after = after;
    const auto job = slab_.allocate(work(line, used_));
    if (!job) {
      closed_ = job.error() == errc::closed;
      return std::nullopt;
    }
    ++used_;
    jobs_.push_back(*job);
    return planted{*job, &line};
  }

  /// A parent with children, and jobs that continue it, the last of them maybe after its end. False when the slab is
  /// closed.
  auto plant() -> bool {
    const auto root = open(nullptr);
    if (!root) return await_room();
    std::vector<planted> followers;
    const auto follow = [&] {
      const auto next = open(root->line);
      if (!next) return;
      if (slab_.continue_with(root->job, next->job)) return followers.push_back(*next);
      next->line->after = nullptr;  // the root is gone; what is never scheduled would fill the ring
      next->line->accepted = slab_.schedule(next->job).has_value();
    };
    for (std::uint64_t i = random_.below(5); i > 0; --i) follow();
    for (std::uint64_t i = random_.below(5); i > 0; --i) {
      const auto child = open(nullptr);
      if (!child) continue;
      static_cast<void>(slab_.finish_with(child->job, root->job));
      child->line->accepted = slab_.schedule(child->job).has_value();
    }
    root->line->accepted = slab_.schedule(root->job).has_value();
    if (root->line->accepted) follow();
    for (const planted& each : followers) each.line->accepted = root->line->accepted;
    last_ = followers.empty() || random_.below(2) == 0 ? root->job : followers.back().job;
    if (random_.below(3) == 0) check_wait();
    return root->line->accepted;
  }

  /// Which job the next slot holds is unknown, so it waits for all of them. False when the slab was stopped.
  auto await_room() -> bool {
    for (const job_slab::handle& job : std::exchange(jobs_, {})) static_cast<void>(slab_.wait(job));
    std::this_thread::yield();
    return !closed_;
  }

  void check_wait() {
    const auto ended = slab_.wait(last_);
    if (!ended) CHECK((ended.error() == errc::dropped || ended.error() == errc::stale));
  }

  job_slab& slab_;
  braid::random_source random_;
  std::vector<entry> entries_;
  std::size_t used_ = 0;
  job_slab::handle last_;
  bool closed_ = false;
  std::vector<job_slab::handle> jobs_;
};

/// Some threads plant, the maker among them; maybe somebody stops the slab meanwhile.
void run_round(std::uint64_t seed, bool stops_early) {
  braid::random_source random(seed);
  const auto threads = static_cast<unsigned>(random.below(4));
  const auto idle_sleep = std::chrono::microseconds(random.below(3) * 30);
  job_slab slab({.jobs_per_thread = 12 + random.below(40), .threads = threads, .idle_sleep = idle_sleep});
  std::vector<std::unique_ptr<planter>> planters;
  for (int i = 0; i < 3; ++i) planters.push_back(std::make_unique<planter>(slab, 400, random()));
  REQUIRE(slab.start());
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < planters.size(); ++i) others.emplace_back([&, i] { planters[i]->plant_all(); });
  const job_slab::stop_mode mode = random.below(2) == 0 ? job_slab::stop_mode::drain : job_slab::stop_mode::drop;
  if (stops_early)
    others.emplace_back([&, pause = random.below(300)] {
      std::this_thread::sleep_for(std::chrono::microseconds(pause));
      slab.stop(mode);
    });
  planters[0]->plant_all();
  if (threads == 0 && !stops_early) {  // the others wait for the maker
    const job_slab::handle last = slab.allocate([] {}).value_or(job_slab::handle());
    static_cast<void>(slab.schedule(last));
    static_cast<void>(slab.wait(last));
  }
  if (threads == 0) {
    slab.stop(mode);
    REQUIRE(slab.join());  // runs what is left; until then the others wait for it
  }
  for (std::thread& each : others) each.join();
  slab.stop(job_slab::stop_mode::drain);
  REQUIRE(slab.join());
  std::ptrdiff_t accepted = 0;
  std::ptrdiff_t runs = 0;
  for (const auto& each : planters) {
    CHECK(each->wrong() == 0);
    accepted += each->accepted();
    runs += each->runs();
  }
  CHECK(accepted == runs + static_cast<std::ptrdiff_t>(slab.dropped()));
}

}  // namespace

TEST_CASE("jobs that threads allocate, tie together and wait for run once, after what they continue") {
  const braid::testing::watchdog patience(250s);
  braid::random_source seeds(braid::testing::printed_seed());
  for (std::size_t round = scaled(60); round > 0; --round) run_round(seeds(), false);
}

TEST_CASE("a stop in the middle drops or runs each job that was accepted") {
  const braid::testing::watchdog patience(250s);
  braid::random_source seeds(braid::testing::printed_seed());
  for (std::size_t round = scaled(200); round > 0; --round) run_round(seeds(), true);
}
