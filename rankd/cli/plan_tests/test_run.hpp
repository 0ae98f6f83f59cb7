// rankd/cli/plan_tests/test_run.hpp: runs the tests of plans in the serving engine, with stores made from the records
// of the tests.
#pragma once

#include <rankd/cli/plan_tests/answer_check.hpp>
#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/engine/plans/bound_plan.hpp>

#include <braid/base/error.hpp>

#include <memory>
#include <string>
#include <vector>

namespace rankd {

/// The outcome of a test.
struct test_outcome {
  std::string plan;
  std::string test;
  std::string place;               ///< the location of the test, or empty
  std::vector<mismatch> failures;  ///< empty: the test passed
};

/// Runs tests of plans. Tests with the same records share a store. The stores are in a temporary folder, which is
/// deleted together with the runner.
/// Threads: a single thread. Lifetime: the registries outlive it.
class test_runner {
 public:
  /// Creates the temporary folder and the runtime. Errors: no_runtime, store_write_failed.
  static auto create(const registries& declared) -> braid::checked<test_runner>;

  test_runner(test_runner&&) noexcept;
  auto operator=(test_runner&&) -> test_runner& = delete;
  ~test_runner();

  /// Runs one test. If ids are missing in the answer, runs it again with an explanation. If the plan refuses the
  /// request, the answer is an error, as it would be in a server.
  /// Blocks: until the answer is available.
  /// Errors: those of load_store and open_store.
  auto run(const bound_plan& plan, const plan_test& test) -> braid::checked<test_outcome>;

 private:
  class state;
  explicit test_runner(std::unique_ptr<state> from) noexcept;

  std::unique_ptr<state> state_;
};

}  // namespace rankd
