// braid/sync/detail/model_explorer.hpp: runs the threads of a test under many schedules, until the test fails under a
// schedule.
#pragma once

#include <braid/sync/detail/model_execution.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::detail {

struct model_options {
  std::size_t seeds = 10'000;  ///< the number of runs of `model_explore`, each with its own seed
  std::uint64_t first_seed = 1;
  std::size_t max_runs = 2'000'000;  ///< the number of runs after which `model_explore_all` gives up
  model_bounds bounds = {};
};

struct model_report {
  std::size_t runs = 0;
  bool complete = false;            ///< every schedule within the bounds was run
  std::string failure;              ///< the failure, how to repeat it, and the steps of the threads; or empty
  std::string schedule;             ///< the decisions of the run that failed, for `model_replay`
  std::uint64_t seed = 0;           ///< the seed of the run that failed, if seeds were used
  std::vector<model_site> ordered;  ///< the reached places with an order above relaxed
};

/// The interface for the body of a run. Threads are numbered in the order in which they start; the body is thread 0.
class model_run {
 public:
  /// Starts a thread. Objects that it captures by reference must exist until `join`.
  void thread(std::function<void()> body) { model_execution::current()->start(std::move(body)); }

  /// Waits for all threads. The body must call it before it returns.
  void join() { model_execution::current()->join(); }

  /// Makes the run fail with this message if the condition does not hold. Any thread of the run may call it.
  void check(bool holds, std::string_view sentence) {
    if (!holds) model_execution::current()->fail("check failed: " + std::string(sentence));
  }

  /// Lets other threads run. Loops that spin must call this, because otherwise they never end under some schedules.
  void yield() { model_execution::current()->yield(); }
};

using model_body = std::function<void(model_run&)>;

/// Runs the body under random schedules, one for each seed, until a run fails.
[[nodiscard]] auto model_explore(const model_options& options, const model_body& body) -> model_report;

/// Runs the body under every schedule within the bounds, until a run fails.
[[nodiscard]] auto model_explore_all(const model_options& options, const model_body& body) -> model_report;

/// Runs the body once, under the schedule that a report contains.
[[nodiscard]] auto model_replay(std::string_view schedule, const model_options& options, const model_body& body)
    -> model_report;

/// A plain object that threads of a run share. The run fails if two accesses, at least one of them a write, are not
/// ordered by happens-before. Outside of a run it is a normal object.
template <typename T>
class model_shared {
 public:
  model_shared() = default;
  model_shared(T value) : value_(std::move(value)) {}  // NOLINT: stands for a T
  model_shared(const model_shared&) = delete;
  auto operator=(const model_shared&) -> model_shared& = delete;
  ~model_shared() = default;

  auto operator=(T value) -> model_shared& {
    if (auto* run = model_execution::current(); run != nullptr) run->on_write(history_);
    value_ = std::move(value);
    return *this;
  }

  operator T() const {  // NOLINT: stands for a T
    if (auto* run = model_execution::current(); run != nullptr) run->on_read(history_);
    return value_;
  }

 private:
  T value_{};
  mutable model_plain history_;
};

}  // namespace braid::detail
