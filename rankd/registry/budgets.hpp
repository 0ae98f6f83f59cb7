// rankd/registry/budgets.hpp: what requests to a plan may take, as rankd.toml says it.
#pragma once

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// The bounds of one request, except `in_flight`. An absent member means no bound.
struct plan_budget {
  std::optional<std::uint64_t> rows = {};                          ///< that all nodes together make
  std::optional<std::uint64_t> bytes = {};                         ///< that all nodes together take for them
  std::optional<std::chrono::milliseconds> max_deadline = {};      ///< a later one is taken for this
  std::optional<std::chrono::milliseconds> default_deadline = {};  ///< for a request without a deadline
  std::optional<std::size_t> in_flight = {};  ///< requests that a server runs, or lets wait, at a time

  [[nodiscard]] auto operator==(const plan_budget&) const -> bool = default;
};

/// The budgets of all plans of a project.
class plan_budgets {
 public:
  plan_budgets() = default;  ///< nothing is bounded
  /// `of_plans` are complete: what a plan does not state by itself is what all have.
  plan_budgets(plan_budget of_all, std::map<std::string, plan_budget, std::less<>> of_plans)
      : budget_(of_all), plans_(std::move(of_plans)) {}

  [[nodiscard]] auto of(std::string_view plan) const -> const plan_budget&;

  /// Returns a diagnostic for each budget of a plan that is not among these.
  [[nodiscard]] auto strangers(const std::vector<std::string>& plans) const -> braid::diagnostics;

  /// All that is stated, in one form: equal texts for equal budgets.
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  plan_budget budget_;
  std::map<std::string, plan_budget, std::less<>> plans_;
};

/// Reads the table `budget` of rankd.toml: `rows`, `bytes`, `deadline_ms`, `default_deadline_ms` and `in_flight` for
/// all plans, and the overriding values for single plans in `plan.NAME`. Diagnostics: those of `object_reader`;
/// bad_value for a name that no plan can have, and for a default deadline that is later than the latest.
auto read_budgets(const nlohmann::json& table, const std::string& pointer, braid::diagnostics& problems)
    -> plan_budgets;

}  // namespace rankd
