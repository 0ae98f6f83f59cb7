// src/platform/darwin/topology.cpp: leaves the topology unknown, because macOS does not name the CPUs of a core.
#include <braid/thread/detail/topology_draft.hpp>

auto braid::detail::draft_from_machine() -> topology_draft {
  topology_draft draft;
  draft.reason = "macOS does not name the CPUs of a core or a cache";
  return draft;
}
