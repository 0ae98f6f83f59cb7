// src/thread/profile.cpp: applies a thread profile to the calling thread.
#include <braid/thread/profile.hpp>

#include <braid/thread/this_thread.hpp>

namespace braid::this_thread {

namespace {

/// An adapter through which `apply` changes the settings of the calling thread.
struct caller {
  static auto set_name(std::string_view name) { return this_thread::set_name(name); }
  static auto set_affinity(const cpu_set& cpus) { return this_thread::set_affinity(cpus); }
  static auto set_scheduling(const braid::scheduling& wanted) { return this_thread::set_scheduling(wanted); }
};

}  // namespace

auto apply(const thread_profile& profile) -> settings_report { return braid::apply(profile, caller{}); }

}  // namespace braid::this_thread
