// sim/coordinator.hpp: runs the machines of a world. The coordinator holds the token while no machine holds it, and
// keeps the time of the world.
#pragma once

#include <sim/disk_folder.hpp>
#include <sim/journal.hpp>
#include <sim/links.hpp>
#include <sim/process.hpp>
#include <sim/run_log.hpp>
#include <sim/world_hash.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim {

inline constexpr std::int64_t max_time_ns = 1'000'000'000'000'000'000;  ///< the longest time of a world: 31 years
inline constexpr std::int32_t max_drift_ppm = 100'000;

/// The settings of a machine.
struct machine_plan {
  std::string name;
  std::vector<std::string> words;  ///< the program with its arguments
  std::string address;             ///< the next free one of 10.0.0.0/24 if it is empty
  std::string folder;              ///< in which the program starts; the current one if it is empty
  bool has_disk = false;           ///< the program starts in a copy of the folder, and a crash loses what is not synced
  std::int64_t starts_at_ns = 0;
  std::int64_t clock_offset_ns = 0;
  std::int32_t clock_drift_ppm = 0;
  bool must_end = false;  ///< the world fails if the program still runs at its end
};

/// A disk fault of a machine. The fault concerns the files whose paths match a pattern of fnmatch. The paths are
/// relative to the folder of the disk.
struct disk_failure {
  disk_fault fault = disk_fault::none;  ///< none ends all faults of the disk
  std::string paths = "*";
  std::int64_t delay_ns = 0;  ///< of a slow sync
};

/// A record of one token grant, used to compare two runs.
struct grant {
  std::int64_t time = 0;
  std::uint64_t hash = 0;  ///< of the world when the token was returned
  machine_number machine = 0;
  friend auto operator==(const grant&, const grant&) -> bool = default;
};

class coordinator final : private link_owner {
 public:
  /// Constructs a world without machines. `options` apply to every machine, but the program in `options` is ignored.
  coordinator(const run_options& options, output destination);
  coordinator(const coordinator&) = delete;
  auto operator=(const coordinator&) -> coordinator& = delete;
  ~coordinator();

  /// Adds a machine, which starts when the world runs. Returns an error message, or an empty text.
  auto add(const machine_plan& plan) -> std::string;
  [[nodiscard]] auto find(const std::string& name) const -> std::optional<machine_number>;
  [[nodiscard]] auto machine_count() const -> std::size_t { return machines_.size(); }

  /// Calls a function at the given time after the start of the world. Calls the function at once if this time has
  /// passed.
  void at(std::int64_t time_ns, std::function<void()> action);
  void cut(machine_number from, machine_number to);
  void heal(machine_number from, machine_number to);
  /// Simulates a loss of power of a machine: the machine ends, and its peers are not notified.
  void crash(machine_number machine);
  /// Kills the process of a machine. The simulated system of the machine resets the connections.
  void kill(machine_number machine);
  /// Begins a fault of a machine's disk, or ends all faults of that disk. Returns an error message, or an empty text.
  auto fail_disk(machine_number machine, const disk_failure& failure) -> std::string;
  /// Starts the program of a machine again. Does nothing if the program runs.
  void restart(machine_number machine);

  /// Runs the world until its time is `time_ns` after the start, or until a program fails.
  void run_until(std::int64_t time_ns);
  /// Ends the programs that still run, and deletes the disks. If a program must end by itself but still runs, it writes
  /// a report first.
  void end();

  [[nodiscard]] auto time_ns() const -> std::int64_t { return time_ - start_time; }
  /// Returns a hash of all switches between threads and machines, of all packets with their content, and of the output
  /// of all programs.
  [[nodiscard]] auto hash() const -> std::uint64_t { return hash_.value(); }
  [[nodiscard]] auto switches() const -> std::uint64_t { return switches_; }
  [[nodiscard]] auto grants() const -> const std::vector<grant>& { return grants_; }
  /// Returns the recorded events for a trace. There are no events unless the options name a trace file.
  [[nodiscard]] auto log() const -> const run_log& { return log_; }
  [[nodiscard]] auto has_failed() const -> bool { return failed_.has_value(); }
  /// Returns the exit status of the command braid-sim.
  [[nodiscard]] auto exit_status() const -> int;
  /// Returns the exit status of a program that has ended by itself.
  [[nodiscard]] auto status(machine_number machine) const -> std::optional<int>;
  [[nodiscard]] auto runs(machine_number machine) const -> bool { return is_running(machine); }
  [[nodiscard]] auto output_of(machine_number machine) const -> std::string;
  [[nodiscard]] auto address_of(machine_number machine) const -> const std::string&;
  /// Returns the folder of a machine's disk while the world runs, or an empty text if the machine has no disk.
  [[nodiscard]] auto find_disk(machine_number machine) const -> const std::string&;
  /// Returns the report of the program that failed, then a line for each machine, and a line for the run.
  [[nodiscard]] auto summary() const -> std::string;

 private:
  struct machine;

  [[nodiscard]] auto now() const -> std::int64_t override { return time_; }
  void schedule(std::int64_t time_ns, std::function<void()> action) override;
  [[nodiscard]] auto find_machine(const wire_address& address) const -> std::optional<machine_number> override;
  [[nodiscard]] auto is_running(machine_number machine) const -> bool override;
  [[nodiscard]] auto has_power(machine_number machine) const -> bool override;
  void deliver(machine_number to, packet delivered) override;
  void note_fault(fault kind) override;

  [[nodiscard]] auto format_names() const -> std::string;
  void make_disks();
  void delete_disks();
  void start(machine_number number);
  void stop(machine_number number);
  void finish(machine_number number);
  void listen(machine_number number);
  void visit(machine_number number);
  void handle(machine_number number, packet got);
  auto read_packet(machine& from, packet& got) -> bool;
  auto read_all(machine& from, void* memory, std::size_t size) -> bool;
  [[nodiscard]] auto choose() -> std::optional<machine_number>;
  [[nodiscard]] auto weight(const machine& candidate) const -> std::uint64_t;
  [[nodiscard]] auto next_time(const machine* except) const -> std::int64_t;
  void run_due();
  void show_output(machine& source, bool is_last);
  void note_end(machine_number number);

  struct action {
    std::int64_t at;
    std::uint64_t number;
    std::function<void()> run;
    friend auto operator>(const action& left, const action& right) -> bool {
      return left.at != right.at ? left.at > right.at : left.number > right.number;
    }
  };

  run_options options_;
  output destination_;
  links links_;
  chances orders_;
  chances disk_fates_;
  std::optional<disk_folder> disks_;
  std::vector<std::unique_ptr<machine>> machines_;
  std::vector<action> actions_;  // a heap
  std::uint64_t next_action_ = 0;
  std::int64_t time_ = start_time;
  std::int64_t end_ = start_time;
  world_hash hash_;
  std::uint64_t switches_ = 0;
  std::vector<grant> grants_;
  run_log log_;
  std::optional<machine_number> failed_;
  std::string report_;
  bool has_started_ = false;
};

}  // namespace sim
