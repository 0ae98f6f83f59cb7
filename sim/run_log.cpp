// sim/run_log.cpp: stores the events of a run until a trace is written.
#include <sim/run_log.hpp>

#include <utility>

namespace sim {

void run_log::add(const process& ended, machine_number machine) {
  if (!is_kept_) return;
  process_log made{.machine = machine, .records = ended.last_records(), .thread_names = {}};
  made.is_complete = made.records.size() == ended.page().switches.load();
  for (const auto& each : ended.page().thread_names) made.thread_names.emplace_back(each.data());
  processes_.push_back(std::move(made));
}

void run_log::note(std::int64_t time_ns, std::optional<machine_number> machine, std::string text) {
  if (is_kept_) notes_.push_back({.time_ns = time_ns, .machine = machine, .text = std::move(text)});
}

void run_log::note_packet(std::int64_t time_ns, machine_number machine, packet& shown, direction way) {
  if (!is_kept_ || shown.head.what >= word::disk_write) return;
  if (way == direction::sent) shown.number = ++last_packet_;
  const char* verb = way == direction::sent ? "sends " : "receives ";
  notes_.push_back({.time_ns = time_ns,
                    .machine = machine,
                    .text = std::string(verb) + name(shown.head.what),
                    .packet = shown.number,
                    .way = way});
}

}  // namespace sim
