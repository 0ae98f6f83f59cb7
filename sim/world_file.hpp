// sim/world_file.hpp: a world as a TOML file: machines, and what happens to them.
#pragma once

#include <sim/coordinator.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// Something that happens in a world at a time.
struct world_event {
  enum class kind : std::uint8_t { cut, heal, crash, kill, restart } what = kind::cut;
  std::int64_t at_ns = 0;
  std::vector<std::string> machines;
  bool is_one_way = false;
};

/// What a file says. Options are words of the command line.
struct world_plan {
  std::string file;
  std::vector<std::string> options;
  std::int64_t duration_ns = 0;
  std::vector<machine_plan> machines;
  std::vector<world_event> events;
};

/// Something wrong with a line of the file.
struct world_problem {
  unsigned line = 0;  ///< 0: the file cannot be read
  std::string sentence;
};

/// Reads a file. Returns all problems in the order of their lines.
auto read_world(const std::string& file, world_plan& plan) -> std::vector<world_problem>;

/// Adds the machines and events of a plan. Returns a sentence, which is empty if all were added.
auto build_world(const world_plan& plan, coordinator& world) -> std::string;

}  // namespace sim
