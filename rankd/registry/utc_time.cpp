// rankd/registry/utc_time.cpp: parses the digits of a time, and checks that its date exists.
#include <rankd/registry/utc_time.hpp>

#include <charconv>
#include <cstddef>
#include <system_error>

namespace rankd {
namespace {

/// Parses a part of a time that consists of digits.
auto digits(std::string_view text) -> std::optional<int> {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size() && text.front() != '-';
  return all ? std::optional(value) : std::nullopt;
}

/// Parses the part of a time after the seconds, which is empty or consists of a point and one to six digits.
auto parse_fraction(std::string_view text) -> std::optional<std::chrono::microseconds> {
  constexpr std::size_t max_digits = 6;
  if (text.empty()) return std::chrono::microseconds(0);
  text.remove_prefix(1);
  if (text.empty() || text.size() > max_digits) return std::nullopt;
  auto value = digits(text);
  for (std::size_t at = text.size(); value && at < max_digits; ++at) *value *= 10;
  return value ? std::optional(std::chrono::microseconds(*value)) : std::nullopt;
}

}  // namespace

auto parse_utc_time(std::string_view text) -> std::optional<utc_time> {
  constexpr std::string_view form = "0000-00-00T00:00:00";
  if (text.size() <= form.size() || text.back() != 'Z') return std::nullopt;
  text.remove_suffix(1);
  if (text.size() > form.size() && text[form.size()] != '.') return std::nullopt;
  for (std::size_t at = 0; at < form.size(); ++at)
    if (form[at] != '0' && text[at] != form[at]) return std::nullopt;
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8, 2));
  const auto hour = digits(text.substr(11, 2));
  const auto minute = digits(text.substr(14, 2));
  const auto second = digits(text.substr(17, 2));
  const auto fraction = parse_fraction(text.substr(form.size()));
  if (!year || !month || !day || !hour || !minute || !second || !fraction) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second) + *fraction;
}

}  // namespace rankd
