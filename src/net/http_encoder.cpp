// src/net/http_encoder.cpp: heads and chunks as text.
#include <braid/net/http_encoder.hpp>

#include <braid/net/detail/http_head_reader.hpp>
#include <braid/net/detail/http_text.hpp>

#include <array>
#include <charconv>
#include <cstddef>

namespace braid {
namespace {

using namespace detail;

void append_number(std::string& out, std::uint64_t value, int base = 10) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, base);
  out.append(digits.data(), end.ptr);
}

void append_field(std::string& out, http_field field) {
  out += field.name;
  out += ": ";
  out += field.value;
  out += "\r\n";
}

auto is_reserved(std::string_view name) -> bool {
  switch (name.size()) {
    case 4: return equals_lower(name, "date") || equals_lower(name, "host");
    case 10: return equals_lower(name, "connection");
    case 14: return equals_lower(name, "content-length");
    case 17: return equals_lower(name, "transfer-encoding");
    default: return false;
  }
}

/// All the fields; `out` is cut back to `before` where one is refused.
auto append_fields(std::string& out, std::span<const http_field> fields, std::size_t before)
    -> std::expected<void, http_errc> {
  for (const http_field& field : fields) {
    if (const auto fine = check_field(field); !fine) {
      out.resize(before);
      return fine;
    }
    append_field(out, field);
  }
  return {};
}

void append_framing(std::string& out, const http_framing& body, http_persistence connection) {
  using kind = http_framing::kind;
  if (body.how == kind::chunked) out += "Transfer-Encoding: chunked\r\n";
  if (body.how == kind::length) {
    out += "Content-Length: ";
    append_number(out, body.length);
    out += "\r\n";
  }
  if (connection == http_persistence::close) out += "Connection: close\r\n";
  if (connection == http_persistence::keep_alive) out += "Connection: keep-alive\r\n";
}

auto is_plain_target(std::string_view target, http_method method) -> bool {
  if (target == "*") return method == http_method::options;
  if (!target.starts_with('/')) return false;
  for (const char c : target)
    if (!is_http(c, in_target) && c != '%') return false;
  return true;
}

auto usually_has_body(http_method method) -> bool {
  return method == http_method::post || method == http_method::put || method == http_method::patch;
}

}  // namespace

auto check_field(http_field field) noexcept -> std::expected<void, http_errc> {
  if (!all_http(field.name, in_token)) return std::unexpected(http_errc::bad_field);
  if (find_control(field.value.data(), 0, field.value.size()) != field.value.size())
    return std::unexpected(http_errc::bad_field);
  if (is_reserved(field.name)) return std::unexpected(http_errc::reserved_field);
  return {};
}

auto append_head(std::string& out, const http_response_start& start) -> std::expected<void, http_errc> {
  const std::size_t before = out.size();
  if (start.status == http_status::ok) {
    out += "HTTP/1.1 200 OK\r\n";
  } else {
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::uint64_t>(start.status));
    out += ' ';
    out += reason_phrase(start.status);
    out += "\r\n";
  }
  if (!start.date.empty()) append_field(out, {"Date", start.date});
  http_framing body = start.body;
  if (body.how == http_framing::kind::none && !is_bodiless(start.status)) body = {http_framing::kind::length, 0};
  append_framing(out, body, start.connection);
  if (const auto fine = append_fields(out, start.fields, before); !fine) return fine;
  out += "\r\n";
  return {};
}

auto append_head(std::string& out, const http_request_start& start) -> std::expected<void, http_errc> {
  if (!is_plain_target(start.target, start.method)) return std::unexpected(http_errc::bad_target);
  if (!is_host(start.host)) return std::unexpected(http_errc::bad_host);
  const std::size_t before = out.size();
  out += name_of(start.method);
  out += ' ';
  out += start.target;
  out += " HTTP/1.1\r\n";
  append_field(out, {"Host", start.host});
  http_framing body = start.body;
  if (body.how == http_framing::kind::none && usually_has_body(start.method)) body = {http_framing::kind::length, 0};
  append_framing(out, body, start.connection);
  if (const auto fine = append_fields(out, start.fields, before); !fine) return fine;
  out += "\r\n";
  return {};
}

void append_chunk_size(std::string& out, std::size_t size) {
  append_number(out, size, 16);
  out += "\r\n";
}

void append_chunk(std::string& out, std::string_view data) {
  if (data.empty()) return;
  append_chunk_size(out, data.size());
  out += data;
  out += "\r\n";
}

auto append_last_chunk(std::string& out, std::span<const http_field> trailers) -> std::expected<void, http_errc> {
  const std::size_t before = out.size();
  out += "0\r\n";
  if (const auto fine = append_fields(out, trailers, before); !fine) return fine;
  out += "\r\n";
  return {};
}

}  // namespace braid
