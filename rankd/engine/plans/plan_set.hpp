// rankd/engine/plans/plan_set.hpp: the plans that are served at one moment; a library never changes a set that it has
// returned.
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

/// A plan as it was once bound. Immutable. Threads: any.
struct plan_version {
  bound_plan plan;
  std::uint64_t number = 0;  ///< from 1 on, in the order of loading; unique within a plan
  std::chrono::system_clock::time_point loaded_at;
  /// lives as long as this, so that the library knows which versions are in memory
  std::shared_ptr<const void> counted;
};

/// Keeps alive the version that it belongs to.
using plan_handle = std::shared_ptr<const bound_plan>;

/// A plan whose artifact is wrong, and that was left out when the others were loaded.
struct left_out_plan {
  std::string name;
  braid::diagnostics problems;  ///< at least one
};

/// One version of each plan, all published together. Immutable. Threads: any.
class plan_set {
 public:
  plan_set() = default;
  /// Requires versions in ascending order of their plans' names, one for each plan.
  explicit plan_set(std::vector<std::shared_ptr<const plan_version>> versions, std::vector<left_out_plan> left_out = {},
                    std::shared_ptr<const registries> declared = nullptr)
      : versions_(std::move(versions)), left_out_(std::move(left_out)), declared_(std::move(declared)) {}

  /// Returns null if no plan has that name.
  [[nodiscard]] auto find(std::string_view name) const -> plan_handle;

  /// The versions in the order of their names.
  [[nodiscard]] auto versions() const noexcept -> std::span<const std::shared_ptr<const plan_version>> {
    return versions_;
  }

  /// Returns the plans that were left out, in the order of their names. If an earlier load found such a plan right, its
  /// last right version is among the versions.
  [[nodiscard]] auto left_out() const noexcept -> std::span<const left_out_plan> { return left_out_; }

  /// Returns the newest registries; a pinned plan may be bound to others; null if the set was made without.
  [[nodiscard]] auto declared() const noexcept -> const std::shared_ptr<const registries>& { return declared_; }

 private:
  std::vector<std::shared_ptr<const plan_version>> versions_;
  std::vector<left_out_plan> left_out_;
  std::shared_ptr<const registries> declared_;
};

}  // namespace rankd
