// rankd/registry/shadows.hpp: the tables `shadow` of rankd.toml: candidate plans that run as shadows of served plans.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// A candidate plan that also runs for some of the requests to a served plan. Clients get only the answers of the
/// served plan.
struct shadow_settings {
  std::string plan;
  std::string candidate;
  double share = 0.01;        ///< the share of the requests, above 0 and up to 1, by a hash of their ids
  std::size_t in_flight = 4;  ///< the number of runs at a time, for all loops of a server together

  friend auto operator==(const shadow_settings&, const shadow_settings&) -> bool = default;
};

/// Reads the tables `[shadow.PLAN]` with `plan`, `share` and `in_flight`, in the order of the plans' names.
auto read_shadows(const nlohmann::json& tables, const std::string& pointer, braid::diagnostics& problems)
    -> std::vector<shadow_settings>;

/// Checks that every named plan exists. Errors: unknown_plan.
[[nodiscard]] auto find_strangers(const std::vector<shadow_settings>& shadows, const std::vector<std::string>& plans)
    -> braid::diagnostics;

}  // namespace rankd
