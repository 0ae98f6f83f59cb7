// tests/doctor/doctor_test.cpp: the program itself, on machines made of files and on this one.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <tests/support/environment.hpp>
#include <tests/support/machine_tree.hpp>
#include <tests/support/process.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

using braid::testing::environment;
using braid::testing::machine_tree;
using braid::testing::process_end;
using nlohmann::json;

namespace {

using words = std::vector<std::string>;

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

auto run(words before, words arguments) -> process_end {
  for (const char* name : {"BRAID_SEED", "BRAID_STRESS"}) ::unsetenv(name);
  before.insert(before.end(), arguments.begin(), arguments.end());
  return braid::testing::run_process(std::move(before));
}

/// Runs the program with the variables BRAID_* that the caller has set on purpose: BRAID_WORKERS and BRAID_IO alone.
auto doctor(words arguments) -> process_end { return run({DOCTOR_BINARY}, std::move(arguments)); }

/// The same, where the system refuses io_uring, and without BRAID_IO.
auto refused_doctor(words arguments) -> process_end {
  return run({WITHOUT_IO_URING, DOCTOR_BINARY}, std::move(arguments));
}

auto doctor_of(const machine_tree& files) -> process_end {
  process_end end = doctor({"--root", files.path().string()});
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  return end;
}

/// Half of one socket, and a quota that the container sees as the top of its mount.
void put_into_container(const machine_tree& files) {
  files.allow(braid::cpu_set::range(0, 31));
  files.write("proc/self/cgroup", "0::/docker/abc/inner\n");
  files.write("proc/self/mountinfo", "30 25 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  files.write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  files.write("sys/fs/cgroup/inner/cpu.max", "400000 100000\n");
  files.write("sys/fs/cgroup/cpuset.cpus.effective", "0-1,4,16-17\n");
}

}  // namespace

TEST_CASE("a server in a container") {
  const environment nobody_says("BRAID_WORKERS", nullptr);
  const machine_tree files(braid::testing::two_sockets());
  put_into_container(files);
  CHECK(doctor_of(files).out == "braid " DOCTOR_VERSION R"(
CPUs
  source   sysfs (read from /sys/devices/system)
  online   32: 0-31
  allowed  5: 0-1,4,16-17 (affinity mask 0-31, cpuset of /sys/fs/cgroup/cpuset.cpus.effective 0-1,4,16-17, online CPUs 0-31)

  package  node  L3  kind   cores  CPUs         allowed
  0        0     0   alike  4      0-3,16-19    0-1,16-17
  0        0     1   alike  4      4-7,20-23    4
  1        1     2   alike  4      8-11,24-27   -
  1        1     3   alike  4      12-15,28-31  -

  node  CPUs        distances
  0     0-7,16-23   10 21
  1     8-15,24-31  21 10

Limits of cgroups
  quota   the time of 4 CPUs    /sys/fs/cgroup/inner/cpu.max
  quota   the time of 2.5 CPUs  /sys/fs/cgroup/cpu.max
  cpuset  0-1,4,16-17           /sys/fs/cgroup/cpuset.cpus.effective

Workers of a pool
  3  5 CPUs are allowed, /sys/fs/cgroup/cpu.max grants the CPU time of 2.5

Environment
  no variable BRAID_* is set
)");
}

TEST_CASE("a hybrid machine, and a variable that is ignored") {
  const environment wrong("BRAID_WORKERS", "many\n");
  const environment strange("BRAID_STRANGE", "");
  CHECK(doctor_of(machine_tree(braid::testing::hybrid())).out == "braid " DOCTOR_VERSION R"(
CPUs
  source   sysfs (read from /sys/devices/system)
  online   16: 0-15
  allowed  16: 0-15 (online CPUs 0-15)

  package  node  L3  kind         cores  CPUs  allowed
  0        0     0   performance  4      0-7   0-7
  0        0     0   efficiency   8      8-15  8-15

  node  CPUs  distances
  0     0-15  10

Limits of cgroups
  none

Workers of a pool
  16  16 CPUs are allowed, and no cgroup limits the CPU time; BRAID_WORKERS is ignored: "many?" is not a number from 1 to 4096

Environment
  BRAID_STRANGE  ""       not a variable of the library
  BRAID_WORKERS  "many?"  ignored: must be a number from 1 to 4096
)");
}

TEST_CASE("each variable of the library is known, and what is wrong with it is said") {
  const braid::testing::scratch_folder place;  // for the lock of a flight recorder
  const std::string file = (place.path() / "t").string();
  const environment trace("BRAID_TRACE", (file + ",last=1s").c_str());
  const environment stall("BRAID_STALL", "soon");
  const environment dump("BRAID_DUMP", "quit");
  const std::string told = doctor_of(machine_tree(braid::testing::hybrid())).out;
  for (const std::string& line : {std::string("  BRAID_DUMP   \"quit\" "), std::string("  BRAID_STALL  \"soon\" "),
                                  "  BRAID_TRACE  \"" + file + ",last=1s\"  valid\n"})
    CHECK_MESSAGE(told.find(line) != std::string::npos, told);
  CHECK(told.find("ignored: must be a duration such as 500ms or 2s\n") != std::string::npos);
  CHECK(told.find("not a variable of the library") == std::string::npos);
}

TEST_CASE("sparse nodes: memory without CPUs is listed, and CPUs without a shared cache") {
  const environment says("BRAID_WORKERS", "7");
  const std::string text = doctor_of(machine_tree(braid::testing::sparse_nodes())).out;
  CHECK(has(text, "  8        8     -   alike  3      16,18-19  16,18-19\n"));
  CHECK(has(text, "  250   -         80 80 10\n"));
  CHECK(has(text, "\n  7  BRAID_WORKERS says 7\n"));
  CHECK(has(text, "\n  BRAID_WORKERS  \"7\"  valid\n"));
}

TEST_CASE("JSON says all of it") {
  // Characters of one to four bytes; bytes that are none, overlong, a surrogate, past the end, cut short.
  const std::string names = "\"\\\x01\x7f \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
  const std::string wrong = "\xff|\xc0\xaf|\xe0\x80\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82";
  const environment says("BRAID_WORKERS", (names + wrong).c_str());
  const machine_tree files(braid::testing::two_sockets());
  put_into_container(files);
  const process_end end = doctor({"--json", "--root", files.path().string()});
  CHECK(end.status == 0);
  CHECK(end.out.ends_with("}\n"));
  const json found = json::parse(end.out);
  CHECK(found.at("version") == DOCTOR_VERSION);
  const json& cpus = found.at("cpus");
  CHECK(cpus.at("source") == "sysfs");
  CHECK(cpus.at("allowed") == "0-1,4,16-17");
  CHECK(cpus.at("packages") == json::parse(R"([{"id":0,"cpus":"0-7,16-23"},{"id":1,"cpus":"8-15,24-31"}])"));
  CHECK(cpus.at("nodes")[1] == json::parse(R"({"id":1,"cpus":"8-15,24-31","distances":[21,10]})"));
  CHECK(cpus.at("cores").size() == 16);
  CHECK(cpus.at("cores")[15] == json::parse(R"({"cpus":"15,31","kind":"alike"})"));
  CHECK(cpus.at("l2").size() == 16);
  CHECK(cpus.at("l3") == json::parse(R"(["0-3,16-19","4-7,20-23","8-11,24-27","12-15,28-31"])"));
  CHECK(found.at("quotas") == json::parse(R"([{"cpus":4,"file":"/sys/fs/cgroup/inner/cpu.max"},
                                              {"cpus":2.5,"file":"/sys/fs/cgroup/cpu.max"}])"));
  CHECK(found.at("cpuset").at("cpus") == "0-1,4,16-17");
  CHECK(found.at("workers").at("count") == 3);
  const std::string value = found.at("environment")[0].at("value");
  CHECK(value.starts_with(names));
  const std::string mark = "\xef\xbf\xbd";
  const auto marks = [&mark](int count) {
    std::string out;
    while (count-- > 0) out += mark;
    return out;
  };
  CHECK(value.substr(names.size()) ==
        mark + "|" + marks(2) + "|" + marks(3) + "|" + marks(3) + "|" + marks(4) + "|" + marks(2));
  CHECK(has(end.out, "\\u0001\\u007f \xc3\xa9 "));
  CHECK_FALSE(found.contains("build"));
  CHECK_FALSE(found.contains("user"));
}

TEST_CASE("JSON of a folder without anything is still well-formed") {
  const environment nobody_says("BRAID_WORKERS", nullptr);
  const machine_tree nothing;
  const json found = json::parse(doctor({"--root", nothing.path().string(), "--json"}).out);
  CHECK(found.at("cpus").at("source") == "nothing");
  CHECK(found.at("cpuset").is_null());
  CHECK(found.at("quotas").empty());
  CHECK(found.at("environment").empty());
}

TEST_CASE("this machine: every section, and the same facts as JSON") {
  const process_end end = doctor({});
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  for (const char* part :
       {"  compiler ", "  sanitizer ", "  hwloc ", "  fibers ", "\nCPUs\n", "\nLimits of cgroups\n",
        "\nWorkers of a pool\n", "\nEnvironment\n", "\nWhat this user may do\n", "  real-time priority ", "  io_uring ",
        "  membarrier ", "(RLIMIT_RTPRIO) ", "(RLIMIT_NICE) ", "(CAP_SYS_NICE) "})
    CHECK_MESSAGE(has(end.out, part), part);
  const json found = json::parse(doctor({"--json"}).out);
  for (const char* name : {"real_time", "io_uring", "membarrier", "loops", "barrier", "rtprio", "nice", "cap_sys_nice"})
    CHECK_FALSE(found.at("user").at(name).get<std::string>().empty());
  for (const char* name : {"compiler", "library", "checks", "sanitizer", "hwloc", "fibers"})
    CHECK_FALSE(found.at("build").at(name).get<std::string>().empty());
}

TEST_CASE("the barrier of workers is the one that is named, with its cost") {
  {
    const environment named("BRAID_BARRIER", "fence");
    const json found = json::parse(doctor({"--json"}).out);
    CHECK(found.at("user").at("barrier").get<std::string>().starts_with("fence, "));
    CHECK(found.at("environment").at(0).at("verdict") == "valid");
  }
  const environment named("BRAID_BARRIER", "mfence");
  const std::string said = doctor({}).out;
  CHECK(has(said, "ignored: must be membarrier or fence"));
  CHECK(has(said, "barrier of the workers (BRAID_BARRIER)"));
}

TEST_CASE("the backend of event loops is the one that is named, and a name that means nothing is told") {
  {
    const environment named("BRAID_IO", "poll");
    const json found = json::parse(doctor({"--json"}).out);
    CHECK(found.at("user").at("loops") == "poll");
    CHECK(found.at("environment").at(0) == json{{"name", "BRAID_IO"}, {"value", "poll"}, {"verdict", "valid"}});
  }
  const environment wrong("BRAID_IO", "kqueue");
  const std::string text = doctor({}).out;
  CHECK(has(
      text,
      "\"kqueue\"  event loops cannot be created: BRAID_IO must be uring, epoll or poll (on macOS, kqueue or poll)\n"));
  CHECK(has(text, "  backend of event loops (BRAID_IO)           none: "));
}

TEST_CASE("where the system refuses io_uring, both forms say so, and why, and what loops wait by instead") {
  const process_end end = refused_doctor({});
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  const std::string why = std::make_error_code(std::errc::operation_not_permitted).message();
  const std::size_t line = end.out.find("\n  io_uring ");
  REQUIRE(line != std::string::npos);
  const std::string said = end.out.substr(line + 1, end.out.find('\n', line + 1) - line - 1);
  CHECK_MESSAGE(said.ends_with(" refused: " + why), said);
  CHECK(has(end.out, "  backend of event loops (BRAID_IO)           epoll\n"));
  const json found = json::parse(refused_doctor({"--json"}).out);
  CHECK(found.at("user").at("io_uring") == why);
  CHECK(found.at("user").at("loops") == "epoll");
}

TEST_CASE("a command line that makes no sense exits with 2 and says why on standard error") {
  for (const words& line : {words{"--nonsense"},
                            {"extra"},
                            {"--root"},
                            {"--root", "/does/not/exist"},
                            {"--root", "/proc/self/status"},
                            {"--json", "--root"},
                            {""}}) {
    CAPTURE(line.back());
    const process_end end = doctor(line);
    CHECK(end.status == 2);
    CHECK(end.out.empty());
    CHECK(end.err.starts_with("braid-doctor: "));
  }
}

TEST_CASE("a wrong value is named with what is expected in its place") {
  const std::string number = "the number of a process must be an integer from 1 to 2147483647, got `";
  const std::string interval = "--interval must be a time from 10ms to 3600s, got `";
  for (const std::string& wrong : {"0", "-1", "1e99", "NaN", "", "text", "9223372036854775808"}) {
    CAPTURE(wrong);
    CHECK(doctor({"tasks", wrong}).err == "braid-doctor: tasks: " + number + wrong + "`; try --help\n");
    const process_end end = doctor({"top", wrong});
    CHECK(end.status == 2);
    CHECK(end.err == "braid-doctor: top: " + number + wrong + "`; try --help\n");
    CHECK(doctor({"top", "1", "--interval", wrong}).err ==
          "braid-doctor: top: " + interval + wrong + "`; try --help\n");
  }
  for (const std::string& wrong : {"9ms", "3601s", "1e99s", "5000000000ms"})
    CHECK(doctor({"top", "1", "--interval", wrong}).err ==
          "braid-doctor: top: " + interval + wrong + "`; try --help\n");
  CHECK(has(doctor({"top", "1", "--interval"}).err, "--interval needs a value: a time from 10ms to 3600s; "));
  CHECK(has(doctor({"top", "1", "2"}).err, "only one process can be named, got `2` as well; "));
  CHECK(has(doctor({"tasks", "--onse"}).err, "unknown option `--onse`; "));
}

TEST_CASE("what the command line holds cannot steer the terminal that shows it") {
  CHECK(doctor({"a\x1b[2J\n\xc2\x9b\xff\xc3\xa9"}).err ==
        "braid-doctor: unknown option or command `a\\x1b[2J\\x0a\\xc2\\x9b\\xff\xc3\xa9`; try --help\n");
  CHECK(doctor({"--root", "/no\x07thing"}).err ==
        "braid-doctor: --root must be a folder, got `/no\\x07thing`; try --help\n");
}

TEST_CASE("help and version are on standard output") {
  for (const char* option : {"--help", "-h"}) {
    const process_end end = doctor({option});
    CHECK(end.status == 0);
    CHECK(end.out.starts_with("usage: braid-doctor"));
    CHECK(has(end.out, "--root DIR"));
  }
  CHECK(doctor({"--version"}).out == "braid-doctor " DOCTOR_VERSION "\n");
}
