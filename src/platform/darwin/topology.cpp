// src/platform/darwin/topology.cpp: reports an unknown topology, because macOS does not report which CPUs belong to a
// core.
#include <braid/thread/detail/topology_draft.hpp>

auto braid::detail::draft_from_machine() -> topology_draft {
  topology_draft draft;
  draft.reason = "macOS does not name the CPUs of a core or a cache";
  return draft;
}
