// tests/task/slab_width_test.cpp: no thread of a job slab is without a job while one is left, however long jobs are.
#include <braid/task/job_slab.hpp>

#include <doctest/doctest.h>

#include <tests/support/rounds.hpp>

#include <cstddef>
#include <vector>

using braid::job_slab;
using braid::testing::rounds;

namespace {

/// The maker helps.
void check_width(std::size_t threads, std::size_t each) {
  rounds all(threads);
  const std::size_t count = threads * each;
  job_slab slab({.jobs_per_thread = count + 1, .threads = static_cast<unsigned>(threads) - 1});
  REQUIRE(slab.start());
  std::vector<braid::job_slab::handle> jobs(count);
  for (auto& job : jobs) job = slab.allocate([&all] { all.leaf(); }).value();
  for (const auto& job : jobs) CHECK(slab.schedule(job));
  for (const auto& job : jobs) CHECK(slab.wait(job));
  CHECK(all.begun() == count);
  CHECK_FALSE(all.gave_up());
}

}  // namespace

TEST_CASE("a slab keeps all its threads at work") {
  for (const std::size_t each : {1U, 4U, 16U}) check_width(8, each);
  check_width(32, 1);
}
