// tests/task/shared_queue_test.cpp: jobs leave in the order in which they came, and a closed queue takes none.
#include <braid/task/basic_pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/bare_workers.hpp>

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
  /// Takes the next job, if there is one, and runs it: whether it was this one.
  auto runs(const counted_job& expected) -> bool {
    const int before = expected.runs;
    braid::found_job found = queue.refill(self, braid::search::routine);
    if (found) found.run();
    return expected.runs == before + 1;
  }
  auto finds_nothing() -> bool { return !queue.refill(self, braid::search::routine); }

  braid::testing::bare_workers scheduler_base{1};
  braid::worker& self = scheduler_base[0];
  braid::shared_queue queue{scheduler_base.list};
  std::array<counted_job, 3> jobs;
};

}  // namespace

TEST_CASE("a shared queue is a policy for pools") {
  CHECK(braid::scheduling_policy<braid::shared_queue>);
  CHECK_FALSE(braid::scheduling_policy<int>);
}

TEST_CASE_FIXTURE(fixture, "jobs leave in the order in which they came") {
  CHECK(queue.empty());
  CHECK(finds_nothing());
  for (counted_job& one : jobs) CHECK(is_taken(queue.place(one, nullptr)));
  CHECK_FALSE(queue.empty());
  for (counted_job& one : jobs) CHECK(runs(one));
  CHECK(queue.empty());
}

TEST_CASE_FIXTURE(fixture, "a worker may park only while nothing is queued") {
  CHECK(queue.may_park(self));
  CHECK(is_taken(queue.place(jobs[0], nullptr)));
  CHECK_FALSE(queue.may_park(self));
  CHECK_FALSE(queue.tick(self));
  CHECK(runs(jobs[0]));
  CHECK(queue.may_park(self));
}

TEST_CASE_FIXTURE(fixture, "a closed queue refuses, and still gives what it has") {
  CHECK(is_taken(queue.place(jobs[0], nullptr)));
  queue.close();
  CHECK_FALSE(is_taken(queue.place(jobs[1], nullptr)));
  CHECK(runs(jobs[0]));
  CHECK(finds_nothing());
  CHECK(jobs[1].runs + jobs[1].drops == 0);
}

TEST_CASE_FIXTURE(fixture, "everything that has not started can be dropped at once") {
  for (counted_job& one : jobs) CHECK(is_taken(queue.place(one, nullptr)));
  queue.drop_all();
  CHECK(queue.empty());
  for (const counted_job& one : jobs) CHECK(one.drops == 1);
  CHECK(is_taken(queue.place(jobs[1], nullptr)));
  CHECK(runs(jobs[1]));
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
    if (braid::found_job one = queue.refill(self, braid::search::routine)) {
      one.run();
      ++taken;
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const counted_job& one : many) REQUIRE(one.runs == 1);
  CHECK(queue.empty());
}
