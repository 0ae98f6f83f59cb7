// src/net/http_response_parser.cpp: parses the first line of a response, and determines the end of its body.
#include <braid/net/detail/http_parser.hpp>

#include <braid/net/detail/http_text.hpp>

namespace braid {
namespace {

using namespace detail;

constexpr std::size_t reason_at = 13;  // the position after `HTTP/1.1 200 `

}  // namespace

auto detail::http_response_parser::refuse(http_errc error) -> detail::http_progress {
  state_ = state::refused;
  error_ = error;
  return detail::http_progress::refused;
}

void detail::http_response_parser::reset() noexcept {
  reader_.reset();
  state_ = state::start_line;
}

auto detail::http_response_parser::parse(std::string_view input, http_method method) -> detail::http_progress {
  if (state_ == state::start_line) {
    const auto line = reader_.next_line(input, limits_.head_bytes);
    if (!line) return refuse(line.error());
    if (!*line) return detail::http_progress::needs_more;
    if (const auto wrong = parse_start_line(**line)) return refuse(*wrong);
    state_ = state::fields;
  }
  if (state_ == state::fields) {
    const auto all = reader_.read_fields(input);
    if (!all) return refuse(all.error());
    return *all ? finish(input, method) : detail::http_progress::needs_more;
  }
  if (state_ == state::refused) return detail::http_progress::refused;
  place_views(input);
  return detail::http_progress::complete;
}

auto detail::http_response_parser::parse_start_line(std::string_view line) -> std::optional<http_errc> {
  // Some servers omit the reason phrase, and some of them also omit the space before it.
  if (line.size() < reason_at - 1 || !line.starts_with("HTTP/") || line[6] != '.') return http_errc::bad_start_line;
  if (!is_http(line[5], is_digit) || !is_http(line[7], is_digit)) return http_errc::bad_start_line;
  if (line[5] != '1') return http_errc::bad_version;
  if (line[8] != ' ' || !all_http(line.substr(9, 3), is_digit) || line[9] == '0') return http_errc::bad_start_line;
  if (line.size() >= reason_at && line[reason_at - 1] != ' ') return http_errc::bad_start_line;
  head_.minor_version = line[7] == '0' ? 0 : 1;
  head_.status = static_cast<http_status>((line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0'));
  reason_size_ = line.size() > reason_at ? line.size() - reason_at : 0;
  return std::nullopt;
}

auto detail::http_response_parser::finish(std::string_view input, http_method method) -> detail::http_progress {
  using kind = http_framing::kind;
  const http_known_fields& known = reader_.known();
  head_.keep_alive = !known.close && (head_.minor_version == 1 || known.keep_alive);
  head_.body = {};
  if (method != http_method::head && !detail::is_bodiless(head_.status)) {
    if (head_.minor_version == 0 && known.transfer != http_known_fields::encoding::none)
      return refuse(http_errc::bad_encoding);
    const auto body = find_framing(known, limits_);
    if (!body) return refuse(body.error());
    head_.body = *body;
    if (!known.length && body->how == kind::none) head_.body.how = kind::until_close;
  }
  if (head_.body.how == kind::until_close) head_.keep_alive = false;
  state_ = state::complete;
  place_views(input);
  return detail::http_progress::complete;
}

void detail::http_response_parser::place_views(std::string_view input) {
  head_.reason = reason_size_ == 0 ? std::string_view() : input.substr(reason_at, reason_size_);
  head_.fields = reader_.fields(input);
}

}  // namespace braid
