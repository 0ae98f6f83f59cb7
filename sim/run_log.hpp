// sim/run_log.hpp: stores the data for a trace of a run: switches between threads, packets, and events of the world.
#pragma once

#include <sim/links.hpp>
#include <sim/process.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sim {

/// The recorded switches of a process.
struct process_log {
  machine_number machine = 0;
  bool is_complete = true;  ///< false if the oldest records were not kept
  std::vector<record> records;
  std::vector<std::string> thread_names;  ///< by the number of the thread, from 1
};

enum class direction : std::uint8_t { sent, received };

/// An event outside of the programs. If the event is about a packet, `machine` sends or receives the packet.
struct world_note {
  std::int64_t time_ns = 0;
  std::optional<machine_number> machine;  ///< or the whole world
  std::string text;
  std::uint64_t packet = 0;  ///< its number; 0: it is no packet from another machine
  direction way = direction::sent;
};

class run_log {
 public:
  /// Constructs an empty log. Unless `is_kept` is true, the log stays empty.
  explicit run_log(bool is_kept) : is_kept_(is_kept) {}

  /// Adds the switches of a process that has ended.
  void add(const process& ended, machine_number machine);
  void note(std::int64_t time_ns, std::optional<machine_number> machine, std::string text);
  /// Adds a packet. If the packet is being sent, assigns a number to it. The packet has the same number when it is
  /// received. Ignores messages about disks.
  void note_packet(std::int64_t time_ns, machine_number machine, packet& shown, direction way);

  [[nodiscard]] auto processes() const -> const std::vector<process_log>& { return processes_; }
  [[nodiscard]] auto notes() const -> const std::vector<world_note>& { return notes_; }

 private:
  bool is_kept_;
  std::uint64_t last_packet_ = 0;
  std::vector<process_log> processes_;
  std::vector<world_note> notes_;
};

}  // namespace sim
