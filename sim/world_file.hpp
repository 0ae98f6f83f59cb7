// sim/world_file.hpp: a world as a TOML file: machines, and what happens to them.
#pragma once

#include <sim/coordinator.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// An event of a world: what happens, and at which time.
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
};

/// The content of a world file. Options are stored as words of the command line.
struct world_plan {
  std::string file;
  std::vector<std::string> options;
  std::int64_t duration_ns = 0;
  std::vector<machine_plan> machines;
  std::vector<world_event> events;
};

/// An error in a line of a world file.
struct world_problem {
  unsigned line = 0;  ///< 0: the file cannot be read
  std::string sentence;
};

/// Reads a file. Returns all errors in the order of their lines.
auto read_world(const std::string& file, world_plan& plan) -> std::vector<world_problem>;

/// Adds the machines and events of a plan to a world. Returns an error message, or an empty text.
auto build_world(const world_plan& plan, coordinator& world) -> std::string;

}  // namespace sim
