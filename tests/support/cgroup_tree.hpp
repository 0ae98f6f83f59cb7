// tests/support/cgroup_tree.hpp: the files of cgroups as a process sees them, for memberships that tests make up.
#pragma once

#include <tests/support/scratch_folder.hpp>

#include <string>
#include <string_view>

namespace braid::testing {

/// A tree in which /proc/self/cgroup says `memberships`.
struct cgroup_tree : scratch_folder {
  explicit cgroup_tree(std::string_view memberships) { write("proc/self/cgroup", memberships); }

  void limit_v2(const std::string& group, std::string_view max) const {
    write("sys/fs/cgroup" + group + "/cpu.max", max);
  }
  void limit_v1(const std::string& group, std::string_view quota, std::string_view period) const {
    write("sys/fs/cgroup" + group + "/cpu.cfs_quota_us", quota);
    write("sys/fs/cgroup" + group + "/cpu.cfs_period_us", period);
  }
};

}  // namespace braid::testing
