// src/thread/cgroup.cpp: finds the cgroups of this process in the mounted file systems, and reads their limits.
#include <braid/thread/cgroup.hpp>
#include <braid/thread/detail/system_file.hpp>

#include <braid/base/detail/number_in.hpp>

#include "../platform/system.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace braid {
namespace {

namespace fs = std::filesystem;
using detail::number_in;
using detail::read_first_line;
using detail::take_until;
using detail::under;

enum class version : std::uint8_t { v1, v2 };

/// A mounted cgroup hierarchy: its mount point (`point`), and the cgroup that is visible there (`root`).
struct mount {
  version kind = version::v2;
  std::string controllers;  // options of the file system, including the controllers of version 1
  fs::path root;
  fs::path point;
};

/// A parsed line of /proc/self/cgroup, which names a cgroup that the process belongs to.
struct membership {
  version kind = version::v2;
  std::string controllers;
  fs::path path;
};

/// The folder of a cgroup: `below` is its path relative to the mount point `point`. The folder's parents up to `point`
/// are cgroups as well.
struct cgroup_location {
  version kind = version::v2;
  fs::path point;
  fs::path below;
};

/// The maximum length of a path. Longer paths exceed the system's limit, and are ignored.
constexpr std::size_t max_path = 4096;
constexpr std::size_t max_mountinfo = std::size_t{1} << 20U;

auto lists(std::string_view controllers, std::string_view wanted) -> bool {
  while (!controllers.empty())
    if (take_until(controllers, ',') == wanted) return true;
  return false;
}

/// Decodes a path from mountinfo, in which spaces and backslashes are written as three octal digits.
auto unescaped(std::string_view text) -> std::string {
  std::string plain;
  const auto digit = [&](std::size_t index) { return text[index] >= '0' && text[index] <= '7'; };
  for (std::size_t index = 0; index < text.size(); ++index) {
    if (text[index] == '\\' && index + 3 < text.size() && digit(index + 1) && digit(index + 2) && digit(index + 3)) {
      plain += static_cast<char>((text[index + 1] - '0') * 64 + (text[index + 2] - '0') * 8 + (text[index + 3] - '0'));
      index += 3;
    } else {
      plain += text[index];
    }
  }
  return plain;
}

/// Parses a line of mountinfo: `id parent device root point options [more …] - type source options`.
auto mount_of_line(std::string_view line) -> std::optional<mount> {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  std::string_view tail = line.substr(dash + 3);
  const std::string_view type = take_until(tail, ' ');
  if (type != "cgroup" && type != "cgroup2") return std::nullopt;
  take_until(tail, ' ');
  for (int field = 0; field < 3; ++field) take_until(line, ' ');
  mount found;
  found.kind = type == "cgroup2" ? version::v2 : version::v1;
  found.controllers = tail;
  found.root = unescaped(take_until(line, ' '));
  found.point = unescaped(take_until(line, ' '));
  if (!found.point.is_absolute() || found.point.native().size() > max_path) return std::nullopt;
  return found;
}

auto read_mounts(const fs::path& root) -> std::vector<mount> {
  const std::string text = detail::read_system_file(root / "proc/self/mountinfo", max_mountinfo).value_or("");
  std::vector<mount> found;
  for (std::string_view rest = text; !rest.empty();)
    if (auto each = mount_of_line(take_until(rest, '\n'))) found.push_back(*std::move(each));
  return found;
}

/// Parses a line of /proc/self/cgroup: `number:controllers:path`. For a cgroup of version 2, the list of controllers is
/// empty.
auto membership_of_line(std::string_view line) -> std::optional<membership> {
  if (std::ranges::count(line, ':') < 2 || line.size() > max_path) return std::nullopt;
  take_until(line, ':');
  membership found;
  found.controllers = take_until(line, ':');
  found.kind = found.controllers.empty() ? version::v2 : version::v1;
  found.path = line;
  return found;
}

auto climbs(const fs::path& path) -> bool {
  return std::ranges::any_of(path, [](const fs::path& step) { return step == ".."; });
}

/// Returns the path of the cgroup below the mount point, or nothing if the mount shows another part of the hierarchy.
auto shown_at(const mount& mounted, const fs::path& path) -> std::optional<fs::path> {
  if (climbs(path) || climbs(mounted.root)) return std::nullopt;
  const fs::path below = path.relative_path().lexically_relative(mounted.root.relative_path());
  if (mounted.root.relative_path().empty()) return path.relative_path();
  if (below.empty() || climbs(below)) return std::nullopt;
  return below == "." ? fs::path() : below;
}

/// Returns the usual folders of a cgroup, for a system whose list of mounts cannot be read.
auto usual_locations(const membership& member, std::string_view controller) -> std::vector<cgroup_location> {
  const fs::path usual = "/sys/fs/cgroup";
  const fs::path below = climbs(member.path) ? fs::path() : member.path.relative_path();
  if (member.kind == version::v2) return {{member.kind, usual, below}, {member.kind, usual / "unified", below}};
  if (member.controllers == controller) return {{member.kind, usual / controller, below}};
  return {{member.kind, usual / member.controllers, below}, {member.kind, usual / controller, below}};
}

/// Returns the possible folders of a cgroup. In a container, the mount may show only a part of the hierarchy, and the
/// cgroup's path may be outside of that part. In that case, returns the mount point itself.
auto find_locations(const membership& member, std::string_view controller, const std::vector<mount>& mounts)
    -> std::vector<cgroup_location> {
  const mount* first = nullptr;
  for (const mount& each : mounts) {
    if (each.kind != member.kind || (each.kind == version::v1 && !lists(each.controllers, controller))) continue;
    if (const auto below = shown_at(each, member.path)) return {{member.kind, each.point, *below}};
    if (first == nullptr) first = &each;
  }
  if (first != nullptr) return {{member.kind, first->point, {}}};
  return usual_locations(member, controller);
}

/// Returns the folders of all cgroups that this process belongs to and that `controller` can limit.
auto locations_of_process(const fs::path& root, std::string_view controller) -> std::vector<cgroup_location> {
  const std::string text = detail::read_system_file(root / "proc/self/cgroup").value_or("");
  const std::vector<mount> mounts = read_mounts(root);
  std::vector<cgroup_location> all;
  for (std::string_view rest = text; !rest.empty();) {
    const auto member = membership_of_line(take_until(rest, '\n'));
    if (!member || (member->kind == version::v1 && !lists(member->controllers, controller))) continue;
    std::ranges::move(find_locations(*member, controller, mounts), std::back_inserter(all));
  }
  return all;
}

/// Returns the folders of a cgroup and its parents, innermost first.
auto find_folders(const cgroup_location& location) -> std::vector<fs::path> {
  std::vector<fs::path> folders;
  for (fs::path at = location.below; !at.empty(); at = at.parent_path()) folders.push_back(location.point / at);
  folders.push_back(location.point);
  return folders;
}

auto ratio(std::string_view granted, std::string_view period) -> std::optional<double> {
  const auto time = number_in<long long>(granted);
  const auto each = number_in<long long>(period);
  if (!time || !each || *time <= 0 || *each <= 0) return std::nullopt;
  return static_cast<double>(*time) / static_cast<double>(*each);
}

/// Reads the CPU quota of a cgroup. The file cpu.max contains `max 100000` or `150000 100000`; in version 1, each of
/// the two numbers is in a file of its own.
auto quota_in(const fs::path& root, version kind, const fs::path& folder) -> std::optional<cgroup::quota> {
  const fs::path file = folder / (kind == version::v2 ? "cpu.max" : "cpu.cfs_quota_us");
  const std::string line = read_first_line(under(root, file));
  std::string_view period = line;
  const std::string_view granted = kind == version::v2 ? take_until(period, ' ') : std::string_view(line);
  const auto cpus =
      ratio(granted, kind == version::v2 ? period : read_first_line(under(root, folder / "cpu.cfs_period_us")));
  if (!cpus) return std::nullopt;
  return cgroup::quota{*cpus, file.string()};
}

auto cpus_of_folder(const fs::path& root, version kind, const fs::path& folder) -> std::optional<cgroup::cpuset> {
  const auto read = [&](const char* name) -> std::optional<cgroup::cpuset> {
    auto cpus = detail::cpus_in(under(root, folder / name));
    if (!cpus) return std::nullopt;
    return cgroup::cpuset{*std::move(cpus), (folder / name).string()};
  };
  if (kind == version::v2) return read("cpuset.cpus.effective");
  auto effective = read("cpuset.effective_cpus");
  return effective ? effective : read("cpuset.cpus");
}

}  // namespace

