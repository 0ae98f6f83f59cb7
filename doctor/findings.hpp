// doctor/findings.hpp: declares the findings of braid-doctor about a machine, before they are printed.
#pragma once

#include <braid/thread/cgroup.hpp>
#include <braid/thread/topology.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace braid::doctor {

/// The compiler and options with which the program was built.
struct build_facts {
  std::string compiler;
  std::string library;    ///< "shared" or "static"
  std::string checks;     ///< "on" or "off"
  std::string sanitizer;  ///< the compiler's name of the sanitizer; empty if there is none
  std::string hwloc;
  std::string fibers;  ///< "yes", or the reason why there are no fibers
};

/// An environment variable whose name begins with BRAID_, and whether its value is valid.
struct variable {
  std::string name;
  std::string value;
  std::string verdict;  ///< "valid", or the error in the value
};

/// A system call that braid-doctor has tried, and whether the system allows it.
struct attempt {
  std::string what;        ///< the name for people
  std::string key;         ///< the name for programs
  std::error_code result;  ///< zero if it was allowed
};

/// The rights of the user who runs braid-doctor.
struct rights {
  std::vector<attempt> attempts;
  std::string loops;     ///< the backend of event loops, or the reason why there is none
  std::string barrier;   ///< the barrier between sleeping and waking threads, and its cost
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
  std::optional<build_facts> build;  ///< this and the next member exist only for the system on which the program runs
  std::optional<rights> user;
};

/// Examines this machine, or a copy of another machine's files below `root`.
auto gather(const std::filesystem::path& root) -> findings;

/// The fields below describe the running process. They cannot be found in the files of another machine.
auto build_of_this_program() -> build_facts;
auto environment_of_this_process() -> std::vector<variable>;
auto rights_of_this_user() -> rights;

}  // namespace braid::doctor
