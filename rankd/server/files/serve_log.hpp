// rankd/server/files/serve_log.hpp: the log of a server, as lines of JSON.
#pragma once

#include <rankd/server/files/line_file.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace rankd {

/// The amount of logging. Each level includes the levels before it.
enum class log_level : std::uint8_t { off, error, warning, info, debug };

/// Returns the level with this name, or nothing if there is no such level.
[[nodiscard]] auto parse_log_level(std::string_view name) noexcept -> std::optional<log_level>;

/// Logs each event as one line: `{"time","level","event",…}`. Threads: any. Lifetime: the file outlives it.
class serve_log {
 public:
  struct field {
    std::string_view name;
    std::variant<std::string_view, std::int64_t> value;  ///< an empty text is left out
  };

  serve_log() = default;  ///< logs nothing
  serve_log(line_file& into, log_level max_level) noexcept : file_(&into), max_level_(max_level) {}

  [[nodiscard]] auto is_logged(log_level level) const noexcept -> bool {
    return file_ != nullptr && level != log_level::off && level <= max_level_;
  }
  /// Logs an event. If memory for the line cannot be allocated, the line is lost and counted.
  void note(log_level level, std::string_view event, std::initializer_list<field> fields = {}) const noexcept;
  /// Returns the file of the log, or null if nothing is logged.
  [[nodiscard]] auto file() const noexcept -> const line_file* { return file_; }
  /// Returns how many lines of the log were lost.
  [[nodiscard]] auto lost() const -> std::uint64_t { return file_ == nullptr ? 0 : file_->lost(); }

 private:
  line_file* file_ = nullptr;
  log_level max_level_ = log_level::off;
};

/// Returns a time in UTC as text, such as `2026-01-31T23:59:59.123456Z`.
[[nodiscard]] auto utc_text(std::chrono::system_clock::time_point time) -> std::string;

}  // namespace rankd
