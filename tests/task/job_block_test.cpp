// tests/task/job_block_test.cpp: captures and results that are aligned beyond what blocks of jobs are.
#include <braid/task/detail/job_block.hpp>

#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

using braid::inline_executor;
using braid::pool;

namespace {

/// A row of a kernel with vector instructions.
struct alignas(64) row {
  std::array<float, 16> values{};

  [[nodiscard]] auto is_aligned() const noexcept -> bool { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
};

constexpr int rounds = 20;  // of which several would be aligned by chance

/// Counts the calls that find their capture where it belongs.
auto counts(int& aligned) {
  return [captured = row(), &aligned] { aligned += captured.is_aligned() ? 1 : 0; };
}

}  // namespace

TEST_CASE("a block is aligned as its object is, whatever that is") {
  for (int i = 0; i < rounds; ++i) {
    void* const wide = braid::detail::allocate_block<row>();
    void* const usual = braid::detail::allocate_block<std::max_align_t>();
    CHECK(reinterpret_cast<std::uintptr_t>(wide) % alignof(row) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(usual) % alignof(std::max_align_t) == 0);
    braid::detail::free_block<row>(wide);
    braid::detail::free_block<std::max_align_t>(usual);
  }
}

TEST_CASE("jobs have captures aligned beyond sixteen bytes, whether they run or are dropped") {
  int aligned = 0;
  for (int i = 0; i < rounds; ++i) {
    braid::detail::make_job(counts(aligned)).run();
    braid::detail::make_job(counts(aligned)).drop();
  }
  CHECK(aligned == rounds);
}

TEST_CASE("what is posted from outside and from a worker has such captures") {
  int aligned = 0;
  pool where({.workers = 1});
  for (int i = 0; i < rounds; ++i)
    REQUIRE(post(where, [captured = row(), &where, &aligned] {
      aligned += captured.is_aligned() ? 1 : 0;
      CHECK(post(where, counts(aligned)));
    }));
  CHECK(where.wait_idle());
  CHECK(aligned == 2 * rounds);
}

TEST_CASE("futures have such results and captures") {
  inline_executor where;
  for (int i = 0; i < rounds; ++i) {
    auto made = spawn(where, [captured = row()] {
      CHECK(captured.is_aligned());
      return captured;
    });
    auto seen =
        made.then([captured = row()](const row& result) { return captured.is_aligned() && result.is_aligned(); });
    CHECK(seen.get());
  }
}

TEST_CASE("groups have such captures") {
  int aligned = 0;
  inline_executor where;
  braid::task_group group(where);
  for (int i = 0; i < rounds; ++i) group.run(counts(aligned));
  CHECK(group.wait());
  CHECK(aligned == rounds);
}

TEST_CASE("scheduled work has such captures") {
  int aligned = 0;
  inline_executor where;
  braid::detail::shared_timers timers;
  for (int i = 0; i < rounds; ++i) REQUIRE(post_at(where, timers, timers.now(), counts(aligned)));
  while (timers.run_once()) {}
  CHECK(aligned == rounds);
}
