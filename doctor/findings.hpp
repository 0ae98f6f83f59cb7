// doctor/findings.hpp: all that braid-doctor finds out, before it is printed.
#pragma once

#include <braid/thread/cgroup.hpp>
#include <braid/thread/topology.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace braid::doctor {

/// How the program was built, and with which options.
struct build_facts {
  std::string compiler;
  std::string library;    ///< shared or static
  std::string checks;     ///< on or off
  std::string sanitizer;  ///< the compiler's name of it; empty if there is none
  std::string hwloc;
  std::string fibers;  ///< yes, or the reason why there are none
};

/// A variable whose name begins with BRAID_.
struct variable {
  std::string name;
  std::string value;
  std::string verdict;  ///< valid, or what is wrong with it
};

/// Something that the system allows or refuses, as an attempt showed.
struct attempt {
  std::string what;        ///< for people
  std::string key;         ///< for programs
  std::error_code result;  ///< zero if it was allowed
};

/// The rights of this user.
struct rights {
  std::vector<attempt> attempts;
  std::string loops;     ///< the backend of event loops, or the reason why there is none
  std::string barrier;   ///< what orders the steps of sleeping and waking threads, and its cost
  std::string rtprio;    ///< RLIMIT_RTPRIO: a number or unlimited
  std::string nice;      ///< RLIMIT_NICE: the lowest nice value that may be set
  std::string cap_nice;  ///< CAP_SYS_NICE: yes, no or unknown
};

struct findings {
  topology machine;
  std::vector<cgroup::quota> quotas;
  std::optional<cgroup::cpuset> cpuset;
  worker_count workers;
  std::vector<variable> environment;
  std::optional<build_facts> build;  ///< these two only of the system that the program runs on
  std::optional<rights> user;
};

/// Examines this machine, or another one whose files are below `root`.
auto gather(const std::filesystem::path& root) -> findings;

/// Returns the parts that the running process alone can tell.
auto build_of_this_program() -> build_facts;
auto environment_of_this_process() -> std::vector<variable>;
auto rights_of_this_user() -> rights;

}  // namespace braid::doctor
