// sim/world_file.hpp: declares the content of a world file (TOML): the machines, and what happens to them.
#pragma once

#include <sim/coordinator.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sim {

/// An event of a world, with its kind and its time.
struct world_event {
  enum class kind : std::uint8_t {
    cut,
    heal,
    crash,
    kill,
    restart,
    fill_disk,
    fail_disk,
    slow_disk,
    heal_disk
  } what = kind::cut;
  std::int64_t at_ns = 0;
  std::vector<std::string> machines;
  bool is_one_way = false;
  disk_failure failure;
  unsigned number = 0;  ///< of the fault that the seed has chosen, whose begin and end have the same; 0: of the file
};

/// Returns the key that names this kind of event in a world file.
auto name(world_event::kind event) -> const char*;
constexpr auto is_about_disk(world_event::kind event) -> bool { return event >= world_event::kind::fill_disk; }
/// Returns the disk fault that this kind of event begins.
auto fault_of(world_event::kind event) -> disk_fault;

/// The kinds of events that a seed can choose, and their keys.
inline constexpr std::array fault_kinds = {world_event::kind::crash,     world_event::kind::kill,
                                           world_event::kind::cut,       world_event::kind::fill_disk,
                                           world_event::kind::fail_disk, world_event::kind::slow_disk};
inline constexpr std::array<const char*, fault_kinds.size()> budget_names = {
    "crashes", "kills", "cuts", "full_disks", "failing_disks", "slow_disks"};

/// The maximum number of faults of each kind that a seed chooses.
struct fault_budgets {
  std::array<std::uint32_t, fault_kinds.size()> budgets{};
  std::int64_t calm_from_ns = 0;      ///< no fault begins or lasts after it; 0: no limit
  std::vector<std::string> machines;  ///< that may have faults: see `fault_targets`
  unsigned drawn = 0;                 ///< the number of faults that were chosen
};

/// The content of a world file. Options are stored as words of the command line.
struct world_plan {
  std::string file;
  std::vector<std::string> options;
  std::vector<std::string> fault_options;  ///< the options for the budgets of the network's faults
  std::int64_t duration_ns = 0;
  std::vector<machine_plan> machines;
  std::vector<world_event> events;
  fault_budgets faults;
};

/// Returns the names of the machines that may have a fault of this kind. If the file names no machines, a machine whose
/// program must end can only have network faults.
auto fault_targets(const world_plan& plan, world_event::kind fault) -> std::vector<std::string>;

/// Returns the indexes of events that certainly do nothing: restarts of a machine that has not crashed and was not
/// killed since its last start. If the machine's program may have ended by itself, its restart is not returned, because
/// it may start the program again.
auto find_idle_restarts(const world_plan& plan) -> std::vector<std::size_t>;

/// An error in a world file, with its line.
struct world_problem {
  unsigned line = 0;  ///< 0: the file cannot be read
  std::string sentence;
};

/// The first error in the options of a file: the position of the wrong word, and an error message. The message is empty
/// if there is no error.
struct option_problem {
  std::size_t position = 0;
  std::string sentence;
};
using option_check = std::function<option_problem(const std::vector<std::string>& words)>;

/// Reads a world file. Returns all errors in the order of their lines. `check` is called to find an error in the
/// options of the file.
auto read_world(const std::string& file, world_plan& plan, const option_check& check) -> std::vector<world_problem>;

/// Adds the machines and events of a plan to a world. Returns an error message, or an empty text.
auto build_world(const world_plan& plan, coordinator& world) -> std::string;

}  // namespace sim
