// tests/task/work_stealing_test.cpp: the queues that jobs go to, and the order of thieves and victims; pool_test runs
// the rest.
#include <braid/task/basic_pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/local_queue_jobs.hpp>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

using braid::search;
using verdict = braid::placement::verdict;
using namespace std::chrono_literals;

namespace {

using fixture = braid::testing::local_queue_jobs<braid::work_stealing>;

}  // namespace

TEST_CASE_FIXTURE(fixture, "a worker's jobs lie at its own seat, those from elsewhere at that of the busy one") {
  CHECK(place(0, &scheduler_base[2]).worker == 2);
  CHECK(place(1).worker == 0);
  CHECK(policy.may_park(scheduler_base[1]));
  CHECK_FALSE(policy.may_park(scheduler_base[2]));
  CHECK_FALSE(policy.may_park(scheduler_base[0]));
  CHECK(run_next(2, search::routine) == 0);
  CHECK(run_next(0, search::routine) == 1);
  CHECK(policy.empty());
}

TEST_CASE_FIXTURE(fixture, "a job is urgent while nothing is known of its worker's jobs, or they are long") {
  CHECK(place(0).how == verdict::urgent);
  CHECK(run_next(0, search::routine) == 0);
  run_jobs_of(100ns, 0);
  CHECK(place(1).how == verdict::can_wait);
  run_jobs_of(50us, 1);
  CHECK(place(2, &scheduler_base[1]).how == verdict::urgent);
  policy.drop_all();
}

TEST_CASE_FIXTURE(fixture, "a worker that was woken takes the older half, and goes on with it in order") {
  for (const bool posted_by_it : {true, false}) {
    run_jobs_of(100ns, 0);
    for (std::size_t i = 0; i < 5; ++i) static_cast<void>(place(i, posted_by_it ? &scheduler_base[0] : nullptr));
    CHECK(run_next(1, search::woken) == 0);
    CHECK(scheduler_base[1].idle.should_wake_peer);
    CHECK(run_next(1, search::routine) == 1);
    CHECK(run_next(1, search::routine) == 2);
    CHECK(run_next(1, search::routine) == -1);
    CHECK(run_next(0, search::routine) == 3);
    CHECK(run_next(2, search::woken) == 4);
    CHECK(policy.empty());
  }
}

TEST_CASE_FIXTURE(fixture, "a worker can take from others although other threads use all ports of its inbox") {
  std::vector<std::shared_ptr<braid::detail::inbox<>::producer>> taken;
  while (auto port = scheduler_base[1].box.open_producer()) taken.push_back(std::move(port));
  REQUIRE_FALSE(taken.empty());
  static_cast<void>(place(0));
  CHECK(run_next(1, search::woken) == 0);
}

TEST_CASE_FIXTURE(fixture, "who has run a job leaves a short backlog to the others, and takes half of a long one") {
  run_jobs_of(100ns, 0);
  static_cast<void>(place(0));
  static_cast<void>(place(1));
  CHECK(run_next(1, search::routine) == -1);
  run_jobs_of(15us, 0);
  CHECK(run_next(1, search::routine) == 0);
  CHECK(run_next(0, search::routine) == 1);
}

TEST_CASE_FIXTURE(fixture, "who watches takes what lies behind a worker that has begun too few jobs since") {
  run_jobs_of(100ns, 0);
  CHECK(run_next(1, search::monitor) == -1);
  for (std::size_t i = 0; i < 4; ++i) static_cast<void>(place(i));
  CHECK(run_next(1, search::monitor) == 0);
  CHECK(run_next(1, search::routine) == 1);
  CHECK(run_next(0, search::routine) == 2);
  // From now on jobs from elsewhere go to the one that goes on.
  CHECK(place(5).worker == 1);
  policy.drop_all();
}

TEST_CASE_FIXTURE(fixture, "a worker that keeps pace with its jobs is left alone by who watches") {
  run_jobs_of(100ns, 0);
  CHECK(run_next(1, search::monitor) == -1);
  run_jobs_of(100ns, 0);
  for (std::size_t i = 0; i < 4; ++i) static_cast<void>(place(i));
  CHECK(run_next(1, search::monitor) == -1);
  policy.drop_all();
}

TEST_CASE_FIXTURE(fixture, "what is to run next runs ahead of the queue, but only a few times in a row") {
  for (std::size_t i = 0; i < 2; ++i) static_cast<void>(place(i, &scheduler_base[0]));
  for (std::size_t i = 2; i < 5; ++i) {
    scheduler_base[0].queue.push_next(jobs[i]);
    CHECK(run_next(0, search::routine) == static_cast<std::ptrdiff_t>(i));
  }
  scheduler_base[0].queue.push_next(jobs[5]);
  CHECK(run_next(0, search::routine) == 0);
  CHECK(run_next(0, search::routine) == 5);
  CHECK(run_next(0, search::routine) == 1);
}

TEST_CASE_FIXTURE(fixture, "what is to run next behind a long job can be taken, too") {
  scheduler_base[0].queue.push_next(jobs[0]);
  CHECK(run_next(1, search::woken) == 0);
}

TEST_CASE_FIXTURE(fixture, "in fairness a worker takes what others have posted ahead of its own jobs") {
  static_cast<void>(place(0, &scheduler_base[0]));
  static_cast<void>(place(1));
  CHECK(run(policy.tick(scheduler_base[0])) == 1);
  CHECK(run_next(0, search::routine) == 0);
}

TEST_CASE_FIXTURE(fixture, "a closed scheduler refuses, and gives everything to everybody") {
  run_jobs_of(100ns, 0);
  static_cast<void>(place(0));
  static_cast<void>(place(1, &scheduler_base[2]));
  policy.close();
  CHECK(place(2).how == verdict::refused);
  CHECK(place(2, &scheduler_base[1]).how == verdict::refused);
  CHECK(run_next(1, search::routine) == 1);
  CHECK(run_next(1, search::routine) == 0);
  CHECK(policy.empty());
}

TEST_CASE_FIXTURE(fixture, "everything that has not started can be dropped at once") {
  for (std::size_t i = 0; i < 3; ++i) static_cast<void>(place(i, &scheduler_base[i]));
  static_cast<void>(place(3));
  scheduler_base[1].queue.push_next(jobs[4]);
  policy.close();
  policy.drop_all();
  CHECK(dropped == 5);
  CHECK(policy.empty());
}

TEST_CASE_FIXTURE(fixture, "while everything is dropped, nobody moves jobs to a seat where they would be overlooked") {
  for (std::size_t i = 0; i < 4; ++i) static_cast<void>(place(i, &scheduler_base[2]));
  for (std::size_t i = 4; i < 8; ++i) REQUIRE(scheduler_base[2].box.post([] {}) == braid::detail::post_outcome::posted);
  policy.close();
  when_dropped = [this] { CHECK(run_next(0, search::routine) == -1); };
  policy.drop_all();
  CHECK(dropped == 4);
  CHECK(policy.empty());
}
