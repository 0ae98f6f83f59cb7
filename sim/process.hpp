// sim/process.hpp: declares one run of a program under the simulator, in a child process.
#pragma once

#include <sim/shared.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace sim {

/// The command-line options that apply to a run.
struct run_options {
  settings wanted;
  std::chrono::seconds stuck_after{5};
  std::vector<std::string> words;  ///< the program with its arguments
  std::string path;                ///< the file of the program
  std::string trace;               ///< the file for a trace of the run; empty: there is none
};

/// Checks that the program can be simulated, and stores its path. Returns an error message, or an empty text.
auto find_program(run_options& options) -> std::string;

/// Selects whether the output of a run is printed at once, or stored.
enum class output { shown, kept };

/// The properties of a process that is a machine of a world.
struct machine_seat {
  int socket = -1;     ///< the connection to the coordinator
  int output = -1;     ///< a file that collects the output of the program
  std::string folder;  ///< the folder in which the program starts
  std::uint64_t first_connection = 0;
};

/// The status of a program into which the simulator's library was not loaded.
inline constexpr int not_simulated_status = -1;

/// A process that runs under the simulator. The memory that the process shares with braid-sim exists as long as this
/// object does.
class process {
 public:
  process(const run_options& options, std::uint64_t seed, output output, const machine_seat* seat = nullptr);
  process(const process&) = delete;
  auto operator=(const process&) -> process& = delete;
  ~process();

  /// Waits for at most `wait_ms` for the end of the process, and ends a stuck process. Returns whether the process has
  /// ended.
  auto has_ended(int wait_ms) -> bool;
  /// Begins to measure the time during which the process makes no switch.
  void begin_watch();
  /// Requests a report from the process if it computes for too long without a switch.
  void watch();
  /// Requests that the process writes its report and ends.
  void ask_for_report(question reason);

  [[nodiscard]] auto seed() const -> std::uint64_t { return page_->wanted.seed; }
  /// Returns the exit status of the process in the form that shells use: 128 plus the signal number after a signal.
  [[nodiscard]] auto status() const -> int { return status_; }
  [[nodiscard]] auto has_failed() const -> bool { return status_ != 0 || !was_simulated(); }
  [[nodiscard]] auto was_simulated() const -> bool { return page_->started.load() != 0; }
  [[nodiscard]] auto page() const -> const shared_page& { return *page_; }
  [[nodiscard]] auto records() const -> std::span<const record>;
  /// Returns a copy of the records, beginning with the oldest record that was kept.
  [[nodiscard]] auto last_records() const -> std::vector<record>;
  /// Returns the output of the process if it was stored.
  [[nodiscard]] auto written() const -> std::string;

 private:
  void start(const run_options& options, output output, const machine_seat* seat);
  [[noreturn]] void become(const run_options& options, const machine_seat* seat);

  int file_ = -1;
  int output_ = -1;
  int handle_ = -1;
  pid_t id_ = -1;
  int status_ = 0;
  shared_page* page_ = nullptr;
  std::size_t size_ = 0;
  std::chrono::seconds stuck_after_;
  std::uint64_t last_switches_ = 0;
  double cpu_at_switch_ = 0;
  std::chrono::steady_clock::time_point last_switch_;
  bool was_asked_ = false;
};

/// Prints the result of a run: its report, and a line with its number of switches.
void print_end(const process& ended);

/// Returns the report of a process, with the names of functions.
auto describe_report(const process& ended) -> std::string;

/// Returns the text of a file, beginning at an offset.
auto read_file(int file, std::size_t offset) -> std::string;

/// Returns the words as a command line, quoted so that a shell reads them unchanged.
auto quoted(const std::vector<std::string>& words) -> std::string;

/// Returns the demangled name of the function at an offset of a file, or an empty text.
auto find_function(const std::string& file, std::uint64_t offset) -> std::string;

}  // namespace sim
