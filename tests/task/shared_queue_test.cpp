// tests/task/shared_queue_test.cpp: jobs leave in the order in which they came, and a closed queue takes none.
#include <braid/task/shared_queue.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/manual_executor.hpp>

#include <array>
#include <thread>
#include <vector>

namespace {

struct counted_job final : braid::job {
  counted_job() : job(&act) {}
  static void act(braid::job& self, action what) {
    auto& mine = static_cast<counted_job&>(self);
    ++(what == action::run ? mine.runs : mine.drops);
  }
  int runs = 0;
  int drops = 0;
};

auto is_taken(const braid::placement& placed) -> bool { return placed.how != braid::placement::verdict::refused; }

struct fixture {
  braid::testing::manual_executor nowhere;
  braid::worker self{nowhere, 0};
  braid::shared_queue queue;
  std::array<counted_job, 3> jobs;
};

}  // namespace

TEST_CASE("a shared queue is a policy for pools") {
  CHECK(braid::scheduling_policy<braid::shared_queue>);
  CHECK_FALSE(braid::scheduling_policy<int>);
}

TEST_CASE_FIXTURE(fixture, "jobs leave in the order in which they came") {
  CHECK(queue.empty());
  CHECK(queue.refill(self, braid::search::routine) == nullptr);
  for (counted_job& one : jobs) CHECK(is_taken(queue.place(one, nullptr)));
  CHECK_FALSE(queue.empty());
  for (counted_job& one : jobs) CHECK(queue.refill(self, braid::search::routine) == &one);
  CHECK(queue.empty());
}

TEST_CASE_FIXTURE(fixture, "a worker may park only while nothing is queued") {
  CHECK(queue.may_park(self));
  CHECK(is_taken(queue.place(jobs[0], nullptr)));
  CHECK_FALSE(queue.may_park(self));
  CHECK(queue.tick(self) == nullptr);
  CHECK(queue.refill(self, braid::search::routine) == jobs.data());
  CHECK(queue.may_park(self));
}

TEST_CASE_FIXTURE(fixture, "a closed queue refuses, and still gives what it has") {
  CHECK(is_taken(queue.place(jobs[0], nullptr)));
  queue.close();
  CHECK_FALSE(is_taken(queue.place(jobs[1], nullptr)));
  CHECK(queue.refill(self, braid::search::routine) == jobs.data());
  CHECK(queue.refill(self, braid::search::routine) == nullptr);
  CHECK(jobs[1].runs + jobs[1].drops == 0);
}

TEST_CASE_FIXTURE(fixture, "everything that has not started can be taken at once") {
  for (counted_job& one : jobs) CHECK(is_taken(queue.place(one, nullptr)));
  auto all = queue.take_all();
  CHECK(queue.empty());
  for (counted_job& one : jobs) CHECK(all.pop() == &one);
  CHECK(queue.take_all().empty());
  CHECK(is_taken(queue.place(jobs[1], nullptr)));
  CHECK(queue.refill(self, braid::search::routine) == &jobs[1]);
}

TEST_CASE_FIXTURE(fixture, "threads that place and take at once lose no job and double none") {
  constexpr std::size_t each = 2000;
  std::vector<counted_job> many(2 * each);
  std::vector<std::thread> threads;
  for (std::size_t half = 0; half < 2; ++half)
    threads.emplace_back([&, half] {
      for (std::size_t i = 0; i < each; ++i) static_cast<void>(is_taken(queue.place(many[half * each + i], nullptr)));
    });
  for (std::size_t taken = 0; taken < many.size();) {
    if (braid::job* one = queue.refill(self, braid::search::routine)) {
      one->run();
      ++taken;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const counted_job& one : many) REQUIRE(one.runs == 1);
  CHECK(queue.empty());
}
