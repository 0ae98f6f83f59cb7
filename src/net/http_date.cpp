// src/net/http_date.cpp: formats the dates of HTTP without the standard library, whose functions depend on the locale.
#include <braid/net/detail/http_date.hpp>

#include <array>
#include <cstddef>
#include <string_view>

namespace braid::detail {
namespace {

constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void append_number(std::string& out, unsigned value, unsigned digits) {
  unsigned unit = 1;
  for (unsigned i = 1; i < digits; ++i) unit *= 10;
  for (; unit > 0; unit /= 10) out += static_cast<char>('0' + value / unit % 10);
}

}  // namespace

auto http_date(std::chrono::sys_seconds moment) -> std::string {
  const auto day = std::chrono::floor<std::chrono::days>(moment);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(moment - day);
  std::string out(days[std::chrono::weekday(day).c_encoding()]);
  out += ", ";
  append_number(out, static_cast<unsigned>(date.day()), 2);
  out += ' ';
  out += months[static_cast<unsigned>(date.month()) - 1];
  out += ' ';
  append_number(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  out += ' ';
  append_number(out, static_cast<unsigned>(time.hours().count()), 2);
  out += ':';
  append_number(out, static_cast<unsigned>(time.minutes().count()), 2);
  out += ':';
  append_number(out, static_cast<unsigned>(time.seconds().count()), 2);
  out += " GMT";
  return out;
}

}  // namespace braid::detail
