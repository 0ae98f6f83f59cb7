// rankd/cli/output/report.cpp: prints diagnostics for people and for programs.
#include <rankd/cli/output/report.hpp>

#include <rankd/cli/output/printable.hpp>
#include <rankd/engine/ranking.hpp>

#include <array>
#include <cstdio>

namespace rankd {

auto report(const braid::diagnostics& problems, output_form form, std::string_view request_id) -> exit_status {
  if (form == output_form::programs)
    print(to_json(problems, request_id) + "\n");
  else
    std::fputs(printable(problems).c_str(), stderr);
  return exit_status::failed;
}

auto printed(const char* format, double value) -> std::string {
  std::array<char, 64> room{};
  std::snprintf(room.data(), room.size(), format, value == 0 ? 0.0 : value);
  return room.data();
}

auto joined(std::span<const std::string> items, std::string_view none) -> std::string {
  if (items.empty()) return std::string(none);
  std::string out;
  for (const std::string& item : items) out.append(out.empty() ? "" : ", ").append(item);
  return out;
}

auto yes_or_no(bool yes) -> std::string { return yes ? "yes" : "no"; }

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace rankd
