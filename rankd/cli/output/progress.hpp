// rankd/cli/output/progress.hpp: a progress bar on standard error for long work, if standard error is a terminal.
#pragma once

#include <rankd/cli/projects/demo.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/store/load_store.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace rankd {

/// A progress bar, `label [#####.....] 50 %`. The bar is redrawn at most ten times a second. The destructor removes it.
/// Nothing is drawn if standard error is not a terminal.
/// Threads: a single thread.
class progress_bar {
 public:
  enum class output : std::uint8_t { automatic, forced };

  explicit progress_bar(std::string label, output where = output::automatic);
  progress_bar(const progress_bar&) = delete;
  auto operator=(const progress_bar&) -> progress_bar& = delete;
  ~progress_bar();

  void show(std::uint64_t done, std::uint64_t total);

  /// These functions return callbacks that draw this bar. Lifetime: the bar outlives the callbacks.
  auto for_load() -> std::function<void(const load_progress&)>;
  auto for_demo() -> std::function<void(const demo_progress&)>;

 private:
  std::string label_;
  bool visible_;
  std::chrono::steady_clock::time_point next_{};
  bool drawn_ = false;
};

/// Returns an observer that draws a bar for each load of an embedded store.
auto load_bars() -> load_observer;

/// Returns a bar without its label, such as `[#####.....]  50 %`.
auto bar_text(std::uint64_t done, std::uint64_t total) -> std::string;

}  // namespace rankd
