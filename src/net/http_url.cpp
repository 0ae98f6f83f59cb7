// src/net/http_url.cpp: parses URLs, and resolves relative references.
#include <braid/net/http_client.hpp>

#include <braid/net/detail/http_head_reader.hpp>
#include <braid/net/detail/http_text.hpp>
#include <braid/net/http_message.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace braid {
namespace {

using namespace detail;

auto parse_digit(char c) -> int { return is_http(c, is_digit) ? c - '0' : lower(c) - 'a' + 10; }

/// Returns the port after the host, or the scheme's default port.
auto parse_port(std::string_view digits, std::uint16_t otherwise) -> std::uint16_t {
  std::uint16_t out = otherwise;
  std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return out;
}

auto find_prefix(http_scheme scheme) -> std::string_view {
  return scheme == http_scheme::https ? "https://" : "http://";
}

/// The five parts of a URI reference (RFC 3986, appendix B). An absent part has no value.
struct uri_parts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
  std::optional<std::string_view> fragment;
};

auto is_scheme(std::string_view text) -> bool {
  constexpr std::string_view marks = "+-.";
  const auto fits = [&](char c) {
    return is_http(c, is_digit) || (lower(c) >= 'a' && lower(c) <= 'z') || marks.contains(c);
  };
  return !text.empty() && !is_http(text[0], is_digit) && !marks.contains(text[0]) && std::ranges::all_of(text, fits);
}

/// Removes the first `mark` and all text after it from `text`. Returns the text after the `mark`, or nothing if there
/// is no `mark`.
auto take_behind(std::string_view& text, char mark) -> std::optional<std::string_view> {
  const std::size_t at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  const std::string_view behind = text.substr(at + 1);
  text = text.substr(0, at);
  return behind;
}

auto find_parts(std::string_view text) -> uri_parts {
  uri_parts out;
  out.fragment = take_behind(text, '#');
  out.query = take_behind(text, '?');
  if (const std::size_t colon = text.find(':'); colon != text.npos && is_scheme(text.substr(0, colon))) {
    out.scheme = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  if (text.starts_with("//")) {
    const std::size_t end = std::min(text.find('/', 2), text.size());
    out.authority = text.substr(2, end - 2);
    text.remove_prefix(end);
  }
  out.path = text;
  return out;
}

/// Removes the segments `.` and `..` from a path (RFC 3986, 5.2.4).
auto without_dots(std::string_view path) -> std::string {
  std::string out;
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./") || path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (path.starts_with("/../") || path == "/..") {
      path = path.size() == 3 ? std::string_view("/") : path.substr(3);
      out.resize(out.rfind('/') == out.npos ? 0 : out.rfind('/'));
    } else if (path == "." || path == "..") {
      break;
    } else {
      const std::size_t end = std::min(path.find('/', 1), path.size());
      out += path.substr(0, end);
      path.remove_prefix(end);
    }
  }
  return out;
}

/// Resolves a path without scheme and authority against the base URL (RFC 3986, 5.2.3).
auto merged_path(const uri_parts& base, std::string_view path) -> std::string {
  if (path.starts_with('/')) return without_dots(path);
  if (base.authority && base.path.empty()) return without_dots("/" + std::string(path));
  const std::size_t slash = base.path.rfind('/');
  const std::string_view folder = slash == base.path.npos ? std::string_view() : base.path.substr(0, slash + 1);
  return without_dots(std::string(folder).append(path));
}

auto with_spaces(std::string_view text) -> std::string {
  std::string out(text);
  std::ranges::replace(out, '+', ' ');
  return out;
}

}  // namespace

auto http_url::parse(std::string_view text) -> result<http_url> {
  http_url out;
  const bool is_secure = equals_lower(text.substr(0, 8), find_prefix(http_scheme::https));
  if (is_secure) out.scheme = http_scheme::https;
  const std::string_view prefix = find_prefix(out.scheme);
  if (!equals_lower(text.substr(0, prefix.size()), prefix)) return fail(http_errc::bad_url);
  text.remove_prefix(prefix.size());
  const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
  const std::string_view authority = text.substr(0, end);
  if (!is_host(authority)) return fail(http_errc::bad_url);
  const std::size_t name_end = authority.starts_with('[') ? authority.find(']') + 1 : authority.find(':');
  out.host = authority.substr(0, name_end);
  std::ranges::transform(out.host, out.host.begin(), &lower);
  const std::string_view port = authority.substr(std::min(out.host.size() + 1, authority.size()));
  const std::uint16_t usual = is_secure ? 443 : 80;
  out.port = parse_port(port, usual);
  if (out.port == 0) return fail(http_errc::bad_url);
  out.name = out.host.starts_with('[') ? out.host.substr(1, out.host.size() - 2) : out.host;
  if (out.port != usual) (out.host += ':') += std::to_string(out.port);
  const std::string_view local = text.substr(end, text.find('#') - end);  // a fragment is not sent
  out.target = local.starts_with('/') ? std::string(local) : "/" + std::string(local);
  for (const char c : out.target)
    if (!is_http(c, in_target) && c != '%') return fail(http_errc::bad_url);
  return out;
}

auto http_url::origin() const -> std::string { return std::string(find_prefix(scheme)) + host; }

auto http_url::resolve(std::string_view base, std::string_view reference) -> std::string {
  const uri_parts from = find_parts(base);
  uri_parts to = find_parts(reference);
  std::string path;
  if (to.scheme || to.authority) {
    path = without_dots(to.path);
  } else if (to.path.empty()) {
    path = from.path;
    if (!to.query) to.query = from.query;
  } else {
    path = merged_path(from, to.path);
  }
  if (!to.scheme && !to.authority) to.authority = from.authority;
  if (!to.scheme) to.scheme = from.scheme;
  std::string out;
  if (to.scheme) out.append(*to.scheme) += ':';
  if (to.authority) out.append("//").append(*to.authority);
  out += path;
  if (to.query) (out += '?').append(*to.query);
  if (to.fragment) (out += '#').append(*to.fragment);
  return out;
}

auto http_url::percent_decoded(std::string_view text) -> result<std::string> {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const bool whole = text.size() - i > 2 && is_http(text[i + 1], is_hex) && is_http(text[i + 2], is_hex);
    if (!whole) return fail(http_errc::bad_target);
    out += static_cast<char>(parse_digit(text[i + 1]) * 16 + parse_digit(text[i + 2]));
    i += 2;
  }
  return out;
}

auto http_url::query_value(std::string_view query, std::string_view name) -> std::optional<std::string> {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto key = percent_decoded(with_spaces(pair.substr(0, equals)));
    if (!key || *key != name) continue;
    auto value = percent_decoded(with_spaces(pair.substr(std::min(equals + 1, pair.size()))));
    if (!value) return std::nullopt;
    return std::move(*value);
  }
  return std::nullopt;
}

}  // namespace braid
