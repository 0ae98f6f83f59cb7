// rankd/engine/plans/plan_set.hpp: the plans that are served at one moment; what a library hands out never changes.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// A plan as it was bound once. Immutable. Threads: any.
struct plan_version {
  bound_plan plan;
  std::uint64_t number = 0;  ///< from 1 on, in the order of loading; no two of a plan have the same
  std::chrono::system_clock::time_point loaded_at;
  std::shared_ptr<const void> counted;  ///< lives as long as this: how the library knows what is still in memory
};

/// Keeps the version that it belongs to.
using plan_handle = std::shared_ptr<const bound_plan>;

/// A plan whose artifact is wrong, and that was left out when the others were loaded.
struct left_out_plan {
  std::string name;
  braid::diagnostics problems;  ///< at least one
};

/// One version of each plan, all of them put in place together. Immutable. Threads: any.
class plan_set {
 public:
  plan_set() = default;
  /// Requires versions in ascending order of their plans' names, no two of the same.
  explicit plan_set(std::vector<std::shared_ptr<const plan_version>> versions, std::vector<left_out_plan> left_out = {},
                    std::shared_ptr<const registries> declared = nullptr)
      : versions_(std::move(versions)), left_out_(std::move(left_out)), declared_(std::move(declared)) {}

  /// Null where no plan has that name.
  [[nodiscard]] auto find(std::string_view name) const -> plan_handle;

  /// In the order of the names.
  [[nodiscard]] auto versions() const noexcept -> std::span<const std::shared_ptr<const plan_version>> {
    return versions_;
  }

  /// In the order of the names. Of one that an earlier load found right, its last right version is among the versions.
  [[nodiscard]] auto left_out() const noexcept -> std::span<const left_out_plan> { return left_out_; }

  /// The newest; a plan that is pinned may be bound to others. Null where the set was made without.
  [[nodiscard]] auto declared() const noexcept -> const std::shared_ptr<const registries>& { return declared_; }

 private:
  std::vector<std::shared_ptr<const plan_version>> versions_;
  std::vector<left_out_plan> left_out_;
  std::shared_ptr<const registries> declared_;
};

}  // namespace rankd
