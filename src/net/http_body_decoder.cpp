// src/net/http_body_decoder.cpp: decodes HTTP bodies. It parses the framing of chunks character by character, and skips
// over the data of the chunks.
#include <braid/net/detail/http_body_decoder.hpp>

#include <braid/net/detail/http_text.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

namespace braid::detail {
namespace {

using namespace detail;

constexpr std::uint8_t max_digits = 16;
/// The size limit for chunk extensions. The decoder ignores them, so a client that sends more is treated as an
/// attacker.
constexpr std::size_t max_extension_bytes = 4096;

auto digit_value(char digit) -> std::uint64_t {
  return static_cast<std::uint64_t>(is_http(digit, is_digit) ? digit - '0' : lower(digit) - 'a' + 10);
}

/// Converts an error of the head reader to the corresponding error of a trailer.
auto trailer_error(http_errc error) -> http_errc {
  switch (error) {
    case http_errc::head_too_large:
    case http_errc::too_many_fields: return http_errc::trailers_too_large;
    case http_errc::bad_line_end:
    case http_errc::folded_field:
    case http_errc::bad_field: return error;
    default: return http_errc::forbidden_trailer;  // a field that it found more to say about
  }
}

}  // namespace

auto is_forbidden_trailer(std::string_view name) -> bool {
  constexpr std::array<std::string_view, 19> forbidden{"authorization",
                                                       "cache-control",
                                                       "connection",
                                                       "content-encoding",
                                                       "content-length",
                                                       "content-range",
                                                       "content-type",
                                                       "cookie",
                                                       "date",
                                                       "expect",
                                                       "host",
                                                       "location",
                                                       "proxy-connection",
                                                       "set-cookie",
                                                       "te",
                                                       "trailer",
                                                       "transfer-encoding",
                                                       "upgrade",
                                                       "www-authenticate"};
  return std::ranges::any_of(forbidden, [&](std::string_view one) { return equals_lower(name, one); });
}

void http_body_decoder::start(http_framing framing) noexcept {
  using kind = http_framing::kind;
  left_ = framing.how == kind::length ? framing.length : 0;
  total_ = 0;
  extension_bytes_ = 0;
  digits_ = 0;
  trailer_text_.clear();
  trailer_reader_.reset();
  switch (framing.how) {
    case kind::none: state_ = state::finished; break;
    case kind::length: state_ = left_ == 0 ? state::finished : state::plain; break;
    case kind::chunked: state_ = state::size_first; break;
    case kind::until_close:
      state_ = state::until_close;
      left_ = limits_.body_bytes;
      break;
  }
}

auto http_body_decoder::next(std::string_view input) -> std::expected<piece, http_errc> {
  std::size_t at = 0;
  while (at < input.size() && state_ != state::finished) {
    switch (state_) {
      case state::until_close:
        if (left_ == 0) return std::unexpected(http_errc::body_too_large);
        return take_data(input, at);
      case state::plain:
      case state::data: return take_data(input, at);
      case state::trailers: {
        try {
          const auto taken = take_trailers(input.substr(at));
          if (!taken) return std::unexpected(taken.error());
          at += *taken;
        } catch (const std::bad_alloc&) {
          if (at == 0) throw;
          return piece{at, {}};  // the next call must not see this framing again
        }
        break;
      }
      default:
        if (const auto wrong = step(input[at])) return std::unexpected(*wrong);
        ++at;
    }
  }
  return piece{at, {}};
}

/// Returns the next piece of the body's data, which begins at `offset`. The bytes before `offset` are framing.
auto http_body_decoder::take_data(std::string_view input, std::size_t offset) noexcept -> piece {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - offset));
  left_ -= size;
  if (left_ == 0 && state_ == state::plain) state_ = state::finished;
  if (left_ == 0 && state_ == state::data) state_ = state::data_cr;
  return {offset + size, input.substr(offset, size)};
}

