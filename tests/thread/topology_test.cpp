// tests/thread/topology_test.cpp: machines made of files, files that lie, this machine, and hwloc as a second opinion.
#include <braid/base/random.hpp>
#include <braid/thread/detail/allowed_cpus.hpp>
#include <braid/thread/detail/topology_draft.hpp>
#include <braid/thread/topology.hpp>

#include <doctest/doctest.h>

#include <tests/support/machine_tree.hpp>
#include <tests/support/topology_promises.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

using braid::cpu_set;
using braid::random_source;
using braid::topology;
using braid::topology_source;
using braid::testing::check_promises;
using braid::testing::machine_tree;
using braid::testing::tree_machine;

namespace {

namespace fs = std::filesystem;

auto has(const std::string& text, std::string_view part) -> bool { return text.find(part) != std::string::npos; }

/// The sets of a list of parts, printed: `0-3 4-7`.
template <typename Part>
auto sets_of(const std::vector<Part>& parts) -> std::string {
  std::string text;
  for (const Part& part : parts) {
    if constexpr (requires { part.cpus; })
      text += (text.empty() ? "" : " ") + part.cpus.to_string();
    else
      text += (text.empty() ? "" : " ") + part.to_string();
  }
  return text;
}

auto kinds_of(const topology& machine) -> std::string {
  std::string text;
  for (const braid::topology::core& core : machine.cores) text += "APE"[static_cast<int>(core.kind)];
  return text;
}

/// What was read from the tree, with all that every topology promises already checked.
auto read(const machine_tree& files) -> topology {
  topology machine = topology::read(files.path());
  check_promises(machine);
  return machine;
}

auto every_file_below(const fs::path& folder) -> std::vector<fs::path> {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

/// Puts something in the place of a file that nobody expects there.
void spoil(const machine_tree& tree, const fs::path& file, random_source& random) {
  static const std::vector<std::string> lies{
      "",           "\n", "-1\n",    "0-8191\n", "8191\n",     "99999999999999999999\n", "4-2\n", "0,,1\n", "0-\n",
      "\xff\xfe\n", "x",  "1 2 3 4", "0 0 0 0",  "4294967295", "18446744073709551615\n"};
  const auto choice = random.below(lies.size() + 5);
  fs::remove(file);
  if (choice < lies.size())
    tree.write(file, lies[choice]);
  else if (choice == lies.size())
    fs::create_symlink(file.filename(), file);
  else if (choice == lies.size() + 1)
    fs::create_directory(file);
  else if (choice == lies.size() + 2)
    static_cast<void>(::mkfifo(file.c_str(), 0600));  // where that is refused the file is missing, which is as good
  else if (choice == lies.size() + 3)
    tree.write(file, std::string(200'000, '7'));
}

}  // namespace

TEST_CASE("two sockets with threads: packages, nodes, cores, caches and distances are those of the files") {
  const machine_tree files(braid::testing::two_sockets());
  files.allow(cpu_set::range(0, 31));
  const topology machine = read(files);
  CHECK(machine.source == topology_source::sysfs);
  CHECK(machine.reason == "read from /sys/devices/system");
  CHECK(machine.online == cpu_set::range(0, 31));
  CHECK(machine.allowed == machine.online);
  CHECK(sets_of(machine.packages) == "0-7,16-23 8-15,24-31");
  CHECK(machine.packages[1].id == 1);
  CHECK(sets_of(machine.nodes) == "0-7,16-23 8-15,24-31");
  CHECK(machine.nodes[1].distances == std::vector<unsigned>{21, 10});
  CHECK(machine.cores.size() == 16);
  CHECK(machine.cores[3].cpus == cpu_set{3, 19});
  CHECK(machine.l2.size() == 16);
  CHECK(sets_of(machine.l3) == "0-3,16-19 4-7,20-23 8-11,24-27 12-15,28-31");
  CHECK(kinds_of(machine) == std::string(16, 'A'));
  CHECK(machine.location_of(29)->core == 13);
  CHECK(machine.location_of(29)->l3 == 3U);
  CHECK(machine.location_of(32) == nullptr);
}

TEST_CASE("hybrid: capacities tell performance from efficiency, the highest clocks where there are no capacities") {
  tree_machine shape = braid::testing::hybrid();
  const machine_tree with_capacities(shape);
  CHECK(kinds_of(read(with_capacities)) == "PPPPEEEEEEEE");
  CHECK(sets_of(read(with_capacities).l2) == "0-1 2-3 4-5 6-7 8-11 12-15");
  for (auto& cpu : shape.cpus) cpu.capacity = 0;
  CHECK(kinds_of(read(machine_tree(shape))) == "PPPPEEEEEEEE");
  shape.cpus[3].max_khz = 0;
  CHECK(kinds_of(read(machine_tree(shape))) == "AAAAAAAAAAAA");
}

TEST_CASE("cores whose highest clocks differ by a few percent are alike") {
  tree_machine shape = braid::testing::two_sockets();
  for (auto& cpu : shape.cpus) cpu.max_khz = cpu.core < 2 ? 5'200'000 : 4'800'000;
  CHECK(kinds_of(read(machine_tree(shape))) == std::string(16, 'A'));
}

TEST_CASE("sparse numbers: nodes keep their ids, CPUs that are offline are not there, memory without CPUs is a node") {
  const topology machine = read(machine_tree(braid::testing::sparse_nodes()));
  CHECK(machine.online.to_string() == "0-1,3,16,18-19");
  CHECK(sets_of(machine.packages) == "0-1,3 16,18-19");
  CHECK(machine.packages[1].id == 8);
  REQUIRE(machine.nodes.size() == 3);
  REQUIRE(machine.node_with_id(8) == &machine.nodes[1]);
  CHECK(machine.nodes[1].cpus.to_string() == "16,18-19");
  CHECK(machine.nodes[2].id == 250);
  CHECK(machine.nodes[2].cpus.empty());
  CHECK(machine.nodes[0].distances == std::vector<unsigned>{10, 40, 80});
  CHECK(machine.node_with_id(1) == nullptr);
  CHECK(machine.l3.empty());
  CHECK_FALSE(machine.location_of(16)->l3);
}

TEST_CASE("names of older kernels are read where the newer ones are missing") {
  const machine_tree files(braid::testing::two_sockets());
  const fs::path facts = files.path() / "sys/devices/system/cpu/cpu0/topology";
  fs::remove(facts / "core_cpus_list");
  CHECK(has(read(files).reason, "the core of 1 CPUs is not known"));
  files.write(facts / "thread_siblings_list", "0,16\n");
  CHECK(read(files).cores[0].cpus == cpu_set{0, 16});
}

TEST_CASE("without files every allowed CPU is a core in one package and one node, and the reason says so") {
  const machine_tree nothing;
  const topology machine = read(nothing);
  CHECK(machine.source == topology_source::nothing);
  CHECK(machine.reason == "/sys/devices/system/cpu/online lists no CPU");
  CHECK(machine.allowed == braid::detail::read_allowed_cpus().cpus);
  CHECK(machine.packages.size() == 1);
  CHECK(machine.nodes.size() == 1);
  CHECK(machine.cores.size() == machine.allowed.size());
  CHECK(machine.l2.empty());
  for (const char* text : {"", "garbage", "0-", "8192", "-1"}) {
    CAPTURE(text);
    nothing.write("sys/devices/system/cpu/online", text);
    CHECK(read(nothing).source == topology_source::nothing);
  }
  nothing.write("sys/devices/system/cpu/online", "5-6\n");
  CHECK(read(nothing).source == topology_source::sysfs);
  CHECK(read(nothing).packages.size() == 1);
  CHECK(read(nothing).reason ==
        "read from /sys/devices/system; the package of 2 CPUs is not known; no memory node is reported; the core of 2 "
        "CPUs is "
        "not known");
}

TEST_CASE("a source is asked only when it is not passed over") {
  const machine_tree files(braid::testing::hybrid());
  CHECK(topology::read(files.path(), topology_source::nothing).source == topology_source::nothing);
  CHECK(topology::read("/", topology_source::sysfs).source != topology_source::hwloc);
}

TEST_CASE("what the files say of the allowed CPUs is kept, and what they say of others too") {
  const machine_tree files(braid::testing::two_sockets());
  files.allow({3, 30, 100});
  const topology machine = read(files);
  CHECK(machine.allowed == cpu_set{3, 30});
  CHECK(machine.online == cpu_set::range(0, 31));
  CHECK(machine.allowed_reason == "affinity mask 3,30,100, online CPUs 0-31");
}

TEST_CASE("contradictions: a CPU claimed twice stays with the first, and a core reaches beyond no package or node") {
  const machine_tree files(braid::testing::two_sockets());
  files.write("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0-31\n");
  files.write("sys/devices/system/cpu/cpu8/cache/index2/shared_cpu_list", "0-8191\n");
  files.write("sys/devices/system/node/node0/cpulist", "0-9\n");
  files.write("sys/devices/system/node/node1/cpulist", "5-30\n");
  const topology machine = read(files);
  CHECK(machine.cores[0].cpus == cpu_set{0});
  CHECK(sets_of(machine.l3) == "0-3,16-19 4-7,20-23 8-15,24-31");
  CHECK(sets_of(machine.nodes) == "0-9,31 10-30");
  CHECK(has(machine.reason, "CPUs 31 belong to no memory node, and are assigned to the first memory node"));
}

TEST_CASE("distances that are missing, too few or no numbers become 10 and 20") {
  const machine_tree files(braid::testing::two_sockets());
  for (const char* text : {"", "10", "10 21 30", "10 x", "10  21", "-10 21"}) {
    CAPTURE(text);
    files.write("sys/devices/system/node/node0/distance", text);
    const topology machine = read(files);
    CHECK(machine.nodes[0].distances == std::vector<unsigned>{10, 20});
    CHECK(machine.nodes[1].distances == std::vector<unsigned>{21, 10});
    CHECK(has(machine.reason, "distances between memory nodes are not known"));
  }
}

TEST_CASE("random machines keep the promises of a topology") {
  random_source random(41);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const tree_machine shape = braid::testing::random_machine(random);
    const topology machine = read(machine_tree(shape));
    CHECK(machine.online.size() == shape.cpus.size());
  }
}

TEST_CASE("files that are cut, huge, negative, folders, pipes or loops break no promise") {
  random_source random(42);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const machine_tree files(braid::testing::random_machine(random));
    files.allow({0, 1, 2, 3});
    const std::vector<fs::path> all = every_file_below(files.path());
    for (auto count = 1 + random.below(12); count > 0; --count) {
      const fs::path& file = all[random.below(all.size())];
      if (fs::is_regular_file(fs::symlink_status(file))) spoil(files, file, random);
    }
    read(files);
  }
}

TEST_CASE("this machine keeps the promises, by every source") {
  for (const auto source : {topology_source::hwloc, topology_source::sysfs, topology_source::nothing}) {
    const topology machine = topology::read("/", source);
    CAPTURE(machine.reason);
    check_promises(machine);
    CHECK(machine.allowed == braid::detail::read_allowed_cpus().cpus);
  }
  CHECK_FALSE(braid::topology::hwloc_state().empty());
}

TEST_CASE("hwloc finds the same packages, nodes, cores and caches in the same files") {
  if (braid::detail::draft_from_hwloc().source == topology_source::nothing) {
    MESSAGE("left out: " << braid::topology::hwloc_state());
    return;
  }
  for (const tree_machine& shape :
       {braid::testing::two_sockets(), braid::testing::hybrid(), braid::testing::sparse_nodes()}) {
    const machine_tree files(shape, braid::testing::tree_files::lists_and_masks);
    ::setenv("HWLOC_FSROOT", files.path().c_str(), 1);
    auto claims = braid::detail::draft_from_hwloc();
    ::unsetenv("HWLOC_FSROOT");
    const cpu_set online = claims.online;
    const topology theirs = braid::detail::settle(std::move(claims), {online, "all"});
    check_promises(theirs);
    const topology ours = read(files);
    CHECK(theirs.source == topology_source::hwloc);
    CHECK(theirs.online == ours.online);
    CHECK(sets_of(theirs.packages) == sets_of(ours.packages));
    CHECK(sets_of(theirs.nodes) == sets_of(ours.nodes));
    CHECK(sets_of(theirs.cores) == sets_of(ours.cores));
    CHECK(sets_of(theirs.l2) == sets_of(ours.l2));
    CHECK(sets_of(theirs.l3) == sets_of(ours.l3));
  }
}
