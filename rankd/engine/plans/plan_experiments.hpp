// rankd/engine/plans/plan_experiments.hpp: the experiments that run for one plan, and the choice of arms for a request.
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

/// The experiments that run for one plan, with all names resolved. Immutable. Threads: any.
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
  /// The range of buckets that belongs to one arm.
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

/// Returns the experiments of a plan that run at `now`. If `now` is empty, returns the experiments that have not ended.
/// Returns null if there are no such experiments.
[[nodiscard]] auto find_experiments(const experiment_set& experiments, std::string_view plan,
                                    const registries& declared, std::optional<std::chrono::sys_seconds> now)
    -> std::shared_ptr<const plan_experiments>;

/// Returns the current time in whole seconds, for `find_experiments`.
[[nodiscard]] auto experiment_time() -> std::chrono::sys_seconds;

/// Sets the experiments of a plan.
/// Errors: param_out_of_range if an arm sets a param to a value that an option of the plan does not accept.
void add_experiments(bound_plan& plan, std::shared_ptr<const plan_experiments> running, const registries& declared,
                     braid::diagnostics& problems);

/// Returns an unread_param warning for each param that an arm sets but the plan does not read.
[[nodiscard]] auto unread_settings(const bound_plan& plan, const registries& declared) -> braid::diagnostics;

/// Chooses the arms of a request and sets its params to their values. Params in `param_overrides` keep their values.
/// Then checks that the request has what its plan needs. A request without a unit is in no arm. This function must be
/// called once for each request, even if the plan has no experiments.
/// Errors: those of `check_needs`; unknown_experiment and unknown_arm for names in the request; layer_conflict if the
/// request names two experiments of one layer.
auto fit_to_plan(rank_request& request, const bound_plan& plan, const registries& declared) -> braid::diagnostics;

/// Appends `"experiments":{"name":"arm"}`. If the request overrides a param that its arm sets, also appends
/// `,"experiments_overridden":["name"]`.
void append_arms(std::string& out, const plan_experiments& running, std::span<const chosen_arm> arms);

}  // namespace rankd