auto http_body_decoder::step(char c) noexcept -> std::optional<http_errc> {
  const auto expect = [&](char wanted, state next) -> std::optional<http_errc> {
    if (c != wanted) return http_errc::bad_chunk;
    state_ = next;
    return std::nullopt;
  };
  switch (state_) {
    case state::size_first:
    case state::size: return step_size(c);
    case state::size_lf: return c == '\n' ? end_of_size() : http_errc::bad_chunk;
    case state::data_cr: return expect('\r', state::data_lf);
    case state::data_lf: return expect('\n', state::size_first);
    default: return step_extension(c);
  }
}

auto http_body_decoder::step_size(char c) noexcept -> std::optional<http_errc> {
  if (state_ == state::size_first) {
    left_ = 0;
    digits_ = 0;
  }
  if (is_http(c, is_hex)) {
    state_ = state::size;
    if (++digits_ > max_digits) return http_errc::bad_chunk;
    left_ = left_ * 16 + digit_value(c);
    return std::nullopt;
  }
  if (state_ == state::size_first) return http_errc::bad_chunk;
  part_is_empty_ = true;
  if (c == '\r')
    state_ = state::size_lf;
  else if (c == ';')
    state_ = state::extension_name;
  else
    return http_errc::bad_chunk;
  return std::nullopt;
}

/// Parses one character of a chunk extension: `;name`, `;name=token` or `;name="text"`, without white space.
auto http_body_decoder::step_extension(char c) noexcept -> std::optional<http_errc> {
  if (++extension_bytes_ > max_extension_bytes) return http_errc::bad_chunk;
  const bool quoted = state_ == state::extension_quoted || state_ == state::extension_escape;
  if (quoted) {
    if (!is_http(c, in_value)) return http_errc::bad_chunk;
    if (state_ == state::extension_escape)
      state_ = state::extension_quoted;
    else if (c == '\\')
      state_ = state::extension_escape;
    else if (c == '"')
      state_ = state::extension_end;
    return std::nullopt;
  }
  if (state_ != state::extension_end && is_http(c, in_token)) {
    part_is_empty_ = false;
    return std::nullopt;
  }
  if (state_ == state::extension_value && part_is_empty_ && c == '"') {
    state_ = state::extension_quoted;
    return std::nullopt;
  }
  if (state_ != state::extension_end && part_is_empty_) return http_errc::bad_chunk;
  part_is_empty_ = true;
  if (c == '\r')
    state_ = state::size_lf;
  else if (c == ';')
    state_ = state::extension_name;
  else if (c == '=' && state_ == state::extension_name)
    state_ = state::extension_value;
  else
    return http_errc::bad_chunk;
  return std::nullopt;
}

auto http_body_decoder::end_of_size() noexcept -> std::optional<http_errc> {
  if (left_ > limits_.body_bytes - total_) return http_errc::body_too_large;
  total_ += left_;
  state_ = left_ == 0 ? state::trailers : state::data;
  return std::nullopt;
}

/// Copies trailers until the empty line has arrived. The copy is acceptable, because trailers are rare. If an
/// allocation fails, the function throws, and may be called again with the same input.
auto http_body_decoder::take_trailers(std::string_view input) -> std::expected<std::size_t, http_errc> {
  const std::size_t before = trailer_text_.size();
  const std::size_t room = limits_.head_bytes - before;
  std::expected<bool, http_errc> all = false;
  try {
    trailer_text_.append(input.substr(0, room));
    all = trailer_reader_.read_fields(trailer_text_);
  } catch (const std::bad_alloc&) {
    trailer_text_.resize(before);
    trailer_reader_.reset();  // it reads the kept text again
    throw;
  }
  if (!all) return std::unexpected(trailer_error(all.error()));
  if (!*all) return trailer_text_.size() - before;
  for (const http_fields::field field : trailers())
    if (is_forbidden_trailer(field.name)) return std::unexpected(http_errc::forbidden_trailer);
  state_ = state::finished;
  return trailer_reader_.size() - before;
}

auto http_body_decoder::end_of_input() noexcept -> std::expected<void, http_errc> {
  if (state_ == state::until_close) state_ = state::finished;
  if (state_ != state::finished) return std::unexpected(http_errc::truncated);
  return {};
}

}  // namespace braid::detail