auto cgroup::cpu_quotas(const std::string& root) -> std::vector<quota> {
  std::vector<cgroup::quota> all;
  if (detail::is_this_machine(root))
    if (const auto cpus = detail::job_cpu_quota()) all.push_back({*cpus, "the job object"});
  const std::vector<cgroup_location> locations = locations_of_process(root, "cpu");
  for (const cgroup_location& location : locations) {
    const std::vector<fs::path> folders = find_folders(location);
    for (const fs::path& folder : folders)
      if (auto quota = quota_in(root, location.kind, folder)) all.push_back(*std::move(quota));
  }
  return all;
}

auto cgroup::cpu_quota(const std::string& root) -> std::optional<quota> {
  const std::vector<cgroup::quota> all = cpu_quotas(root);
  const auto smallest = std::ranges::min_element(all, {}, &cgroup::quota::cpus);
  if (smallest == all.end()) return std::nullopt;
  return *smallest;
}

auto cgroup::allowed_cpus(const std::string& root) -> std::optional<cpuset> {
  const std::vector<cgroup_location> locations = locations_of_process(root, "cpuset");
  for (const cgroup_location& location : locations) {
    const std::vector<fs::path> folders = find_folders(location);
    for (const fs::path& folder : folders)
      if (auto cpus = cpus_of_folder(root, location.kind, folder)) return cpus;
  }
  return std::nullopt;
}

}  // namespace braid
