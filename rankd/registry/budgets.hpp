// rankd/registry/budgets.hpp: the limits for requests to a plan, as set in rankd.toml.
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

/// The limits of one request, except `in_flight`, which limits the requests of a plan together. An absent member means
/// no limit.
struct plan_budget {
  std::optional<std::uint64_t> rows = {};                      ///< the rows that all nodes together may create
  std::optional<std::uint64_t> bytes = {};                     ///< the memory that all nodes together may use for them
  std::optional<std::chrono::milliseconds> max_deadline = {};  ///< a later deadline is replaced by this one
  std::optional<std::chrono::milliseconds> default_deadline = {};  ///< for a request without a deadline
  std::optional<std::size_t> in_flight = {};  ///< the number of requests that a server runs, or lets wait, at a time

  [[nodiscard]] auto operator==(const plan_budget&) const -> bool = default;
};

/// The budgets of all plans of a project.
class plan_budgets {
 public:
  plan_budgets() = default;  ///< no limits
  /// Requires that the budgets in `of_plans` are complete: members that a plan does not set must already have the
  /// values of `of_all`.
  plan_budgets(plan_budget of_all, std::map<std::string, plan_budget, std::less<>> of_plans)
      : budget_(of_all), plans_(std::move(of_plans)) {}

  [[nodiscard]] auto of(std::string_view plan) const -> const plan_budget&;

  /// Returns a diagnostic for each plan that has a budget of its own but is not in `plans`.
  [[nodiscard]] auto strangers(const std::vector<std::string>& plans) const -> braid::diagnostics;

  /// Returns all settings as text in a canonical form, so that equal budgets have equal texts.
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  plan_budget budget_;
  std::map<std::string, plan_budget, std::less<>> plans_;
};

/// Reads the table `budget` of rankd.toml: `rows`, `bytes`, `deadline_ms`, `default_deadline_ms` and `in_flight` for
/// all plans, and the values that override them for single plans in `plan.NAME`. Errors: those of `object_reader`;
/// bad_value for an invalid plan name, and for a default deadline that is longer than the maximum.
auto read_budgets(const nlohmann::json& table, const std::string& pointer, braid::diagnostics& problems)
    -> plan_budgets;

}  // namespace rankd
