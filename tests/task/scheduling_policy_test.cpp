// tests/task/scheduling_policy_test.cpp: what a scheduler must supply, and what a placement means by default.
#include <braid/task/scheduling_policy.hpp>

#include <braid/task/basic_pool.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace {

/// Lacks what workers ask before they sleep.
struct sleepless {
  static constexpr bool has_monitor = false;
  explicit sleepless(const braid::worker_list& /*workers*/) {}
  auto place(braid::job& /*work*/, const braid::worker* /*poster*/) noexcept -> braid::placement { return {}; }
  auto refill(braid::worker& /*self*/, braid::search /*why*/) noexcept -> braid::found_job { return {}; }
  auto tick(braid::worker& /*self*/) noexcept -> braid::found_job { return {}; }
  auto empty() noexcept -> bool { return true; }
  void close() noexcept {}
  void drop_all() noexcept {}
};

struct complete : sleepless {
  using sleepless::sleepless;
  auto may_park(const braid::worker& /*self*/) noexcept -> bool { return true; }
};

}  // namespace

TEST_CASE("the schedulers of the library are policies, and so is anything with all the calls") {
  CHECK(braid::scheduling_policy<braid::shared_queue>);
  CHECK(braid::scheduling_policy<braid::work_stealing>);
  CHECK(braid::scheduling_policy<braid::least_loaded>);
  CHECK(braid::detail::local_queue_policy<braid::work_stealing>);
  CHECK(braid::detail::local_queue_policy<braid::least_loaded>);
  CHECK_FALSE(braid::detail::local_queue_policy<braid::shared_queue>);
  CHECK(braid::scheduling_policy<complete>);
  CHECK_FALSE(braid::scheduling_policy<sleepless>);
}

TEST_CASE("a placement is a refusal until it says otherwise") {
  const braid::placement placed;
  CHECK(placed.how == braid::placement::verdict::refused);
  CHECK(placed.worker == braid::placement::no_worker);
}
