// rankd/server/studio/plan_source.hpp: the interface through which a server finds plans by name.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/plans/plan_library.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// A plan of the server, even if it cannot run.
struct known_plan {
  std::string name;
  std::shared_ptr<const bound_plan> bound;  ///< null if it cannot run
  /// The reasons why the plan cannot run. If an older version of the plan runs, `list` reports here why the newest
  /// artifact was left out.
  braid::diagnostics problems;
};

/// The plans of a server, by name. Threads: any. A returned plan exists as long as the caller keeps it, so that a
/// request uses the same plan from start to end.
class plan_source {
 public:
  plan_source() = default;
  plan_source(const plan_source&) = delete;
  auto operator=(const plan_source&) -> plan_source& = delete;
  virtual ~plan_source() = default;

  /// Returns the current version of a plan. Returns nothing if there is no plan with this name. Cost: must be low,
  /// because this function is called for each request.
  [[nodiscard]] virtual auto find(std::string_view name) const -> std::optional<known_plan> = 0;
  /// Returns a stored version of a plan, even if another version is served. Errors: unknown_plan, unknown_version.
  [[nodiscard]] virtual auto find(std::string_view name, std::uint64_t version) const
      -> braid::checked<plan_handle> = 0;
  /// Returns all plans, sorted by name.
  [[nodiscard]] virtual auto list() const -> std::vector<known_plan> = 0;
  /// Returns the registries that are used to parse a request if the request does not name an existing plan. Null means
  /// the server's registries.
  [[nodiscard]] virtual auto declared() const -> std::shared_ptr<const registries> { return nullptr; }
};

/// Plans that never change. Each has a single version with the number 1.
class fixed_plans final : public plan_source {
 public:
  explicit fixed_plans(std::vector<known_plan> plans);

  [[nodiscard]] auto find(std::string_view name) const -> std::optional<known_plan> override;
  [[nodiscard]] auto find(std::string_view name, std::uint64_t version) const -> braid::checked<plan_handle> override;
  [[nodiscard]] auto list() const -> std::vector<known_plan> override { return plans_; }

 private:
  std::vector<known_plan> plans_;  // ordered by name
};

/// The plans that a library serves. Lifetime: the library outlives it.
class library_plans final : public plan_source {
 public:
  explicit library_plans(const plan_library& from) noexcept : library_(&from) {}

  [[nodiscard]] auto find(std::string_view name) const -> std::optional<known_plan> override;
  [[nodiscard]] auto find(std::string_view name, std::uint64_t version) const -> braid::checked<plan_handle> override {
    return library_->find(name, version);
  }
  [[nodiscard]] auto list() const -> std::vector<known_plan> override;
  [[nodiscard]] auto declared() const -> std::shared_ptr<const registries> override {
    return library_->current()->declared();
  }

 private:
  const plan_library* library_;
};

}  // namespace rankd
