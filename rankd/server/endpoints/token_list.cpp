// rankd/server/endpoints/token_list.cpp: parses tokens, and compares them in constant time.
#include <rankd/server/endpoints/token_list.hpp>

#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

namespace rankd {
namespace {

constexpr std::size_t min_token = 16;
constexpr std::string_view blanks = " \t\r";

auto trimmed(std::string_view text) -> std::string_view {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

auto is_token(std::string_view text) -> bool {
  return text.size() >= min_token && std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 || std::string_view("-._~+/=").find(static_cast<char>(c)) != std::string::npos;
         });
}

/// Compares every character, even after a difference, so that the time reveals nothing about the digest.
auto same_digest(std::string_view a, std::string_view b) -> bool {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t at = 0; at < a.size() && at < b.size(); ++at)
    difference |= static_cast<unsigned char>(a[at]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[at]));
  return difference == 0;
}

auto diagnostic_about(std::size_t line, std::string code, std::string message, const std::string& source)
    -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = {},
          .message = "line " + std::to_string(line) + ": " + std::move(message),
          .hint = {},
          .node = {},
          .source = source};
}

/// A line of the form `NAME [RIGHTS] TOKEN`. The name and the rights may be absent.
struct token_line {
  std::string_view name;
  std::optional<std::string_view> rights;
  std::string_view token;
};

auto read_line(std::string_view content) -> token_line {
  token_line out;
  const std::size_t last_blank = content.find_last_of(blanks);
  out.token = content.substr(last_blank == std::string_view::npos ? 0 : last_blank + 1);
  out.name = trimmed(content.substr(0, content.size() - out.token.size()));
  const std::size_t open = out.name.rfind('[');
  if (!out.name.ends_with(']') || open == std::string_view::npos) return out;
  out.rights = trimmed(out.name.substr(open + 1, out.name.size() - open - 2));
  out.name = trimmed(out.name.substr(0, open));
  return out;
}

/// Returns the rights of a token, or nothing if one of the words is not a right.
auto parse_rights(std::string_view text) -> std::optional<token_client> {
  token_client out;
  while (true) {
    constexpr std::string_view between = " \t\r,";
    text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
    if (text.empty()) return out;
    const std::string_view right = text.substr(0, text.find_first_of(between));
    text.remove_prefix(right.size());
    if (right == "force")
      out.may_force = true;
    else if (right == "shadow")
      out.may_see_shadows = true;
    else if (right == "events")
      out.may_send_events = true;
    else if (right == "write")
      out.may_write = true;
    else if (right == "edit")
      out.may_edit = true;
    else
      return std::nullopt;
  }
}

}  // namespace

auto token_list::parse(std::string_view text, const std::string& source) -> braid::checked<token_list> {
  token_list all;
  braid::diagnostics problems;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.empty() || content.starts_with('#')) continue;
    const token_line read = read_line(content);
    std::string digest = sha256_hex(read.token);
    const auto rights = parse_rights(read.rights.value_or(std::string_view()));
    if (!is_token(read.token))
      problems.add(diagnostic_about(line, "bad_token",
                                    "a token must have 16 characters or more: letters, digits, -._~+/=", source));
    else if (!rights || (read.rights && read.rights->empty()))
      problems.add(diagnostic_about(
          line, "unknown_right", "the rights of a token are `[force]`, `[shadow]`, `[events]`, `[write]` and `[edit]`",
          source));
    else if (std::ranges::find(all.entries_, digest, &entry::digest) != all.entries_.end())
      problems.add(diagnostic_about(line, "duplicate_token", "this token is listed twice", source));
    else
      all.entries_.push_back(
          {.name = read.name.empty() ? "client " + std::to_string(all.entries_.size() + 1) : std::string(read.name),
           .digest = std::move(digest),
           .may_force = rights->may_force,
           .may_see_shadows = rights->may_see_shadows,
           .may_send_events = rights->may_send_events,
           .may_write = rights->may_write,
           .may_edit = rights->may_edit});
  }
  if (problems.empty() && all.entries_.empty())
    problems.add({.code = "no_tokens",
                  .pointer = {},
                  .message = "the file contains no token, so every request would be refused",
                  .hint = {},
                  .node = {},
                  .source = source});
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return all;
}

auto token_list::read(const std::filesystem::path& file) -> braid::checked<token_list> {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  return parse(without_mark(*text), file.string());
}

auto token_list::find_client(std::string_view authorization) const -> std::optional<token_client> {
  constexpr std::string_view scheme = "bearer ";
  const bool right_scheme = authorization.size() > scheme.size() &&
                            std::ranges::equal(authorization.substr(0, scheme.size()), scheme, {}, [](char c) {
                              return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
                            });
  if (!right_scheme) return std::nullopt;
  const std::string digest = sha256_hex(trimmed(authorization.substr(scheme.size())));
  const entry* found = nullptr;
  for (const entry& each : entries_)
    if (same_digest(each.digest, digest)) found = &each;
  if (found == nullptr) return std::nullopt;
  return token_client{.name = found->name,
                      .may_force = found->may_force,
                      .may_see_shadows = found->may_see_shadows,
                      .may_send_events = found->may_send_events,
                      .may_write = found->may_write,
                      .may_edit = found->may_edit};
}

}  // namespace rankd
