// tests/task/scheduling_policy_test.cpp: what a scheduler must supply, and what a placement means by default.
#include <braid/task/scheduling_policy.hpp>

#include <braid/task/basic_pool.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace {

/// Lacks what workers ask before they sleep.
struct sleepless : braid::scheduling_hooks {
  explicit sleepless(const braid::worker_list& /*workers*/) {}
  auto place(braid::job& /*work*/, braid::worker* /*poster*/) noexcept -> braid::placement override { return {}; }
  auto refill(braid::worker& /*self*/, braid::search /*why*/) noexcept -> braid::found_job override { return {}; }
  auto empty() noexcept -> bool override { return true; }
  void close() noexcept override {}
  void drop_all() noexcept override {}
};

struct complete : sleepless {
  using sleepless::sleepless;
  auto may_park(braid::worker& /*self*/) noexcept -> bool override { return true; }
};

/// Has all the calls, but not as hooks.
struct unrelated {
  explicit unrelated(const braid::worker_list& /*workers*/) {}
};

}  // namespace

TEST_CASE("the schedulers of the library are policies, and so is anything with all the hooks") {
  CHECK(braid::scheduling_policy<braid::shared_queue>);
  CHECK(braid::scheduling_policy<braid::work_stealing>);
  CHECK(braid::scheduling_policy<braid::least_loaded>);
  CHECK(braid::detail::context_policy<braid::work_stealing>);
  CHECK(braid::detail::context_policy<braid::least_loaded>);
  CHECK_FALSE(braid::detail::context_policy<braid::shared_queue>);
  CHECK(braid::scheduling_policy<complete>);
  CHECK_FALSE(braid::scheduling_policy<sleepless>);
  CHECK_FALSE(braid::scheduling_policy<unrelated>);
}

TEST_CASE("hooks that a policy leaves out find nothing, and promise nothing") {
  const braid::worker_list none;
  complete policy(none);
  braid::scheduling_hooks& hooks = policy;
  CHECK_FALSE(hooks.has_monitor());
  CHECK_FALSE(hooks.is_quiescent());
  CHECK(hooks.queue_of_all() == nullptr);
}

TEST_CASE("a placement is a refusal until it says otherwise") {
  const braid::placement placed;
  CHECK(placed.how == braid::placement::verdict::refused);
  CHECK(placed.worker == braid::placement::no_worker);
}
