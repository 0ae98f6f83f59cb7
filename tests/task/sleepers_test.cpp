// tests/task/sleepers_test.cpp: when a worker watches, and until when.
#include <braid/task/detail/sleepers.hpp>

#include <doctest/doctest.h>

#include <tests/support/manual_executor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

using braid::placement;
using braid::time_point;
using braid::detail::sleepers;
using braid::detail::wake_cause;

namespace {

/// Writes down until when somebody sleeps in it, and says how that ends.
class scripted_driver final : public braid::driver {
 public:
  scripted_driver(std::vector<time_point>& deadlines, std::function<bool()>& ends)
      : deadlines_(deadlines), ends_(ends) {}
  void park() noexcept override { static_cast<void>(ends_()); }
  [[nodiscard]] auto park_until(time_point deadline) noexcept -> bool override {
    deadlines_.push_back(deadline);
    return ends_();
  }
  void unpark() noexcept override {}

 private:
  std::vector<time_point>& deadlines_;
  std::function<bool()>& ends_;
};

/// Seats at which nobody finds anything to run.
class workers_out_of_reach final : public braid::detail::scheduler_base {
 public:
  auto place(braid::job&, braid::worker*, braid::priority) noexcept -> placement override { return {}; }
  auto worker_for(braid::worker*) noexcept -> braid::worker* override { return nullptr; }
  void work(braid::worker&) noexcept override {}
  auto run_one(braid::worker&, braid::search) noexcept -> bool override { return false; }
  [[nodiscard]] auto has_monitor() const noexcept -> bool override { return true; }
  [[nodiscard]] auto may_park(braid::worker&) noexcept -> bool override { return true; }
  [[nodiscard]] auto empty() noexcept -> bool override { return holds_none; }
  void close() noexcept override {}
  void drop_all() noexcept override {}

  bool holds_none = true;
};

/// Workers: the last goes to sleep on the calling thread, and the others run.
struct scene {
  explicit scene(std::size_t workers) : list(made(workers)), all(list, barrier) {}

  auto made(std::size_t workers) -> braid::worker_list {
    braid::worker_list result;
    for (std::size_t index = 0; index < workers; ++index)
      result.push_back(std::make_unique<braid::worker>(nowhere, index, barrier, braid::steady_time(),
                                                       std::make_unique<scripted_driver>(deadlines, ends)));
    return result;
  }

  auto sleep() -> wake_cause {
    const wake_cause woken = all.sleep(*list.back(), local_queues);
    if (woken == wake_cause::claimed) all.end_search();
    return woken;
  }

  braid::testing::manual_executor nowhere;
  braid::detail::asymmetric_barrier barrier;
  std::vector<time_point> deadlines;
  std::function<bool()> ends = [this] {
    all.wake_for({.how = placement::verdict::urgent});
    return true;
  };
  workers_out_of_reach local_queues;
  braid::worker_list list;
  sleepers all;
};

}  // namespace

TEST_CASE("a pick does not put off when a watch is due") {
  scene two(2);
  CHECK(two.sleep() == wake_cause::claimed);
  CHECK(two.sleep() == wake_cause::claimed);
  REQUIRE(two.deadlines.size() == 2);
  CHECK(two.deadlines[0] == two.deadlines[1]);
}

TEST_CASE("a watch that was due is followed by a later one") {
  scene two(2);
  two.ends = [] { return false; };
  CHECK(two.sleep() == wake_cause::monitored);
  CHECK(two.sleep() == wake_cause::monitored);
  REQUIRE(two.deadlines.size() == 2);
  CHECK(two.deadlines[0] < two.deadlines[1]);
}

TEST_CASE("where all sleep one of them watches if a job lies anywhere") {
  for (const bool nothing : {true, false}) {
    scene one(1);
    one.local_queues.holds_none = nothing;
    CHECK(one.sleep() == wake_cause::claimed);
    CHECK(one.deadlines.empty() == nothing);
  }
}
