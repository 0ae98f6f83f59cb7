// src/thread/scheduling.cpp: formats scheduling policies and their numbers as text.
#include <braid/thread/scheduling.hpp>

namespace braid {
namespace {

auto nanoseconds_text(std::chrono::nanoseconds span) -> std::string { return std::to_string(span.count()) + " ns"; }

struct printer {
  auto operator()(const scheduling::other& policy) const -> std::string { return "other" + nice(policy.nice); }
  auto operator()(const scheduling::batch& policy) const -> std::string { return "batch" + nice(policy.nice); }
  auto operator()(const scheduling::idle& /*policy*/) const -> std::string { return "idle"; }
  auto operator()(const scheduling::fifo& policy) const -> std::string { return "fifo" + rank(policy.priority); }
  auto operator()(const scheduling::round_robin& policy) const -> std::string {
    return "round robin" + rank(policy.priority);
  }
  auto operator()(const scheduling::deadline& policy) const -> std::string {
    return "deadline, " + nanoseconds_text(policy.runtime) + " of every " + nanoseconds_text(policy.period) +
           " within " + nanoseconds_text(policy.deadline);
  }

  static auto nice(nice_value value) -> std::string { return ", nice " + std::to_string(value.value()); }
  static auto rank(realtime_priority value) -> std::string { return ", priority " + std::to_string(value.value()); }
};

}  // namespace

namespace detail {

/// This function is never called at run time. A constant expression that would have to call this function does not
/// compile.
void number_out_of_range() {}

}  // namespace detail

auto scheduling::nice() const noexcept -> std::optional<nice_value> {
  if (const auto* fair = std::get_if<other>(&policy_)) return fair->nice;
  if (const auto* fair = std::get_if<batch>(&policy_)) return fair->nice;
  return std::nullopt;
}

auto scheduling::priority() const noexcept -> std::optional<realtime_priority> {
  if (const auto* realtime = std::get_if<fifo>(&policy_)) return realtime->priority;
  if (const auto* realtime = std::get_if<round_robin>(&policy_)) return realtime->priority;
  return std::nullopt;
}

auto scheduling::to_string() const -> std::string { return std::visit(printer{}, policy_); }

}  // namespace braid
