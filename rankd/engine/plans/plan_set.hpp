// rankd/engine/plans/plan_set.hpp: the set of plans that serve at one moment. A published set never changes.
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

/// One version of a plan. Immutable. Threads: any.
struct plan_version {
  bound_plan plan;
  std::uint64_t number = 0;  ///< from 1 on, in the order of loading; unique within a plan
  std::chrono::system_clock::time_point loaded_at;
  /// A reference that lives as long as this version. The library uses it to count the versions in memory.
  std::shared_ptr<const void> counted;
};

/// A reference to a plan that keeps its version alive.
using plan_handle = std::shared_ptr<const bound_plan>;

/// A plan that was left out of a load because its artifact has errors.
struct left_out_plan {
  std::string name;
  braid::diagnostics problems;  ///< at least one
};

/// One version of each plan, all published at once. Immutable. Threads: any.
class plan_set {
 public:
  plan_set() = default;
  /// Creates a set. Requires one version for each plan, in ascending order of names.
  explicit plan_set(std::vector<std::shared_ptr<const plan_version>> versions, std::vector<left_out_plan> left_out = {},
                    std::shared_ptr<const registries> declared = nullptr)
      : versions_(std::move(versions)), left_out_(std::move(left_out)), declared_(std::move(declared)) {}

  /// Returns the plan with this name, or null.
  [[nodiscard]] auto find(std::string_view name) const -> plan_handle;

  /// Returns the versions in the order of their plans' names.
  [[nodiscard]] auto versions() const noexcept -> std::span<const std::shared_ptr<const plan_version>> {
    return versions_;
  }

  /// Returns the plans that were left out of the last load, in the order of their names. If such a plan has an earlier
  /// valid version, that version is in the set.
  [[nodiscard]] auto left_out() const noexcept -> std::span<const left_out_plan> { return left_out_; }

  /// Returns the newest registries. A pinned plan may be bound to older registries. Returns null if the set was created
  /// without registries.
  [[nodiscard]] auto declared() const noexcept -> const std::shared_ptr<const registries>& { return declared_; }

 private:
  std::vector<std::shared_ptr<const plan_version>> versions_;
  std::vector<left_out_plan> left_out_;
  std::shared_ptr<const registries> declared_;
};

}  // namespace rankd
