// src/thread/topology_hwloc.cpp: reads the topology with hwloc, a library that is loaded at run time if it is
// installed.
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/thread/detail/topology_draft.hpp>

#include <expected>
#include <mutex>
#include <optional>
#include <utility>

#if defined(BRAID_HWLOC)

#include <dlfcn.h>
#include <hwloc.h>

namespace braid::detail {
namespace {

/// The file name of hwloc's library, which must have the same major version as the header that this file includes.
constexpr const char* library_name = "libhwloc.so.15";
static_assert(HWLOC_API_VERSION >> 16U == 2,
              "other major versions of hwloc have another library name and other structures");

/// Pointers to the functions of hwloc that this file calls. The types of the pointers come from hwloc's declarations.
struct hwloc_calls {
  decltype(&::hwloc_get_api_version) get_api_version = nullptr;
  decltype(&::hwloc_topology_init) init = nullptr;
  decltype(&::hwloc_topology_set_flags) set_flags = nullptr;
  decltype(&::hwloc_topology_load) load = nullptr;
  decltype(&::hwloc_topology_destroy) destroy = nullptr;
  decltype(&::hwloc_get_type_depth) find_depth = nullptr;
  decltype(&::hwloc_get_obj_by_depth) object_at = nullptr;
  decltype(&::hwloc_bitmap_next) next_bit = nullptr;
};

template <typename Call>
auto find(void* library, const char* name, Call& call) -> bool {
  call = reinterpret_cast<Call>(::dlsym(library, name));
  return call != nullptr;
}

auto find_all(void* library, hwloc_calls& calls) -> bool {
  return find(library, "hwloc_get_api_version", calls.get_api_version) &&
         find(library, "hwloc_topology_init", calls.init) &&
         find(library, "hwloc_topology_set_flags", calls.set_flags) &&
         find(library, "hwloc_topology_load", calls.load) && find(library, "hwloc_topology_destroy", calls.destroy) &&
         find(library, "hwloc_get_type_depth", calls.find_depth) &&
         find(library, "hwloc_get_obj_by_depth", calls.object_at) && find(library, "hwloc_bitmap_next", calls.next_bit);
}

using loaded_hwloc = std::expected<hwloc_calls, std::string>;

/// Loads hwloc. The library is never unloaded, because threads may use it until the process exits.
auto load_hwloc() -> loaded_hwloc {
  const std::string name = library_name;
  void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::unexpected(name + " is not installed");
  hwloc_calls calls;
  if (!find_all(library, calls)) return std::unexpected(name + " lacks functions");
  if (calls.get_api_version() >> 16U != HWLOC_API_VERSION >> 16U) return std::unexpected(name + " is another version");
  return calls;
}

constinit fork_safe_mutex loading;
constinit std::optional<loaded_hwloc> loaded;  // written once, under the lock

auto hwloc() -> const loaded_hwloc& {
  const std::lock_guard guard(loading);
  if (!loaded) loaded = load_hwloc();
  return *loaded;
}

/// An owner of a topology object of hwloc.
class foreign_topology {
 public:
  explicit foreign_topology(const hwloc_calls& calls) : calls_(&calls) {
    // Without the second flag, hwloc may bind the calling thread to one CPU after the other while it loads the
    // topology.
    constexpr unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
    if (calls_->init(&handle_) != 0) handle_ = nullptr;
    loaded_ = handle_ != nullptr && calls_->set_flags(handle_, flags) == 0 && calls_->load(handle_) == 0;
  }
  foreign_topology(const foreign_topology&) = delete;
  auto operator=(const foreign_topology&) -> foreign_topology& = delete;
  ~foreign_topology() {
    if (handle_ != nullptr) calls_->destroy(handle_);
  }

  [[nodiscard]] auto is_loaded() const noexcept -> bool { return loaded_; }

  /// Calls `fn(os_index, cpus)` for each hwloc object of a type.
  template <typename Fn>
  void for_each(hwloc_obj_type_t type, Fn fn) const {
    const int depth = calls_->find_depth(handle_, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return;
    for (unsigned at = 0;; ++at) {
      const ::hwloc_obj* const object = calls_->object_at(handle_, depth, at);
      if (object == nullptr) return;
      fn(object->os_index, read_cpus(object));
    }
  }

 private:
  [[nodiscard]] auto read_cpus(const ::hwloc_obj* object) const -> cpu_set {
    cpu_set cpus;
    for (int cpu = calls_->next_bit(object->cpuset, -1); cpu >= 0; cpu = calls_->next_bit(object->cpuset, cpu)) {
      if (static_cast<unsigned>(cpu) >= cpu_set::limit) break;
      cpus.add(static_cast<unsigned>(cpu));
    }
    return cpus;
  }

  const hwloc_calls* calls_;
  ::hwloc_topology_t handle_ = nullptr;
  bool loaded_ = false;
};

/// For each hwloc object of this type, stores the set of the object's CPUs in `member` of the draft's entry for each of
/// these CPUs.
void add_groups(const foreign_topology& from, hwloc_obj_type_t type, cpu_set cpu_claim::* member,
                topology_draft& draft) {
  from.for_each(type, [&](unsigned, const cpu_set& cpus) {
    for (const unsigned cpu : cpus) draft.cpus[cpu].*member = cpus;
  });
}

}  // namespace

auto draft_from_hwloc() -> topology_draft {
  topology_draft draft;
  if (!hwloc()) {
    draft.reason = hwloc().error();
    return draft;
  }
  const foreign_topology from(*hwloc());
  if (from.is_loaded()) from.for_each(HWLOC_OBJ_MACHINE, [&](unsigned, const cpu_set& cpus) { draft.online |= cpus; });
  if (draft.online.empty()) {
    draft.reason = "hwloc names no CPU";
    return draft;
  }
  draft.source = topology_source::hwloc;
  draft.reason = "read from hwloc";
  from.for_each(HWLOC_OBJ_PACKAGE, [&](unsigned id, const cpu_set& cpus) {
    if (id == HWLOC_UNKNOWN_INDEX) return;
    for (const unsigned cpu : cpus) draft.cpus[cpu].package = id;
  });
  from.for_each(HWLOC_OBJ_NUMANODE, [&](unsigned id, const cpu_set& cpus) { draft.nodes.push_back({id, cpus, {}}); });
  add_groups(from, HWLOC_OBJ_CORE, &cpu_claim::core, draft);
  add_groups(from, HWLOC_OBJ_L2CACHE, &cpu_claim::l2, draft);
  add_groups(from, HWLOC_OBJ_L3CACHE, &cpu_claim::l3, draft);
  return draft;
}

}  // namespace braid::detail

auto braid::topology::hwloc_state() -> std::string {
  const auto& loaded = detail::hwloc();
  if (!loaded) return loaded.error();
  const unsigned version = loaded->get_api_version();
  return std::to_string(version >> 16U) + "." + std::to_string((version >> 8U) & 0xffU);
}

#else

auto braid::detail::draft_from_hwloc() -> topology_draft {
  topology_draft draft;
  draft.reason = topology::hwloc_state();
  return draft;
}

auto braid::topology::hwloc_state() -> std::string { return "braid was built without hwloc"; }

#endif
