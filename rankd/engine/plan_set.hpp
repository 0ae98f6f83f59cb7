// rankd/engine/plan_set.hpp: the plans that are served at one moment; what a library hands out never changes.
#pragma once

#include <rankd/engine/bound_plan.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// A plan as it was bound once. Immutable. Threads: any.
struct plan_version {
  bound_plan plan;
  std::uint64_t number = 0;  ///< ascending in the order of loading; no two of a library have the same
  std::chrono::system_clock::time_point loaded_at;
  std::shared_ptr<const void> counted;  ///< lives as long as this: how the library knows what is still in memory
};

/// Keeps the version that it belongs to.
using plan_handle = std::shared_ptr<const bound_plan>;

/// One version of each plan, all of them put in place together. Immutable. Threads: any.
class plan_set {
 public:
  plan_set() = default;
  /// Requires versions in ascending order of their plans' names, no two of the same.
  explicit plan_set(std::vector<std::shared_ptr<const plan_version>> versions) : versions_(std::move(versions)) {}

  /// Null where no plan has that name.
  [[nodiscard]] auto find(std::string_view name) const -> plan_handle;

  /// In the order of the names.
  [[nodiscard]] auto versions() const noexcept -> std::span<const std::shared_ptr<const plan_version>> {
    return versions_;
  }

 private:
  std::vector<std::shared_ptr<const plan_version>> versions_;
};

}  // namespace rankd
