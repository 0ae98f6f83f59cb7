// braid/sim.hpp: a world of simulated machines for tests: programs that run in virtual time, a network between them,
// and a seed that decides the order of all events and every fault. Programs that use it link braid::sim.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>

namespace braid::sim {

/// In a simulation, returns true at some calls, which the seed selects. Otherwise, returns false. Use it in production
/// code to reach a rare path: `if (cache.is_full() || braid::sim::sometimes("cache is full"))`. For each name, a
/// quarter of the seeds make a quarter of the calls return true. All calls return false after `calm_from`.
///
/// Cost: one load if the program is not simulated. The function needs no library. Threads: any.
[[nodiscard]] inline auto sometimes(const char* name) -> bool {
  using decide = int (*)(const char*);
  static const auto found = reinterpret_cast<decide>(::dlsym(RTLD_DEFAULT, "braid_sim_sometimes"));
  return found != nullptr && found(name) != 0;
}

/// The options of a world: its seed, and the faults that the network may have. For each kind of fault, a number limits
/// how many happen; with the default 0, no fault of that kind happens.
struct world_options {
  std::uint64_t seed = 1;
  std::chrono::nanoseconds min_latency = std::chrono::microseconds(10);
  std::chrono::nanoseconds max_latency = std::chrono::microseconds(200);
  std::uint64_t bandwidth = 0;            ///< bytes per second from one machine to another; 0: no limit
  std::uint32_t splits = 0;               ///< packets of TCP that are split at any byte
  std::uint32_t delays = 0;               ///< packets that are delayed by up to 1 s
  std::uint32_t resets = 0;               ///< connections that are reset while they carry data
  std::uint32_t refusals = 0;             ///< connections that are refused
  std::uint32_t losses = 0;               ///< datagrams that are lost
  std::uint32_t partitions = 0;           ///< cuts of a link for 0.1 to 10 s, half of them in one direction
  std::uint32_t fault_rate = 20;          ///< on average one of this many packets has a fault of each kind
  std::chrono::nanoseconds calm_from{0};  ///< no fault begins after it; 0: no limit
  std::uint32_t cpus = 4;                 ///< the number of CPUs that each program sees
  std::uint64_t every = 1;                ///< another thread may run at every Nth call on average
  std::chrono::seconds stuck_after{5};    ///< a program that computes for longer without a call ends the world
};

/// Options of a machine.
struct machine_options {
  std::string address{};  ///< an IPv4 or IPv6 address; empty: 10.0.0.N for the Nth machine
  std::string folder{};   ///< the folder in which the program starts; empty: the current folder
  /// If set, the machine has its own disk: the program starts in a copy of `folder`, or in an empty folder, and a crash
  /// may lose or tear data that was not synced. The copy is deleted at the end of the world.
  bool disk = false;
  std::chrono::nanoseconds starts_at{0};     ///< the start of the program, after the start of the world
  std::chrono::nanoseconds clock_offset{0};  ///< the offset of the real-time clock of the machine
  std::int32_t clock_drift_ppm = 0;          ///< how much faster all clocks of the machine run, in millionths
  bool must_end = false;                     ///< the world fails if the program still runs at its end
};

class world;

/// A machine of a world: a process that runs an unchanged program. A copy refers to the same machine.
class machine {
 public:
  /// Ends the process as a power failure does: its memory is lost. The other machines are not notified, so their
  /// connections to this machine stay half-open.
  void crash();
  /// Kills the process, while the system of the machine continues to run and resets the connections of the process.
  void kill();
  /// Makes writes and the creation of files fail with ENOSPC. The fault applies to files whose path, relative to the
  /// folder of the disk, matches a pattern such as "events/*" (fnmatch).
  void fill_disk(const std::string& paths = "*");
  /// Makes writes, syncs and changes of names fail with EIO. After a failed sync, a crash may lose the data even if a
  /// later sync succeeds.
  void fail_disk(const std::string& paths = "*");
  /// Makes a sync take longer. Data that is written during the sync is not durable when the sync ends.
  void slow_disk(std::chrono::nanoseconds delay, const std::string& paths = "*");
  /// Ends all faults of the disk.
  void heal_disk();
  /// Starts the program again. Does nothing if the program is running.
  void restart();

  /// Returns true if the program is running.
  [[nodiscard]] auto is_running() const -> bool;
  /// Returns the exit status of a program that has ended by itself. If a signal ended the program, returns 128 plus the
  /// number of the signal.
  [[nodiscard]] auto status() const -> std::optional<int>;
  /// Returns everything that the program has written to its standard output and standard error since its first start.
  [[nodiscard]] auto output() const -> std::string;
  [[nodiscard]] auto address() const -> const std::string&;
  /// Returns the folder with the files of the disk. It is empty if the machine has no disk, before the world runs, and
  /// after its end.
  [[nodiscard]] auto disk_folder() const -> std::string;

 private:
  friend class world;
  struct place;
  explicit machine(std::shared_ptr<place> place) : place_(std::move(place)) {}
  std::shared_ptr<place> place_;
};

/// A world: machines, a network between them, and one virtual time. Two worlds with the same seed and programs run in
/// the same way.
///
/// Threads: one thread may use a world and its machines. Lifetime: machines must not be used after their world. Errors:
/// throws std::invalid_argument with a message if a program cannot be simulated or an option is wrong.
class world {
 public:
  explicit world(const world_options& options = {});
  world(const world&) = delete;
  auto operator=(const world&) -> world& = delete;
  /// Ends all programs.
  ~world();

  /// Adds a machine. The program of the machine starts when the world runs for the first time. The name of the machine
  /// is a host name in the world.
  auto machine(const std::string& name, const std::vector<std::string>& command, const machine_options& options = {})
      -> sim::machine;

  /// Makes the world call a function once `time` has passed since its start.
  void at(std::chrono::nanoseconds time, std::function<void()> action);

  /// Stops all packets between two machines. TCP sends these packets again after the link is healed.
  void cut(const sim::machine& one, const sim::machine& other);
  /// Stops all packets from one machine to another machine.
  void cut_one_way(const sim::machine& from, const sim::machine& to);
  /// Lets packets pass in both directions again.
  void heal(const sim::machine& one, const sim::machine& other);

  /// Runs the world for a duration of virtual time. Returns false if a program failed: it ended with a status other
  /// than 0 or by a signal, or the simulator ended it. In that case the world has stopped.
  auto run_for(std::chrono::nanoseconds duration) -> bool;
  /// Ends all programs. Returns false if a program has failed, or if a program still ran although its option `must_end`
  /// is set.
  auto end() -> bool;

  /// Returns the virtual time since the start of the world.
  [[nodiscard]] auto now() const -> std::chrono::nanoseconds;
  /// Returns a hash of all switches between threads and of all packets. Two runs with the same seed have the same hash.
  [[nodiscard]] auto hash() const -> std::uint64_t;
  /// Returns the report of the program that failed, and a line for each machine.
  [[nodiscard]] auto report() const -> std::string;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace braid::sim
