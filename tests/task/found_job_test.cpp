// tests/task/found_job_test.cpp: what was found runs once, or is dropped.
#include <braid/task/scheduling_policy.hpp>

#include <doctest/doctest.h>

#include <tests/support/bare_workers.hpp>

#include <memory>
#include <utility>

using braid::found_job;

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

}  // namespace

TEST_CASE("nothing was found") {
  const found_job nothing;
  CHECK_FALSE(nothing);
}

TEST_CASE("a job that was found runs once") {
  counted_job one;
  {
    found_job found(&one);
    CHECK(found);
    found_job moved(std::move(found));
    CHECK(moved);
    moved.run();
    CHECK(one.runs == 1);
  }
  CHECK(one.runs == 1);
  CHECK(one.drops == 0);
}

TEST_CASE("a job that was found and not run is dropped") {
  counted_job one;
  { const found_job found(&one); }
  CHECK(one.runs == 0);
  CHECK(one.drops == 1);
}

TEST_CASE("so is a callable in an inbox, whose captures end with it") {
  braid::testing::bare_workers scheduler_base(1);
  const auto captured = std::make_shared<int>(0);
  const auto post = [&] {
    CHECK(scheduler_base[0].box.post([held = captured] { ++*held; }) == braid::detail::post_outcome::posted);
  };
  post();
  post();
  {
    found_job found(scheduler_base[0].box.claim());
    CHECK(found);
    found.run();
  }
  CHECK(*captured == 1);
  CHECK(captured.use_count() == 2);
  {
    const found_job found(scheduler_base[0].box.claim());
    CHECK(found);
  }
  CHECK(*captured == 1);
  CHECK(captured.use_count() == 1);
  CHECK_FALSE(found_job(scheduler_base[0].box.claim()));
}
