// src/thread/topology.cpp: reads the machine's topology from the first source that reports a CPU.
#include <braid/thread/detail/allowed_cpus.hpp>
#include <braid/thread/detail/system_file.hpp>
#include <braid/thread/detail/topology_draft.hpp>
#include <braid/thread/topology.hpp>

#include <algorithm>
#include <utility>

namespace braid {
namespace {

/// Returns the data of the first source that reports a CPU. The member `reason` of the result begins with the errors of
/// the earlier sources.
auto first_answer(const std::filesystem::path& root, topology_source first) -> detail::topology_draft {
  detail::topology_draft draft;
  if (first == topology_source::nothing) draft.reason = "no source was asked";
  if (first == topology_source::hwloc && detail::is_this_machine(root)) draft = detail::draft_from_hwloc();
  if (draft.source != topology_source::nothing || first == topology_source::nothing) return draft;
  const std::string before = draft.reason.empty() ? "" : draft.reason + "; ";
  draft = detail::is_this_machine(root) ? detail::draft_from_machine() : detail::draft_from_sysfs(root);
  draft.reason.insert(0, before);
  return draft;
}

}  // namespace

auto topology::location_of(unsigned cpu) const noexcept -> const topology::location* {
  const auto found = std::ranges::lower_bound(locations, cpu, {}, &topology::location::cpu);
  return found != locations.end() && found->cpu == cpu ? &*found : nullptr;
}

auto topology::node_with_id(unsigned id) const noexcept -> const topology::node* {
  const auto found = std::ranges::find(nodes, id, &topology::node::id);
  return found == nodes.end() ? nullptr : &*found;
}

auto topology::read(const std::string& root, topology_source first) -> topology {
  detail::topology_draft draft = first_answer(root, first);
  if (draft.source != topology_source::nothing) {
    detail::add_capacities(root, draft);
    detail::add_distances(root, draft);
  }
  return detail::settle(std::move(draft), detail::read_allowed_cpus(root));
}

}  // namespace braid
