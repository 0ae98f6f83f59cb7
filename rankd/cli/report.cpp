// rankd/cli/report.cpp: diagnostics for people and for programs.
#include <rankd/cli/report.hpp>

#include <rankd/cli/printable.hpp>
#include <rankd/engine/ranking.hpp>

#include <cstdio>

namespace rankd {

auto report(const braid::diagnostics& problems, output_form form, std::string_view request_id) -> exit_status {
  if (form == output_form::programs)
    print(to_json(problems, request_id) + "\n");
  else
    std::fputs(printable(problems).c_str(), stderr);
  return exit_status::failed;
}

auto counted(std::uint64_t count, std::string_view noun) -> std::string {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace rankd
