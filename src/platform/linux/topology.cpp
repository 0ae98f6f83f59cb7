// src/platform/linux/topology.cpp: reads the topology of this machine from the kernel's files.
#include <braid/thread/detail/topology_draft.hpp>

auto braid::detail::draft_from_machine() -> topology_draft { return draft_from_sysfs("/"); }
