// src/net/http_encoder.cpp: formats the heads and chunks of HTTP messages.
#include <braid/net/detail/http_encoder.hpp>

#include <braid/net/detail/http_head_reader.hpp>
#include <braid/net/detail/http_text.hpp>

#include <charconv>
#include <cstddef>
#include <cstring>

namespace braid::detail {
namespace {

using namespace detail;

constexpr std::size_t max_number_digits = 20;
/// The maximum size of the fixed parts of a head: names, the version, numbers, line ends.
constexpr std::size_t max_around = 128;

/// A writer into memory that is already large enough. A head consists of many small pieces, and a string would check
/// its capacity before each piece.
class head_writer {
 public:
  explicit head_writer(char* position) noexcept : position_(position) {}

  void text(std::string_view piece) noexcept {
    if (piece.empty()) return;
    std::memcpy(position_, piece.data(), piece.size());
    position_ += piece.size();
  }
  void number(std::uint64_t value, int base = 10) noexcept {
    position_ = std::to_chars(position_, position_ + max_number_digits, value, base).ptr;
  }
  void field(http_fields::field one) noexcept {
    text(one.name);
    text(": ");
    text(one.value);
    text("\r\n");
  }
  void framing(const http_framing& body, http_persistence connection) noexcept;
  void fields(std::span<const http_fields::field> all) noexcept {
    for (const http_fields::field& one : all) field(one);
    text("\r\n");
  }

  [[nodiscard]] auto at() const noexcept -> char* { return position_; }

 private:
  char* position_;
};

void head_writer::framing(const http_framing& body, http_persistence connection) noexcept {
  using kind = http_framing::kind;
  if (body.how == kind::chunked) text("Transfer-Encoding: chunked\r\n");
  if (body.how == kind::length) {
    text("Content-Length: ");
    number(body.length);
    text("\r\n");
  }
  if (connection == http_persistence::close) text("Connection: close\r\n");
  if (connection == http_persistence::keep_alive) text("Connection: keep-alive\r\n");
}

/// Appends the text that `write(head_writer)` writes, which must not exceed `max_count` bytes.
template <typename Write>
void append_written(std::string& out, std::size_t max_count, Write write) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + max_count, [&](char* begin, std::size_t) noexcept {
    head_writer into(begin + before);
    write(into);
    return static_cast<std::size_t>(into.at() - begin);
  });
}

auto size_of(std::span<const http_fields::field> fields) noexcept -> std::size_t {
  std::size_t out = 0;
  for (const http_fields::field& one : fields) out += one.name.size() + one.value.size() + 4;
  return out;
}

auto is_value(std::string_view text) noexcept -> bool {
  return find_control(text.data(), 0, text.size()) == text.size();
}

auto check_fields(std::span<const http_fields::field> fields) noexcept -> std::expected<void, http_errc> {
  for (const http_fields::field& one : fields)
    if (const auto fine = check_field(one); !fine) return fine;
  return {};
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

auto check_field(http_fields::field field) noexcept -> std::expected<void, http_errc> {
  if (!all_http(field.name, in_token) || !is_value(field.value)) return std::unexpected(http_errc::bad_field);
  if (is_reserved(field.name)) return std::unexpected(http_errc::reserved_field);
  return {};
}

auto append_head(std::string& out, const http_response_start& start) -> std::expected<void, http_errc> {
  if (!is_value(start.type)) return std::unexpected(http_errc::bad_field);
  if (const auto fine = check_fields(start.fields); !fine) return fine;
  http_framing body = start.body;
  if (body.how == http_framing::kind::none && !is_bodiless(start.status)) body = {http_framing::kind::length, 0};
  const std::string_view reason = reason_phrase(start.status);
  const std::size_t max_count =
      max_around + reason.size() + start.date.size() + start.type.size() + size_of(start.fields);
  append_written(out, max_count, [&](head_writer& writer) {
    if (start.status == http_status::ok) {
      writer.text("HTTP/1.1 200 OK\r\n");
    } else {
      writer.text("HTTP/1.1 ");
      writer.number(static_cast<std::uint64_t>(start.status));
      writer.text(" ");
      writer.text(reason);
      writer.text("\r\n");
    }
    if (!start.date.empty()) writer.field({"Date", start.date});
    writer.framing(body, start.connection);
    if (!start.type.empty()) writer.field({"Content-Type", start.type});
    writer.fields(start.fields);
  });
  return {};
}

auto append_head(std::string& out, const http_request_start& start) -> std::expected<void, http_errc> {
  if (!is_plain_target(start.target, start.method)) return std::unexpected(http_errc::bad_target);
  if (!is_host(start.host)) return std::unexpected(http_errc::bad_host);
  if (const auto fine = check_fields(start.fields); !fine) return fine;
  http_framing body = start.body;
  if (body.how == http_framing::kind::none && usually_has_body(start.method)) body = {http_framing::kind::length, 0};
  const std::size_t max_count = max_around + start.target.size() + start.host.size() + size_of(start.fields);
  append_written(out, max_count, [&](head_writer& writer) {
    writer.text(name_of(start.method));
    writer.text(" ");
    writer.text(start.target);
    writer.text(" HTTP/1.1\r\n");
    writer.field({"Host", start.host});
    writer.framing(body, start.connection);
    writer.fields(start.fields);
  });
  return {};
}

void append_chunk_size(std::string& out, std::size_t size) {
  append_written(out, max_around, [&](head_writer& writer) {
    writer.number(size, 16);
    writer.text("\r\n");
  });
}

void append_chunk(std::string& out, std::string_view data) {
  if (data.empty()) return;
  const std::size_t before = out.size();
  try {
    append_chunk_size(out, data.size());
    out += data;
    out += "\r\n";
  } catch (...) {  // the size of a chunk must be followed by its data
    out.resize(before);
    throw;
  }
}

auto append_last_chunk(std::string& out, std::span<const http_fields::field> trailers)
    -> std::expected<void, http_errc> {
  if (const auto fine = check_fields(trailers); !fine) return fine;
  append_written(out, max_around + size_of(trailers), [&](head_writer& writer) {
    writer.text("0\r\n");
    writer.fields(trailers);
  });
  return {};
}

}  // namespace braid::detail
