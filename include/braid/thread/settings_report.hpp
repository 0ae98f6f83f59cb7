// braid/thread/settings_report.hpp: what became of each setting that a thread was to have.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace braid {

/// What happens when the system refuses a setting.
enum class refusal : std::uint8_t {
  fail,    ///< nothing runs, and the caller gets the error
  ignore,  ///< the thread runs without that setting, and the report says so
};

/// What can be set of a thread.
enum class thread_setting : std::uint8_t { name, affinity, scheduling, stack_size };

/// One setting, and that it was applied or the error with which it was refused.
struct setting_outcome {
  thread_setting setting;
  result<void> outcome;
};

/// The outcomes of all settings that were asked for, in the order in which they were tried. Threads: as any value.
class BRAID_API settings_report {
 public:
  void add(thread_setting setting, result<void> outcome);

  [[nodiscard]] auto outcomes() const noexcept -> std::span<const setting_outcome> { return outcomes_; }

  /// The first refusal, or success where there was none.
  [[nodiscard]] auto first_refusal() const noexcept -> result<void>;

  /// True where nothing was refused.
  [[nodiscard]] auto all_applied() const noexcept -> bool { return first_refusal().has_value(); }

  /// For people: `name applied, scheduling refused: Operation not permitted`; empty where nothing was asked for.
  [[nodiscard]] auto to_string() const -> std::string;

 private:
  std::vector<setting_outcome> outcomes_;
};

}  // namespace braid
