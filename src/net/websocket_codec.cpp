// src/net/websocket_codec.cpp: parses and formats WebSocket frames, and computes the answer to a handshake.
#include <braid/net/detail/websocket_codec.hpp>

#include <braid/base/detail/base64.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace braid::detail {
namespace {

constexpr unsigned char last_bit = 0x80;
constexpr unsigned char reserved_bits = 0x70;
constexpr unsigned char opcode_bits = 0x0f;
constexpr unsigned char mask_bit = 0x80;
constexpr unsigned char length_bits = 0x7f;
constexpr unsigned char two_bytes = 126;
constexpr unsigned char eight_bytes = 127;

auto is_control(websocket_opcode opcode) noexcept -> bool { return opcode >= websocket_opcode::close; }

auto is_known(unsigned opcode) noexcept -> bool { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

/// Describes the UTF-8 characters that begin with a given byte: how many bytes follow, and the valid range of the
/// second byte.
struct utf8_lead {
  unsigned rest = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
};

auto parse_lead(unsigned char first) noexcept -> utf8_lead {
  if (first >= 0xc2 && first <= 0xdf) return {.rest = 1};
  if (first == 0xe0) return {.rest = 2, .low = 0xa0};
  if (first == 0xed) return {.rest = 2, .high = 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {.rest = 2};
  if (first == 0xf0) return {.rest = 3, .low = 0x90};
  if (first >= 0xf1 && first <= 0xf3) return {.rest = 3};
  if (first == 0xf4) return {.rest = 3, .high = 0x8f};
  return {};
}

/// A SHA-1 hash. The handshake of RFC 6455 uses SHA-1 only to recognise a WebSocket peer, so the weakness of the hash
/// does not matter.
class sha1 {
 public:
  static auto of(std::string text) -> std::array<unsigned char, 20> {
    const std::uint64_t bits = std::uint64_t{text.size()} * 8;
    text += '\x80';
    while (text.size() % 64 != 56) text += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> static_cast<unsigned>(shift));
    sha1 state;
    for (std::size_t at = 0; at < text.size(); at += 64) state.block(text.substr(at, 64));
    std::array<unsigned char, 20> out{};
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<unsigned char>(state.words_[i / 4] >> (24 - 8 * (i % 4)));
    return out;
  }

 private:
  void block(const std::string& bytes) noexcept {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8U | static_cast<unsigned char>(bytes[i]);
    for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = words_;
    for (std::size_t i = 0; i < 80; ++i) {
      const std::uint32_t next = std::rotl(a, 5) + mix(i, b, c, d) + e + constants[i / 20] + w[i];
      e = std::exchange(d, std::exchange(c, std::rotl(std::exchange(b, std::exchange(a, next)), 30)));
    }
    const std::array added{a, b, c, d, e};
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] += added[i];
  }
  static auto mix(std::size_t round, std::uint32_t b, std::uint32_t c, std::uint32_t d) noexcept -> std::uint32_t {
    if (round < 20) return (b & c) | (~b & d);
    if (round >= 40 && round < 60) return (b & c) | (b & d) | (c & d);
    return b ^ c ^ d;
  }

  static constexpr std::array<std::uint32_t, 4> constants{0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
  std::array<std::uint32_t, 5> words_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
};

}  // namespace

auto websocket_reader::control() const noexcept -> std::string_view {
  const std::size_t code = opcode_ == websocket_opcode::close ? std::min<std::size_t>(control_.size(), 2) : 0;
  return std::string_view(control_).substr(code);
}

auto websocket_reader::fail(websocket_code code) noexcept -> found {
  code_ = static_cast<std::uint16_t>(code);
  return found::failure;
}

auto websocket_reader::next(std::string_view& input) -> found {
  if (std::exchange(is_over_, false)) {
    message_.clear();
    kind_ = websocket_opcode::continuation;
  }
  while (!input.empty() || has_head_) {
    if (!has_head_) {
      head_[head_size_++] = static_cast<unsigned char>(input.front());
      input.remove_prefix(1);
      if (head_size_ < head_needs()) continue;
      if (const found wrong = read_head(); wrong != found::nothing) return wrong;
    }
    take_payload(input);
    if (taken_ < length_) return found::nothing;
    if (const found got = end_frame(); got != found::nothing) return got;
  }
  return found::nothing;
}

/// Returns the size of a frame's head, as far as the received bytes show it. Returns 2 until the first two bytes have
/// arrived.
auto websocket_reader::head_needs() const noexcept -> std::size_t {
  if (head_size_ < 2) return 2;
  const unsigned char length = head_[1] & length_bits;
  const std::size_t more = length == two_bytes ? 2 : length == eight_bytes ? 8 : 0;
  return 2 + more + ((head_[1] & mask_bit) != 0 ? 4 : 0);
}

/// Checks the whole head of a frame before any of its payload is stored.
auto websocket_reader::read_head() noexcept -> found {
  const unsigned opcode = head_[0] & opcode_bits;
  if ((head_[0] & reserved_bits) != 0 || !is_known(opcode)) return fail(websocket_code::protocol_error);
  if ((head_[1] & mask_bit) == 0) return fail(websocket_code::protocol_error);  // all frames of clients are masked
  opcode_ = static_cast<websocket_opcode>(opcode);
  is_last_ = (head_[0] & last_bit) != 0;
  const unsigned char length = head_[1] & length_bits;
  const std::size_t end = head_size_ - mask_.size();
  length_ = length;
  if (length >= two_bytes) {
    length_ = 0;
    for (std::size_t i = 2; i < end; ++i) length_ = length_ << 8U | head_[i];
    const std::uint64_t shorter = length == two_bytes ? max_control : 0xffff;
    if (length_ <= shorter || length_ >> 63U != 0) return fail(websocket_code::protocol_error);
  }
  std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(end), mask_.size(), mask_.begin());
  head_size_ = 0;
  taken_ = 0;
  has_head_ = true;
  if (is_control(opcode_)) {
    control_.clear();
    return length_ > max_control || !is_last_ ? fail(websocket_code::protocol_error) : found::nothing;
  }
  const bool continues = kind_ != websocket_opcode::continuation;
  if (continues != (opcode_ == websocket_opcode::continuation)) return fail(websocket_code::protocol_error);
  if (!continues) kind_ = opcode_;
  if (length_ > max_message_ - message_.size()) return fail(websocket_code::too_large);
  return found::nothing;
}

