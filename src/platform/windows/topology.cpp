// src/platform/windows/topology.cpp: reads the topology with GetLogicalProcessorInformationEx.
#include <braid/thread/detail/topology_draft.hpp>

#include "calls.hpp"

#include <cstddef>
#include <vector>

namespace braid::detail {
namespace {

auto read_cpus(const GROUP_AFFINITY& group) -> cpu_set {
  cpu_set cpus;
  add_group(cpus, group.Group, group.Mask);
  return cpus;
}

auto read_cpus(const PROCESSOR_RELATIONSHIP& part) -> cpu_set {
  cpu_set cpus;
  for (WORD at = 0; at < part.GroupCount; ++at) cpus |= read_cpus(part.GroupMask[at]);
  return cpus;
}

/// Reads all topology records. Returns nothing if the system refuses.
auto read_records() -> std::vector<std::byte> {
  DWORD bytes = 0;
  ::GetLogicalProcessorInformationEx(RelationAll, nullptr, &bytes);
  std::vector<std::byte> records(bytes);
  auto* const first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(records.data());
  if (bytes == 0 || ::GetLogicalProcessorInformationEx(RelationAll, first, &bytes) == 0) return {};
  records.resize(bytes);
  return records;
}

void add_cache(const CACHE_RELATIONSHIP& cache, topology_draft& draft) {
  if ((cache.Level != 2 && cache.Level != 3) || cache.Type == CacheInstruction) return;
  const cpu_set cpus = read_cpus(cache.GroupMask);
  for (const unsigned cpu : cpus) (cache.Level == 2 ? draft.cpus[cpu].l2 : draft.cpus[cpu].l3) = cpus;
}

void add_record(const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX& record, unsigned& packages, topology_draft& draft) {
  switch (record.Relationship) {
    case RelationProcessorCore: {
      const cpu_set cpus = read_cpus(record.Processor);
      draft.online |= cpus;
      for (const unsigned cpu : cpus) draft.cpus[cpu].core = cpus;
      break;
    }
    case RelationProcessorPackage: {
      for (const unsigned cpu : read_cpus(record.Processor)) draft.cpus[cpu].package = packages;
      ++packages;
      break;
    }
    case RelationNumaNode:
      draft.nodes.push_back({record.NumaNode.NodeNumber, read_cpus(record.NumaNode.GroupMask), {}});
      break;
    case RelationCache: add_cache(record.Cache, draft); break;
    default: break;
  }
}

}  // namespace

auto draft_from_machine() -> topology_draft {
  topology_draft draft;
  const std::vector<std::byte> records = read_records();
  unsigned packages = 0;
  for (std::size_t at = 0; at < records.size();) {
    const auto& record = *reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(&records[at]);
    add_record(record, packages, draft);
    at += record.Size;
  }
  if (draft.online.empty()) {
    draft.reason = "GetLogicalProcessorInformationEx names no CPU";
    return draft;
  }
  draft.source = topology_source::windows;
  draft.reason = "read with GetLogicalProcessorInformationEx";
  return draft;
}

}  // namespace braid::detail
