// doctor/json.cpp: prints the findings as JSON, for programs.
#include <doctor/json_writer.hpp>
#include <doctor/print.hpp>

namespace braid::doctor {
namespace {

void write_sets(json_writer& out, const char* name, const std::vector<cpu_set>& sets) {
  out.name(name);
  out.array([&] {
    for (const cpu_set& set : sets) out.string(set.to_string());
  });
}

void write_packages(json_writer& out, const topology& machine) {
  out.name("packages");
  out.array([&] {
    for (const topology::package& package : machine.packages)
      out.object([&] {
        out.name("id");
        out.number(package.id);
        out.member("cpus", package.cpus.to_string());
      });
  });
}

void write_node(json_writer& out, const topology::node& node) {
  out.object([&] {
    out.name("id");
    out.number(node.id);
    out.member("cpus", node.cpus.to_string());
    out.name("distances");
    out.array([&] {
      for (const unsigned distance : node.distances) out.number(distance);
    });
  });
}

void write_cores(json_writer& out, const topology& machine) {
  out.name("cores");
  out.array([&] {
    for (const topology::core& core : machine.cores)
      out.object([&] {
        out.member("cpus", core.cpus.to_string());
        out.member("kind", name_of(core.kind));
      });
  });
}

void write_machine(json_writer& out, const topology& machine) {
  out.name("cpus");
  out.object([&] {
    out.member("source", name_of(machine.source));
    out.member("reason", machine.reason);
    out.member("online", machine.online.to_string());
    out.member("allowed", machine.allowed.to_string());
    out.member("allowed_reason", machine.allowed_reason);
    write_packages(out, machine);
    out.name("nodes");
    out.array([&] {
      for (const topology::node& node : machine.nodes) write_node(out, node);
    });
    write_cores(out, machine);
    write_sets(out, "l2", machine.l2);
    write_sets(out, "l3", machine.l3);
  });
}

void write_limits(json_writer& out, const findings& found) {
  out.name("quotas");
  out.array([&] {
    for (const cgroup::quota& quota : found.quotas)
      out.object([&] {
        out.name("cpus");
        out.number(quota.cpus);
        out.member("file", quota.file);
      });
  });
  out.name("cpuset");
  if (!found.cpuset) return out.null();
  out.object([&] {
    out.member("cpus", found.cpuset->cpus.to_string());
    out.member("file", found.cpuset->file);
  });
}

void write_environment(json_writer& out, const std::vector<variable>& variables) {
  out.name("environment");
  out.array([&] {
    for (const variable& each : variables)
      out.object([&] {
        out.member("name", each.name);
        out.member("value", each.value);
        out.member("verdict", each.verdict);
      });
  });
}

void write_build(json_writer& out, const build_facts& build) {
  out.name("build");
  out.object([&] {
    out.member("compiler", build.compiler);
    out.member("library", build.library);
    out.member("checks", build.checks);
    out.member("sanitizer", build.sanitizer);
    out.member("hwloc", build.hwloc);
    out.member("fibers", build.fibers);
  });
}

void write_user(json_writer& out, const rights& user) {
  out.name("user");
  out.object([&] {
    for (const attempt& each : user.attempts) out.member(each.key, each.result ? each.result.message() : "allowed");
    out.member("loops", user.loops);
    out.member("barrier", user.barrier);
    out.member("rtprio", user.rtprio);
    out.member("nice", user.nice);
    out.member("cap_sys_nice", user.cap_nice);
  });
}

}  // namespace

auto to_json(const findings& found) -> std::string {
  json_writer out;
  out.object([&] {
    out.member("version", BRAID_VERSION);
    if (found.build) write_build(out, *found.build);
    write_machine(out, found.machine);
    write_limits(out, found);
    out.name("workers");
    out.object([&] {
      out.name("count");
      out.number(found.workers.workers);
      out.member("reason", found.workers.reason);
    });
    write_environment(out, found.environment);
    if (found.user) write_user(out, *found.user);
  });
  return out.take() + "\n";
}

}  // namespace braid::doctor
