// src/platform/absent/cgroup_attach.cpp: refuses to move threads into cgroups, which only Linux has.
#include <braid/thread/cgroup.hpp>

#include <system_error>

namespace braid {

auto cgroup::attach(const std::string& /*folder*/, ::pid_t /*thread*/) -> result<void> {
  return fail(std::make_error_code(std::errc::operation_not_supported));
}

auto this_thread::attach_to_cgroup(const std::string& folder) -> result<void> { return cgroup::attach(folder, 0); }

}  // namespace braid
