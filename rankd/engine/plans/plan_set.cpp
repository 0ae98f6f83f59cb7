// rankd/engine/plans/plan_set.cpp: finds a plan by its name in a set of plans.
#include <rankd/engine/plans/plan_set.hpp>

#include <algorithm>

namespace rankd {

auto plan_set::find(std::string_view name) const -> plan_handle {
  const auto name_of = [](const std::shared_ptr<const plan_version>& each) -> std::string_view {
    return each->plan.name;
  };
  const auto found = std::ranges::lower_bound(versions_, name, {}, name_of);
  if (found == versions_.end() || name_of(*found) != name) return nullptr;
  return {*found, &(*found)->plan};
}

}  // namespace rankd
