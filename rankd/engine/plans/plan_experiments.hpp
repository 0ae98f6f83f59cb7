// rankd/engine/plans/plan_experiments.hpp: the experiments that run for the requests of one plan, and the arms of a
// request.
#pragma once

#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/experiments.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

struct bound_plan;

/// The experiments of a project that run for one plan, with everything looked up. Immutable. Threads: any.
struct plan_experiments {
  struct setting {
    std::size_t param = 0;  ///< a position in registries::params
    scalar value;
    [[nodiscard]] auto operator==(const setting&) const -> bool = default;
  };
  struct arm {
    std::string name;
    std::vector<setting> set;
    std::string pointer;  ///< into experiments.toml
    [[nodiscard]] auto operator==(const arm&) const -> bool = default;
  };
  struct filter {
    std::size_t param = 0;
    std::vector<scalar> in;
    [[nodiscard]] auto operator==(const filter&) const -> bool = default;
  };
  struct experiment {
    std::string name;
    std::uint32_t layer = 0;
    std::optional<filter> about;
    std::vector<arm> arms;
    [[nodiscard]] auto operator==(const experiment&) const -> bool = default;
  };
  /// The buckets of one arm.
  struct slot {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t experiment = 0;
    std::uint32_t arm = 0;
    [[nodiscard]] auto operator==(const slot&) const -> bool = default;
  };
  struct layer {
    std::string name;
    std::string salt;
    std::optional<std::size_t> unit;  ///< a position in registries::params; nothing: the user
    std::uint32_t buckets = 1;
    std::vector<slot> slots;  ///< ascending
    [[nodiscard]] auto operator==(const layer&) const -> bool = default;
  };

  std::vector<experiment> experiments;
  std::vector<layer> layers;

  [[nodiscard]] auto operator==(const plan_experiments&) const -> bool = default;
};

/// Returns the experiments of the plan with this name that run at `now`, or, without `now`, that have not ended; null
/// if there are none.
[[nodiscard]] auto find_experiments(const experiment_set& experiments, std::string_view plan,
                                    const registries& declared, std::optional<std::chrono::sys_seconds> now)
    -> std::shared_ptr<const plan_experiments>;

/// Returns the clock, as experiments read it.
[[nodiscard]] auto experiment_time() -> std::chrono::sys_seconds;

/// Sets the experiments of a plan.
/// Errors: param_out_of_range if an option of the plan does not accept a value of an arm.
void add_experiments(bound_plan& plan, std::shared_ptr<const plan_experiments> running, const registries& declared,
                     braid::diagnostics& problems);

/// Returns a warning, unread_param, for each arm and each param that it sets and the plan does not read.
[[nodiscard]] auto unread_settings(const bound_plan& plan, const registries& declared) -> braid::diagnostics;

/// Finds the arms of a request and sets its params to their values, except those that `param_overrides` sets; then
/// checks that the request has what its plan needs. A request whose unit is absent is in no arm. Call it once for each
/// request; if the plan has no experiments, only the check is done.
/// Errors: those of `check_needs`; unknown_experiment, unknown_arm, and layer_conflict for two experiments of one
/// layer, among those that the request names.
auto fit_to_plan(rank_request& request, const bound_plan& plan, const registries& declared) -> braid::diagnostics;

/// Appends `"experiments":{"name":"arm"}`, and `,"experiments_overridden":["name"]` if the request overrides a param
/// that its arm sets.
void append_arms(std::string& out, const plan_experiments& running, std::span<const chosen_arm> arms);

}  // namespace rankd
