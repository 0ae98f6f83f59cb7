// src/platform/linux/cgroup_attach.cpp: moves threads into cgroups.
#include <braid/thread/cgroup.hpp>

#include "../system.hpp"
#include "../posix/owned_descriptor.hpp"

#include <string>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace braid {
namespace {

/// Returns the name of the file that moves a single thread into a cgroup, or null if the file system is not a cgroup
/// file system.
auto choose_thread_file(const struct ::statfs& facts) -> const char* {
  switch (static_cast<unsigned long>(facts.f_type)) {
    case CGROUP2_SUPER_MAGIC: return "cgroup.threads";
    case CGROUP_SUPER_MAGIC: return "tasks";
    default: return nullptr;
  }
}

}  // namespace

auto cgroup::attach(const std::string& folder, ::pid_t thread) -> result<void> {
  const std::error_code refused = errc::invalid_argument;
  if (thread < 1) return fail(refused);
  const detail::owned_descriptor group(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!group.is_open()) return fail(last_system_error());
  struct ::statfs facts{};
  if (::fstatfs(group.number(), &facts) != 0) return fail(last_system_error());
  const char* name = choose_thread_file(facts);
  if (name == nullptr) return fail(refused);

  const detail::owned_descriptor file(::openat(group.number(), name, O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return fail(last_system_error());
  const std::string text = std::to_string(thread);
  if (::write(file.number(), text.data(), text.size()) < 0) return fail(last_system_error());
  return {};
}

auto this_thread::attach_to_cgroup(const std::string& folder) -> result<void> {
  return cgroup::attach(folder, detail::own_thread_id());
}

}  // namespace braid
