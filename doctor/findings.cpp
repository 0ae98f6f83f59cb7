// doctor/findings.cpp: collects the findings of braid-doctor, with functions of the library.
#include <doctor/findings.hpp>

namespace braid::doctor {

auto gather(const std::filesystem::path& root) -> findings {
  findings found;
  found.machine = topology::read(root.string());
  found.quotas = cgroup::cpu_quotas(root.string());
  found.cpuset = cgroup::allowed_cpus(root.string());
  found.workers = default_worker_count(root.string());
  found.environment = environment_of_this_process();
  if (root.lexically_normal() == "/") {
    found.build = build_of_this_program();
    found.user = rights_of_this_user();
  }
  return found;
}

}  // namespace braid::doctor
