// rankd/cli/report.cpp: complaints for people and for programs.
#include <rankd/cli/report.hpp>

#include <rankd/engine/json_text.hpp>

#include <cstdio>
#include <string_view>
#include <utility>

namespace rankd {

auto report(const braid::diagnostics& problems) -> exit_status {
  std::fputs(problems.to_text().c_str(), stderr);
  return exit_status::failed;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

auto complaints_json(const braid::diagnostics& problems) -> std::string {
  std::string out = "[";
  for (const braid::diagnostic& item : problems) {
    if (out.size() > 1) out += ',';
    const std::pair<std::string_view, std::string_view> fields[] = {
        {"code", item.code},       {"pointer", item.pointer}, {"node", item.node},
        {"message", item.message}, {"hint", item.hint},       {"source", item.source}};
    char separator = '{';
    for (const auto& [name, text] : fields) {
      if (text.empty() && name != "pointer") continue;
      out += separator;
      append_json_string(out, name);
      out += ':';
      append_json_string(out, text);
      separator = ',';
    }
    out += '}';
  }
  return out + "]";
}

}  // namespace rankd
