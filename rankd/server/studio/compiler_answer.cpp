// rankd/server/studio/compiler_answer.cpp: parses an answer of the compiler, and keeps the members of the object in the
// form in which they are written.
#include <rankd/server/studio/compiler_answer.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/server/detail/json_cutter.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

/// Appends a UTF-16 unit in the form `\uXXXX`.
void append_escape(std::string& out, std::uint32_t unit) {
  std::array<char, 7> room{};
  std::snprintf(room.data(), room.size(), "\\u%04x", unit);
  out += room.data();
}

}  // namespace

auto compiler_answer::parse(std::string_view line) -> std::optional<compiler_answer> {
  if (!nlohmann::json::accept(line)) return std::nullopt;
  detail::json_cutter in(line);
  if (!in.skip("{")) return std::nullopt;
  compiler_answer out;
  if (in.skip("}")) return out;
  do {
    const std::string_view name = in.name();
    in.skip(":");
    out.members_.emplace_back(name, in.value('}'));
  } while (in.skip(","));
  return out;
}

auto compiler_answer::find(std::string_view name) const noexcept -> std::string_view {
  const auto found = std::ranges::find(members_, name, &std::pair<std::string, std::string>::first);
  return found == members_.end() ? std::string_view() : std::string_view(found->second);
}

/// The string is parsed as a JSON value without children, whose destructor does not allocate memory.
auto compiler_answer::text(std::string_view name) const -> std::optional<std::string> {
  const std::string_view value = find(name);
  if (!value.starts_with('"')) return std::nullopt;
  return nlohmann::json::parse(value).get<std::string>();
}

void compiler_answer::erase(std::string_view name) {
  std::erase_if(members_, [name](const auto& member) { return member.first == name; });
}

void compiler_answer::add_diagnostics(const braid::diagnostics& problems) {
  constexpr std::string_view field = "diagnostics";
  std::string more = unplaced_json(problems);
  const auto found = std::ranges::find(members_, field, &std::pair<std::string, std::string>::first);
  if (found == members_.end()) return static_cast<void>(members_.emplace_back(field, std::move(more)));
  std::string& list = found->second;
  if (!list.starts_with('[') || list == "[]" || more == "[]") {
    if (more != "[]") list = std::move(more);
    return;
  }
  list.back() = ',';
  list += std::string_view(more).substr(1);
}

auto compiler_answer::line() const -> std::string {
  std::string out = "{";
  for (const auto& [name, value] : members_) {
    if (out.size() > 1) out += ',';
    out.append("\"").append(name).append("\":").append(value);
  }
  return out += "}\n";
}

auto unplaced_json(const braid::diagnostics& problems) -> std::string {
  std::string out;
  append_json_list(out, problems, [](std::string& to, const braid::diagnostic& each) {
    to += '{';
    append_json_member(to, "code", each.code);
    append_json_member(to, "message", each.message);
    append_json_member(to, "hint", each.hint);
    append_json_name(to, "place");
    to += "null";
    append_json_member(to, "pointer", each.pointer);
    to += '}';
  });
  return out;
}

auto as_ascii(std::string_view json) -> std::string {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size(); ++at) {
    const auto lead = static_cast<unsigned char>(json[at]);
    if (lead < 0x80) {
      out += json[at];
      continue;
    }
    const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t character = lead & (0x3FU >> more);
    for (std::size_t i = 0; i < more && at + 1 < json.size(); ++i)
      character = character << 6U | (static_cast<unsigned char>(json[++at]) & 0x3FU);
    if (character >= 0x10000) {
      append_escape(out, 0xD7C0U + (character >> 10U));
      character = 0xDC00U + (character & 0x3FFU);
    }
    append_escape(out, character);
  }
  return out;
}

}  // namespace rankd
