// tests/rankd/op/some_budgets.hpp: budgets that bound one thing.
#pragma once

#include <rankd/registry/budgets.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rankd::testing {

inline auto of_rows(std::uint64_t rows) -> plan_budget {
  plan_budget made;
  made.rows = rows;
  return made;
}

inline auto of_bytes(std::uint64_t bytes) -> plan_budget {
  plan_budget made;
  made.bytes = bytes;
  return made;
}

inline auto of_time(std::chrono::milliseconds longest, std::optional<std::chrono::milliseconds> unless_named = {})
    -> plan_budget {
  plan_budget made;
  made.max_deadline = longest;
  made.default_deadline = unless_named;
  return made;
}

inline auto of_in_flight(std::size_t requests) -> plan_budget {
  plan_budget made;
  made.in_flight = requests;
  return made;
}

}  // namespace rankd::testing
