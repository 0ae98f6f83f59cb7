// rankd/cli/plan_tests/test_run.hpp: runs the tests of plans in the engine that serves them, over stores made of their
// records.
#pragma once

#include <rankd/cli/plan_tests/answer_check.hpp>
#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/engine/plans/bound_plan.hpp>

#include <braid/base/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rankd {

/// How a test went.
struct test_outcome {
  std::string plan;
  std::string test;
  std::string place;               ///< of the test, or empty
  std::vector<mismatch> failures;  ///< empty: it passed
};

/// Keeps the stores of records that tests share, in a folder of its own below the temporary folder of the system, which
/// is deleted with it.
/// Threads: one. Lifetime: the registries outlive it.
class test_runner {
 public:
  /// Errors: no_runtime, store_write_failed.
  static auto create(const registries& declared) -> braid::checked<test_runner>;

  test_runner(test_runner&&) noexcept;
  auto operator=(test_runner&&) -> test_runner& = delete;
  ~test_runner();

  /// Runs one test, and again with an explanation if ids are missing. A request that the plan refuses fails, as it
  /// would in a server.
  /// Blocks: until the answer is there.
  /// Errors: those of load_store and open_store.
  auto run(const bound_plan& plan, const plan_test& test) -> braid::checked<test_outcome>;

 private:
  class state;
  explicit test_runner(std::unique_ptr<state> from) noexcept;

  std::unique_ptr<state> state_;
};

}  // namespace rankd
