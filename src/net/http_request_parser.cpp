// src/net/http_request_parser.cpp: parses the first line of a request, and checks the fields that a request needs.
#include <braid/net/detail/http_parser.hpp>

#include <braid/net/detail/http_text.hpp>

#include <algorithm>

namespace braid {
namespace {

using namespace detail;

constexpr std::size_t max_method = 32;
constexpr std::string_view version_prefix = "HTTP/";

auto is_target(std::string_view text) -> bool {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_http(text[i], in_target)) continue;
    if (text[i] != '%' || text.size() - i < 3) return false;
    if (!is_http(text[i + 1], is_hex) || !is_http(text[i + 2], is_hex)) return false;
    i += 2;
  }
  return true;
}

/// Returns the minor version, 0 or 1. Any other version is an error.
auto parse_version(std::string_view text) -> std::expected<int, http_errc> {
  const bool shaped = text.size() == 8 && text.starts_with(version_prefix) && is_http(text[5], is_digit) &&
                      text[6] == '.' && is_http(text[7], is_digit);
  if (!shaped) return std::unexpected(http_errc::bad_start_line);
  if (text[5] != '1') return std::unexpected(http_errc::bad_version);
  return text[7] == '0' ? 0 : 1;
}

/// Returns the position of the authority in an absolute target, or 0 for any other target.
auto find_authority(std::string_view target) -> std::size_t {
  for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")})
    if (equals_lower(target.substr(0, scheme.size()), scheme)) return scheme.size();
  return 0;
}

}  // namespace

auto detail::http_request_parser::refuse(http_errc error) -> detail::http_progress {
  state_ = state::refused;
  error_ = error;
  return detail::http_progress::refused;
}

void detail::http_request_parser::reset() noexcept {
  reader_.reset();
  state_ = state::begin;
  started_ = false;
  line_at_ = 0;
  authority_ = {};
}

auto detail::http_request_parser::parse(std::string_view input) -> detail::http_progress {
  started_ |= !input.empty();
  if (state_ == state::begin || state_ == state::start_line) {
    const detail::http_progress line = read_start_line(input);
    if (line != detail::http_progress::complete) return line;
  }
  if (state_ == state::fields) {
    const auto all = reader_.read_fields(input);
    if (!all) return refuse(all.error());
    return *all ? finish(input) : detail::http_progress::needs_more;
  }
  if (state_ == state::refused) return detail::http_progress::refused;
  place_views(input);
  return detail::http_progress::complete;
}

auto detail::http_request_parser::read_start_line(std::string_view input) -> detail::http_progress {
  // The limit for the first line before the target is known: the limit of a target, plus the method, two spaces, the
  // version and the line end.
  const std::size_t others = line_at_ + max_method + 12;
  const bool is_bound = limits_.target_bytes < limits_.head_bytes && others < limits_.head_bytes - limits_.target_bytes;
  const std::size_t max_count = is_bound ? others + limits_.target_bytes : limits_.head_bytes;
  const auto line = reader_.next_line(input, max_count);
  if (!line && line.error() == http_errc::head_too_large) {
    const std::string_view begin = input.substr(line_at_, max_method + 1);
    return refuse(begin.contains(' ') ? http_errc::target_too_long : http_errc::bad_start_line);
  }
  if (!line) return refuse(line.error());
  if (!*line) return detail::http_progress::needs_more;
  if ((*line)->empty()) {
    if (state_ == state::start_line) return refuse(http_errc::bad_start_line);
    state_ = state::start_line;  // one empty line is accepted, because some clients send it after a body
    line_at_ = reader_.size();
    return read_start_line(input);
  }
  if (const auto wrong = parse_start_line(**line)) return refuse(*wrong);
  state_ = state::fields;
  return detail::http_progress::complete;
}

auto detail::http_request_parser::parse_start_line(std::string_view line) -> std::optional<http_errc> {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == last || first == 0) return http_errc::bad_start_line;
  const std::string_view name = line.substr(0, first);
  if (first > max_method || !all_http(name, in_token)) return http_errc::bad_start_line;
  const auto version = parse_version(line.substr(last + 1));
  if (!version) return version.error();
  const auto method = detail::method_named(name);
  if (!method) return http_errc::unknown_method;
  head_.method = *method;
  head_.minor_version = *version;
  target_ = {line_at_ + first + 1, last - first - 1};
  return parse_target(line.substr(first + 1, target_.size));
}

auto detail::http_request_parser::parse_target(std::string_view target) -> std::optional<http_errc> {
  if (target.size() > limits_.target_bytes) return http_errc::target_too_long;
  path_ = target_;
  if (target == "*") return head_.method == http_method::options ? std::nullopt : std::optional(http_errc::bad_target);
  if (const std::size_t begin = find_authority(target); begin != 0) {
    const std::size_t end = std::min(target.find_first_of("/?", begin), target.size());
    if (!is_host(target.substr(begin, end - begin))) return http_errc::bad_target;
    authority_ = {target_.at + begin, end - begin};
    path_ = {target_.at + end, target.size() - end};
    target.remove_prefix(end);
  } else if (!target.starts_with('/')) {
    return http_errc::bad_target;
  }
  return is_target(target) ? std::nullopt : std::optional(http_errc::bad_target);
}

auto detail::http_request_parser::finish(std::string_view input) -> detail::http_progress {
  const http_known_fields& known = reader_.known();
  if (head_.minor_version == 1 && !known.host) return refuse(http_errc::bad_host);
  // An HTTP/1.0 proxy between client and server would not understand this transfer encoding, and would assume a
  // different end of the body.
  if (head_.minor_version == 0 && known.transfer != http_known_fields::encoding::none)
    return refuse(http_errc::bad_encoding);
  const auto body = find_framing(known, limits_);
  if (!body) return refuse(body.error());
  head_.body = *body;
  head_.keep_alive = !known.close && (head_.minor_version == 1 || known.keep_alive);
  head_.expects_continue = known.expects_continue && head_.minor_version == 1;
  state_ = state::complete;
  place_views(input);
  return detail::http_progress::complete;
}

void detail::http_request_parser::place_views(std::string_view input) {
  const auto view = [&](part piece) { return input.substr(piece.at, piece.size); };
  head_.target = view(target_);
  const std::string_view local = view(path_);
  const std::size_t question = std::min(local.find('?'), local.size());
  head_.path = question == 0 ? std::string_view("/") : local.substr(0, question);
  head_.query = local.substr(std::min(question + 1, local.size()));
  head_.fields = reader_.fields(input);
  head_.host = {};
  if (reader_.known().host) head_.host = head_.fields[*reader_.known().host].value;
  if (authority_.size != 0) head_.host = view(authority_);
}

}  // namespace braid
