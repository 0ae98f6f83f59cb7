// rankd/server/grpc/grpc_frame.cpp: reads and writes the prefixes of messages, and compresses them with zlib.
#include <rankd/server/grpc/grpc_frame.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <charconv>
#include <new>

#include <zlib.h>

namespace rankd {
namespace {

constexpr std::size_t prefix_bytes = 5;
constexpr int gzip_window = 15 + 16;  // 16 selects the format of gzip
constexpr std::size_t inflated_at_once = 16 * 1024;

auto bad_frame(std::string message) -> std::unexpected<grpc_fault> {
  return std::unexpected(grpc_fault{.code = "bad_frame", .message = std::move(message)});
}

auto too_large(std::size_t max_bytes) -> std::unexpected<grpc_fault> {
  return std::unexpected(grpc_fault{.status = braid::http_status::content_too_large,
                                    .code = "body_too_large",
                                    .message = "the message is too large: this server accepts up to " +
                                               std::to_string(max_bytes) + " bytes (--max-body-bytes)"});
}

auto zlib_bytes(const char* bytes) noexcept -> Bytef* {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes));  // zlib does not write to its input
}

/// A zlib stream, which the destructor releases.
struct zlib_stream {
  z_stream state{};
  int (*end)(z_stream*) = nullptr;

  explicit zlib_stream(int (*release)(z_stream*)) noexcept : end(release) {}
  zlib_stream(const zlib_stream&) = delete;
  auto operator=(const zlib_stream&) -> zlib_stream& = delete;
  ~zlib_stream() { end(&state); }
};

auto inflated(std::string_view data, std::size_t max_bytes) -> std::expected<std::string, grpc_fault> {
  zlib_stream stream(&::inflateEnd);
  if (::inflateInit2(&stream.state, gzip_window) != Z_OK) throw std::bad_alloc();
  stream.state.next_in = zlib_bytes(data.data());
  stream.state.avail_in = static_cast<uInt>(data.size());
  std::string out;
  for (;;) {
    const std::size_t before = out.size();
    out.resize(before + inflated_at_once);
    stream.state.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.state.avail_out = static_cast<uInt>(inflated_at_once);
    const int step = ::inflate(&stream.state, Z_NO_FLUSH);
    out.resize(out.size() - stream.state.avail_out);
    if (out.size() > max_bytes) return too_large(max_bytes);
    if (step == Z_STREAM_END && stream.state.avail_in == 0) return out;
    if (step != Z_OK || (stream.state.avail_in == 0 && stream.state.avail_out != 0))
      return bad_frame("the compressed message must be one whole gzip stream");
  }
}

auto deflated(std::string_view data) -> std::string {
  zlib_stream stream(&::deflateEnd);
  if (::deflateInit2(&stream.state, Z_BEST_SPEED, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(::deflateBound(&stream.state, data.size()), '\0');
  stream.state.next_in = zlib_bytes(data.data());
  stream.state.avail_in = static_cast<uInt>(data.size());
  stream.state.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.state.avail_out = static_cast<uInt>(out.size());
  static_cast<void>(::deflate(&stream.state, Z_FINISH));  // there is enough room
  out.resize(stream.state.total_out);
  return out;
}

}  // namespace

auto parse_grpc_encoding(std::string_view text) noexcept -> std::optional<grpc_encoding> {
  if (text == "identity") return grpc_encoding::identity;
  if (text == "gzip") return grpc_encoding::gzip;
  return std::nullopt;
}

auto parse_grpc_timeout(std::string_view text) noexcept -> std::optional<std::chrono::milliseconds> {
  using namespace std::chrono;
  constexpr std::size_t max_digits = 8;
  constexpr milliseconds longest = hours(24);
  if (text.size() < 2 || text.size() > max_digits + 1) return std::nullopt;
  std::int64_t count = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto read = std::from_chars(text.data(), end, count);
  if (read.ec != std::errc() || read.ptr != end || text.front() == '-') return std::nullopt;
  switch (text.back()) {
    case 'H': return std::min<milliseconds>(hours(count), longest);
    case 'M': return std::min<milliseconds>(minutes(count), longest);
    case 'S': return std::min<milliseconds>(seconds(count), longest);
    case 'm': return std::min(milliseconds(count), longest);
    case 'u': return ceil<milliseconds>(microseconds(count));
    case 'n': return ceil<milliseconds>(nanoseconds(count));
    default: return std::nullopt;
  }
}

auto grpc_frame_bytes(std::string_view text) noexcept -> std::optional<std::size_t> {
  if (text.size() < prefix_bytes) return std::nullopt;
  std::size_t size = 0;
  for (const char each : text.substr(1, 4)) size = size << 8U | static_cast<unsigned char>(each);
  return prefix_bytes + size;
}

auto read_grpc_message(std::string_view body, grpc_encoding encoding, std::size_t max_bytes)
    -> std::expected<std::string, grpc_fault> {
  const auto whole = grpc_frame_bytes(body);
  if (!whole)
    return bad_frame("the body must be one message with a prefix of 5 bytes, got " + counted(body.size(), "byte"));
  const std::size_t size = *whole - prefix_bytes;
  const auto flag = static_cast<unsigned char>(body.front());
  body.remove_prefix(prefix_bytes);
  if (flag > 1) return bad_frame("the first byte of a message must be 0 or 1, got " + std::to_string(flag));
  if (size > max_bytes) return too_large(max_bytes);
  if (body.size() < size)
    return bad_frame("the message must have " + counted(size, "byte") + ", got " + std::to_string(body.size()));
  if (body.size() > size)
    return bad_frame("the call must have one message, got " + counted(body.size() - size, "byte") + " after it");
  if (flag == 0) return std::string(body);
  if (encoding == grpc_encoding::identity)
    return std::unexpected(
        grpc_fault{.code = "bad_frame", .message = "the message is compressed, but grpc-encoding is not gzip"});
  return inflated(body, max_bytes);
}

void append_grpc_message(std::string& out, std::string_view message, grpc_encoding encoding) {
  std::string small;
  if (encoding == grpc_encoding::gzip) {
    small = deflated(message);
    message = small;
  }
  out += encoding == grpc_encoding::gzip ? '\1' : '\0';
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(message.size() >> static_cast<unsigned>(shift));
  out += message;
}

}  // namespace rankd
