// tests/support/executor_slots.hpp: for model tests: the slots of executor ids are there before the first run.
#pragma once

#include <braid/task/executor.hpp>

#include <tests/support/manual_executor.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace braid::testing {

/// A table that grew within a run would lose the addresses of its chunks at the end of that run, because an atomic from
/// before a run begins each run with the value that it had. Runs that fail give no slots back, so there are many.
inline auto make_executor_slots() -> bool {
  constexpr std::size_t enough = 1'000;
  std::vector<std::unique_ptr<manual_executor>> all;
  for (std::size_t i = 0; i < enough; ++i) {
    all.push_back(std::make_unique<manual_executor>());
    static_cast<void>(all.back()->id());
  }
  return true;
}

inline const bool has_executor_slots = make_executor_slots();

}  // namespace braid::testing
