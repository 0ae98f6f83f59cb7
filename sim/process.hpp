// sim/process.hpp: one run of a program under the simulator.
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

/// The options of the command line for runs.
struct run_options {
  settings wanted;
  std::chrono::seconds stuck_after{5};
  std::vector<std::string> words;  ///< the program with its arguments
  std::string path;                ///< the file of the program
};

/// Checks that the program can be simulated, and finds its file. Returns a sentence, which is empty if it can be.
auto find_program(run_options& options) -> std::string;

/// Whether the output of a run is printed or kept.
enum class output { shown, kept };

/// A process that runs under the simulator. Its memory that both share stays until the object ends.
class process {
 public:
  process(const run_options& options, std::uint64_t seed, output output);
  process(const process&) = delete;
  auto operator=(const process&) -> process& = delete;
  ~process();

  /// Waits a moment for the end of the process, and ends it if it is stuck. Returns true at its end.
  auto has_ended(int wait_ms) -> bool;

  [[nodiscard]] auto seed() const -> std::uint64_t { return page_->wanted.seed; }
  /// Returns the exit status, as a shell shows it.
  [[nodiscard]] auto status() const -> int { return status_; }
  [[nodiscard]] auto has_failed() const -> bool { return status_ != 0 || !was_simulated(); }
  [[nodiscard]] auto was_simulated() const -> bool { return page_->started.load() != 0; }
  [[nodiscard]] auto page() const -> const shared_page& { return *page_; }
  [[nodiscard]] auto records() const -> std::span<const record>;
  /// Returns the output of the process, if it is kept.
  [[nodiscard]] auto written() const -> std::string;

 private:
  void start(const run_options& options, output output);
  [[noreturn]] void become(const run_options& options);
  void watch();

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

/// Prints how a run ended: its report, and a line that counts its switches.
void print_end(const process& ended);

/// Returns the words as a shell reads them.
auto quoted(const std::vector<std::string>& words) -> std::string;

/// Returns the function of a file at an offset, demangled, or nothing.
auto find_function(const std::string& file, std::uint64_t offset) -> std::string;

}  // namespace sim
