// tests/task/work_stealing_test.cpp: where jobs go, and who takes them from whom; pool_test runs the rest.
#include <braid/task/work_stealing.hpp>

#include <doctest/doctest.h>

#include <tests/support/manual_executor.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

using braid::placement;
using braid::search;
using verdict = braid::placement::verdict;
using namespace std::chrono_literals;

namespace {

struct idle_job final : braid::job {
  idle_job() : job([](braid::job&, action) {}) {}
};

struct fixture {
  braid::testing::manual_executor nowhere;
  std::array<braid::worker, 3> workers{braid::worker{nowhere, 0}, braid::worker{nowhere, 1}, braid::worker{nowhere, 2}};
  braid::manual_clock clock;
  braid::work_stealing policy{3, clock};
  std::array<idle_job, 8> jobs;

  auto place(std::size_t index, const braid::worker* poster = nullptr) -> placement {
    return policy.place(jobs[index], poster);
  }

  /// The position of the job that a worker finds, or -1.
  auto find(std::size_t worker, search why) -> std::ptrdiff_t {
    const braid::job* found = policy.refill(workers[worker], why);
    return found == nullptr ? -1 : static_cast<const idle_job*>(found) - jobs.data();
  }

  /// Runs jobs at a seat, of this length each, until that is what jobs there are known to take.
  void run_jobs_of(braid::duration length, std::size_t seat) {
    idle_job one;
    for (int i = 0; i < 10'000; ++i) {
      CHECK(policy.place(one, &workers[seat]).seat == seat);
      CHECK(policy.refill(workers[seat], search::routine) == &one);
      clock.advance(length);
    }
  }
};

}  // namespace

TEST_CASE("work stealing is a policy for pools") { CHECK(braid::scheduling_policy<braid::work_stealing>); }

TEST_CASE_FIXTURE(fixture, "a worker's jobs lie at its own seat, those from elsewhere at that of the busy one") {
  CHECK(place(0, &workers[2]).seat == 2);
  CHECK(place(1).seat == 0);
  CHECK(policy.may_park(workers[1]));
  CHECK_FALSE(policy.may_park(workers[2]));
  CHECK(find(2, search::routine) == 0);
  CHECK(find(0, search::routine) == 1);
  CHECK(policy.empty());
}

TEST_CASE_FIXTURE(fixture,
                  "a job of which nothing is known is urgent, and so is a backlog of more than twenty microseconds") {
  CHECK(place(0).how == verdict::urgent);
  CHECK(find(0, search::routine) == 0);
  run_jobs_of(100ns, 0);
  std::vector<idle_job> many(300);
  for (std::size_t i = 0; i < 150; ++i) CHECK(policy.place(many[i], nullptr).how == verdict::can_wait);
  for (std::size_t i = 150; i < 250; ++i) static_cast<void>(policy.place(many[i], nullptr));
  CHECK(policy.place(many[250], nullptr).how == verdict::urgent);
  run_jobs_of(50us, 1);
  CHECK(place(0, &workers[1]).how == verdict::urgent);
}

TEST_CASE_FIXTURE(fixture, "a worker that was woken takes the older half, and goes on with it in order") {
  run_jobs_of(100ns, 0);
  for (std::size_t i = 0; i < 5; ++i) place(i);
  CHECK(find(1, search::woken) == 0);
  CHECK(find(1, search::routine) == 1);
  CHECK(find(1, search::routine) == 2);
  CHECK(find(1, search::routine) == -1);
  CHECK(find(0, search::routine) == 3);
  CHECK(find(2, search::woken) == 4);
  CHECK(policy.empty());
}

TEST_CASE_FIXTURE(fixture, "who has run a job leaves a short backlog to the others") {
  run_jobs_of(100ns, 0);
  place(0);
  place(1);
  CHECK(find(1, search::routine) == -1);
  CHECK(find(0, search::routine) == 0);
}

TEST_CASE_FIXTURE(fixture, "who watches takes what lies behind a worker that has taken nothing since") {
  run_jobs_of(100ns, 0);
  for (std::size_t i = 0; i < 4; ++i) place(i);
  CHECK(find(1, search::watch) == -1);  // the first look
  CHECK(find(0, search::routine) == 0);
  CHECK(find(1, search::watch) == -1);  // it goes on
  CHECK(find(1, search::watch) == 1);
  CHECK(find(1, search::routine) == 2);
  CHECK(find(0, search::routine) == 3);
  // From now on jobs from elsewhere go to the one that goes on.
  CHECK(place(5).seat == 1);
}

TEST_CASE_FIXTURE(fixture, "a closed scheduler refuses, and gives everything to everybody") {
  run_jobs_of(100ns, 0);
  place(0);
  place(1, &workers[2]);
  policy.close();
  CHECK(place(2).how == verdict::refused);
  CHECK(place(2, &workers[1]).how == verdict::refused);
  CHECK(find(1, search::routine) == 1);
  CHECK(find(1, search::routine) == 0);
  CHECK(policy.empty());
}

TEST_CASE_FIXTURE(fixture, "everything that has not started can be taken at once") {
  for (std::size_t i = 0; i < 3; ++i) place(i, &workers[i]);
  policy.close();
  auto all = policy.take_all();
  CHECK(all.pop() == jobs.data());
  CHECK(all.pop() == &jobs[1]);
  CHECK(all.pop() == &jobs[2]);
  CHECK(all.pop() == nullptr);
  CHECK(policy.empty());
}
