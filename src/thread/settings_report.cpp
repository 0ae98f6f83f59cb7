// src/thread/settings_report.cpp: stores the outcome of each setting of a thread, and formats the outcomes as text.
#include <braid/thread/profile.hpp>

#include <string_view>

namespace braid {
namespace {

auto word(settings_report::setting setting) -> std::string_view {
  switch (setting) {
    case settings_report::setting::name: return "name";
    case settings_report::setting::affinity: return "affinity";
    case settings_report::setting::scheduling: return "scheduling";
    case settings_report::setting::stack_size: return "stack size";
  }
  return "unknown setting";
}

}  // namespace

void settings_report::add(settings_report::setting setting, result<void> outcome) {
  outcomes_.push_back({setting, outcome});
}

auto settings_report::first_refusal() const noexcept -> result<void> {
  for (const settings_report::outcome& each : outcomes_)
    if (!each.outcome) return each.outcome;
  return {};
}

auto settings_report::to_string() const -> std::string {
  std::string text;
  for (const settings_report::outcome& each : outcomes_) {
    if (!text.empty()) text += ", ";
    text += word(each.setting);
    text += each.outcome ? " applied" : " refused: " + each.outcome.error().message();
  }
  return text;
}

}  // namespace braid