void websocket_reader::take_payload(std::string_view& input) {
  const std::uint64_t left = std::min<std::uint64_t>(length_ - taken_, input.size());
  const std::string_view piece = input.substr(0, static_cast<std::size_t>(left));
  std::string& into = is_control(opcode_) ? control_ : message_;
  const std::size_t before = into.size();
  into += piece;
  for (std::size_t i = before; i < into.size(); ++i)
    into[i] = static_cast<char>(static_cast<unsigned char>(into[i]) ^ mask_[taken_++ % mask_.size()]);
  input.remove_prefix(piece.size());
}

auto websocket_reader::end_frame() -> found {
  has_head_ = false;
  switch (opcode_) {
    case websocket_opcode::ping: return found::ping;
    case websocket_opcode::pong: return found::pong;
    case websocket_opcode::close: return end_close();
    default: break;
  }
  if (!is_last_) return found::nothing;
  if (is_text() && !is_utf8(message_)) return fail(websocket_code::not_utf8);
  is_over_ = true;
  return found::message;
}

auto websocket_reader::end_close() -> found {
  code_ = no_close_code;
  if (control_.empty()) return found::close;
  if (control_.size() == 1) return fail(websocket_code::protocol_error);
  const auto byte = [this](std::size_t index) {
    return static_cast<unsigned>(static_cast<unsigned char>(control_[index]));
  };
  const auto code = static_cast<std::uint16_t>(byte(0) << 8U | byte(1));
  if (!is_close_code(code)) return fail(websocket_code::protocol_error);
  if (!is_utf8(control())) return fail(websocket_code::not_utf8);
  code_ = code;
  return found::close;
}

void append_websocket_frame(std::string& out, websocket_opcode opcode, std::string_view payload) {
  out += static_cast<char>(last_bit | static_cast<unsigned char>(opcode));
  const std::uint64_t size = payload.size();
  const unsigned bytes = size < two_bytes ? 0 : size <= 0xffff ? 2 : 8;
  out += static_cast<char>(bytes == 0 ? size : bytes == 2 ? two_bytes : eight_bytes);
  for (unsigned i = bytes; i > 0; --i) out += static_cast<char>(size >> (8 * (i - 1)));
  out += payload;
}

void append_websocket_close(std::string& out, std::uint16_t code, std::string_view reason) {
  constexpr std::size_t max_reason = 123;
  std::string payload{static_cast<char>(code >> 8U), static_cast<char>(code)};
  std::size_t size = std::min(reason.size(), max_reason);
  while (size > 0 && !is_utf8(reason.substr(0, size))) --size;
  payload += reason.substr(0, size);
  append_websocket_frame(out, websocket_opcode::close, payload);
}

auto is_close_code(std::uint16_t code) noexcept -> bool {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

auto is_utf8(std::string_view text) noexcept -> bool {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(at++);
    if (first < 0x80) continue;
    const utf8_lead lead = parse_lead(first);
    if (lead.rest == 0 || text.size() - at < lead.rest) return false;
    if (byte(at) < lead.low || byte(at) > lead.high) return false;
    for (unsigned i = 1; i < lead.rest; ++i)
      if ((byte(at + i) & 0xc0U) != 0x80U) return false;
    at += lead.rest;
  }
  return true;
}

auto websocket_accept(std::string_view key) -> std::string {
  const auto digest = sha1::of(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  std::string out;
  append_base64(out, {reinterpret_cast<const char*>(digest.data()), digest.size()}, base64_alphabet::standard);
  return out;
}

}  // namespace braid::detail
