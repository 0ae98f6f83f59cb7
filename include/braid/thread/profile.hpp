// braid/thread/profile.hpp: a set of thread settings that is applied at once, and the outcome of each setting.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/scheduling.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

/// Selects what happens if the system refuses a setting.
enum class refusal : std::uint8_t {
  fail,    ///< nothing runs, and the caller gets the error
  ignore,  ///< the thread runs without that setting, which the report contains
};

/// The outcomes of all requested settings, in the order in which they were tried. Threads: like any value.
class BRAID_API settings_report {
 public:
  /// The settings of a thread.
  enum class setting : std::uint8_t { name, affinity, scheduling, stack_size };

  /// A setting, with its error if the system refused it.
  struct outcome {
    settings_report::setting setting;
    result<void> outcome;
  };

  void add(setting setting, result<void> outcome);

  [[nodiscard]] auto outcomes() const noexcept -> std::span<const outcome> { return outcomes_; }

  /// Returns the first refusal, or success if nothing was refused.
  [[nodiscard]] auto first_refusal() const noexcept -> result<void>;

  /// Returns true if nothing was refused.
  [[nodiscard]] auto all_applied() const noexcept -> bool { return first_refusal().has_value(); }

  /// Describes the outcomes, for example as `name applied, scheduling refused: Operation not permitted`. Returns an
  /// empty string if no setting was requested.
  [[nodiscard]] auto to_string() const -> std::string;

 private:
  std::vector<outcome> outcomes_;
};

/// Settings for a thread. Settings without a value stay unchanged. A program can define its own profiles as values of
/// this type. Threads: like any value.
struct thread_profile {
  std::optional<std::string> name = std::nullopt;
  std::optional<cpu_set> affinity = std::nullopt;
  std::optional<braid::scheduling> scheduling = std::nullopt;

  /// Returns a profile with the policy `fifo` and a priority below that of Linux's interrupt threads. Use it for a
  /// thread that must run before all threads with fair scheduling. Needs a privilege.
  static auto realtime() -> thread_profile { return {.scheduling = scheduling::fifo{40}}; }

  /// Returns a profile for a thread that gets a large share of the CPU: policy `other`, nice value -10. Needs a
  /// privilege.
  static auto low_latency() -> thread_profile { return {.scheduling = scheduling::other{-10}}; }

  /// Returns a profile for long computations: policy `batch`, nice value 0.
  static auto throughput() -> thread_profile { return {.scheduling = scheduling::batch{0}}; }

  /// Returns a profile for a thread that runs only if no other thread needs the CPU: policy `idle`. Needs no privilege.
  static auto background() -> thread_profile { return {.scheduling = scheduling::idle{}}; }
};

namespace detail {

/// A type to which settings can be applied, such as thread_info, every thread_view and braid::thread.
template <typename T>
concept thread_target = requires(T& target, std::string_view name, const cpu_set& cpus, const scheduling& policy) {
  { target.set_name(name) } -> std::same_as<result<void>>;
  { target.set_affinity(cpus) } -> std::same_as<result<void>>;
  { target.set_scheduling(policy) } -> std::same_as<result<void>>;
};

struct apply_profile {
  template <typename Target>
    requires thread_target<Target>
  auto operator()(const thread_profile& profile, Target&& target) const -> settings_report {
    settings_report report;
    if (profile.name) report.add(settings_report::setting::name, target.set_name(*profile.name));
    if (profile.affinity) report.add(settings_report::setting::affinity, target.set_affinity(*profile.affinity));
    if (profile.scheduling)
      report.add(settings_report::setting::scheduling, target.set_scheduling(*profile.scheduling));
    return report;
  }
};

}  // namespace detail

/// Applies a profile: `apply(profile, target)` tries every setting of the profile. After a refusal it continues with
/// the other settings.
/// Threads: the same as for the setters of the target. Errors: the report contains the error of each setting. `apply`
/// is an object, because a function with this name would conflict with std::apply if the target's type involves std.
inline constexpr detail::apply_profile apply{};

namespace this_thread {

/// Applies the profile to the calling thread.
/// Errors: the report contains the error of each setting.
BRAID_API auto apply(const thread_profile& profile) -> settings_report;

}  // namespace this_thread
}  // namespace braid
