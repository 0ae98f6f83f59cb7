// rankd/server/files/serve_log.cpp: writes events to the log as lines of JSON.
#include <rankd/server/files/serve_log.hpp>

#include <rankd/registry/json_members.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <new>

namespace rankd {
namespace {

constexpr std::array<std::string_view, 5> level_names{"off", "error", "warning", "info", "debug"};

/// Returns the line of an event.
auto format_line(log_level level, std::string_view event, std::initializer_list<serve_log::field> fields)
    -> std::string {
  std::string line = "{";
  append_json_unless_empty(line, "time", utc_text(std::chrono::system_clock::now()));
  append_json_unless_empty(line, "level", level_names[static_cast<std::size_t>(level)]);
  append_json_unless_empty(line, "event", event);
  for (const serve_log::field& each : fields) {
    if (const auto* const number = std::get_if<std::int64_t>(&each.value))
      append_json_member(line, each.name, *number);
    else
      append_json_unless_empty(line, each.name, std::get<std::string_view>(each.value));
  }
  return line + "}";
}

}  // namespace

auto parse_log_level(std::string_view name) noexcept -> std::optional<log_level> {
  const auto* const found = std::ranges::find(level_names, name);
  if (found == level_names.end()) return std::nullopt;
  return static_cast<log_level>(found - level_names.begin());
}

void serve_log::note(log_level level, std::string_view event, std::initializer_list<field> fields) const noexcept {
  if (!is_logged(level)) return;
  try {
    file_->add(format_line(level, event, fields));
  } catch (const std::bad_alloc&) {
    file_->lose();
  }
}

auto utc_text(std::chrono::system_clock::time_point time) -> std::string {
  using namespace std::chrono;
  const auto since = floor<microseconds>(time.time_since_epoch());
  const auto seconds = floor<std::chrono::seconds>(since);
  const std::time_t whole = seconds.count();
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 80> room{};
  std::snprintf(room.data(), room.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>((since - seconds).count()));
  return room.data();
}

}  // namespace rankd
