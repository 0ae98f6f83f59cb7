// tests/support/http2_peer.hpp: the frames of HTTP/2, written by hand, and what a server answers to them.
#pragma once

#include <tests/support/http_scene.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>

#if __has_include(<nghttp2/nghttp2.h>)
#include <nghttp2/nghttp2.h>
#define BRAID_TESTS_HTTP2
#endif

namespace braid::testing {

inline constexpr std::string_view http2_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum class frame_type : std::uint8_t {
  data,
  headers,
  priority,
  rst_stream,
  settings,
  push_promise,
  ping,
  goaway,
  window_update,
  continuation,
};

constexpr unsigned flag_end_stream = 1;
constexpr unsigned flag_ack = 1;
constexpr unsigned flag_end_headers = 4;

inline auto number32(std::uint32_t value) -> std::string {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> static_cast<unsigned>(shift));
  return out;
}

inline auto frame(frame_type type, unsigned flags, std::uint32_t stream, std::string_view payload) -> std::string {
  std::string out = number32(static_cast<std::uint32_t>(payload.size())).substr(1);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  return (out += number32(stream)) += payload;
}

/// A setting as a part of the payload of SETTINGS.
inline auto setting(unsigned name, std::uint32_t value) -> std::string {
  return number32(name).substr(2) + number32(value);
}

/// A field as HPACK has it without a table and without Huffman's code.
inline auto literal(std::string_view name, std::string_view value) -> std::string {
  const auto text = [](std::string_view from) {
    std::string out;
    if (from.size() < 127) return (out += static_cast<char>(from.size())) += from;
    out += '\x7f';
    std::size_t left = from.size() - 127;
    for (; left >= 128; left /= 128) out += static_cast<char>(left % 128 + 128);
    out += static_cast<char>(left);
    return out += from;
  };
  return '\0' + text(name) + text(value);
}

using http2_fields = std::vector<std::pair<std::string, std::string>>;

inline auto request_block(std::string_view method, std::string_view path, const http2_fields& fields = {})
    -> std::string {
  std::string out = literal(":method", method) + literal(":scheme", "http") + literal(":authority", "localhost") +
                    literal(":path", path);
  for (const auto& [name, value] : fields) out += literal(name, value);
  return out;
}

inline auto get_frame(std::uint32_t stream, std::string_view path, const http2_fields& fields = {}) -> std::string {
  return frame(frame_type::headers, flag_end_headers | flag_end_stream, stream, request_block("GET", path, fields));
}

inline auto post_frame(std::uint32_t stream, std::string_view path, const http2_fields& fields = {}) -> std::string {
  return frame(frame_type::headers, flag_end_headers, stream, request_block("POST", path, fields));
}

inline auto data_frame(std::uint32_t stream, std::string_view data, unsigned flags = flag_end_stream) -> std::string {
  return frame(frame_type::data, flags, stream, data);
}

inline auto window_frame(std::uint32_t stream, std::uint32_t size) -> std::string {
  return frame(frame_type::window_update, 0, stream, number32(size));
}

/// What a server has sent on one stream.
struct http2_answer {
  std::vector<http2_fields> heads;
  std::string body;
  bool has_ended = false;
  std::optional<std::uint32_t> reset;

  /// Returns `200 hello`: the last status and the body, and how the stream ended if not properly. A reset without an
  /// error after the end is proper.
  [[nodiscard]] auto text() const -> std::string {
    std::string out = field(":status");
    if (!body.empty()) out += " " + body;
    if (reset && !(has_ended && *reset == 0)) out += " reset " + std::to_string(*reset);
    if (!has_ended && !reset) out += " more";
    return out;
  }
  [[nodiscard]] auto field(std::string_view name) const -> std::string {
    if (heads.empty()) return "nothing";
    for (const auto& [each, value] : heads.back())
      if (each == name) return value;
    return {};
  }
};

#if defined(BRAID_TESTS_HTTP2)

/// The decoder of fields of libnghttp2, which is loaded as the library loads it.
class field_decoder {
 public:
  [[nodiscard]] static auto is_there() -> bool { return library() != nullptr; }

  field_decoder() { load<decltype(&::nghttp2_hd_inflate_new)>("nghttp2_hd_inflate_new")(&inflater_); }
  field_decoder(const field_decoder&) = delete;
  auto operator=(const field_decoder&) -> field_decoder& = delete;
  ~field_decoder() { load<decltype(&::nghttp2_hd_inflate_del)>("nghttp2_hd_inflate_del")(inflater_); }

  [[nodiscard]] auto decode(std::string_view block) -> http2_fields {
    const auto step = load<decltype(&::nghttp2_hd_inflate_hd2)>("nghttp2_hd_inflate_hd2");
    http2_fields out;
    for (;;) {
      nghttp2_nv field{};
      int flags = 0;
      const ::ssize_t read =
          step(inflater_, &field, &flags, reinterpret_cast<const std::uint8_t*>(block.data()), block.size(), 1);
      if (read < 0) return {{"error", "bad block"}};
      block.remove_prefix(static_cast<std::size_t>(read));
      const auto text = [](const std::uint8_t* bytes, std::size_t size) {
        return std::string(reinterpret_cast<const char*>(bytes), size);
      };
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        out.emplace_back(text(field.name, field.namelen), text(field.value, field.valuelen));
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        load<decltype(&::nghttp2_hd_inflate_end_headers)>("nghttp2_hd_inflate_end_headers")(inflater_);
        return out;
      }
      if (read == 0 && block.empty() && (flags & NGHTTP2_HD_INFLATE_EMIT) == 0) return out;
    }
  }

 private:
  static auto library() -> void* {
    static void* const loaded = ::dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
    return loaded;
  }
  template <typename Fn>
  static auto load(const char* name) -> Fn {
    return reinterpret_cast<Fn>(::dlsym(library(), name));
  }

  nghttp2_hd_inflater* inflater_ = nullptr;
};

/// Reads the frames of a server.
class http2_hearing {
 public:
  /// Reads what has come since the last call; `heard` is all that has come.
  void read(std::string_view heard) {
    while (heard.size() - parsed_ >= 9) {
      const std::string_view head = heard.substr(parsed_, 9);
      const std::size_t size = number(head.substr(0, 3));
      if (heard.size() - parsed_ < 9 + size) return;
      take(static_cast<frame_type>(head[3]), static_cast<unsigned char>(head[4]), number(head.substr(5)),
           heard.substr(parsed_ + 9, size));
      parsed_ += 9 + size;
    }
  }

  std::map<std::uint32_t, http2_answer> answers;
  std::map<unsigned, std::uint32_t> settings;
  std::map<std::uint32_t, std::uint32_t> windows;
  std::map<frame_type, int> counts;
  std::vector<std::string> pings;
  std::optional<std::uint32_t> goaway;

 private:
  static auto number(std::string_view bytes) -> std::uint32_t {
    std::uint32_t out = 0;
    for (const char each : bytes) out = out << 8U | static_cast<unsigned char>(each);
    return out;
  }

  void take(frame_type type, unsigned flags, std::uint32_t stream, std::string_view payload) {
    ++counts[type];
    http2_answer& answer = answers[stream];
    switch (type) {
      case frame_type::headers: answer.heads.push_back(decoder_.decode(payload)); break;
      case frame_type::data: answer.body += payload; break;
      case frame_type::rst_stream: answer.reset = number(payload); return;
      case frame_type::goaway: goaway = number(payload.substr(4, 4)); return;
      case frame_type::window_update: windows[stream] += number(payload); return;
      case frame_type::ping: pings.emplace_back(payload); return;
      case frame_type::settings:
        for (; payload.size() >= 6; payload.remove_prefix(6))
          settings[number(payload.substr(0, 2))] = number(payload.substr(2, 4));
        return;
      default: return;
    }
    if ((flags & flag_end_stream) != 0) answer.has_ended = true;
  }

  field_decoder decoder_;
  std::size_t parsed_ = 0;
};

/// A client of HTTP/2 that sends the frames it is told to send, and keeps what it receives.
class http2_peer {
 public:
  /// `settings`: the payload of its first frame.
  explicit http2_peer(http_scene& scene, std::string_view settings = {}) : scene_(&scene), talker_(scene.talker()) {
    talker_->say(std::string(http2_preface) + frame(frame_type::settings, 0, 0, settings) +
                 frame(frame_type::settings, flag_ack, 0, {}));
  }

  void say(std::string_view frames) { talker_->say(frames); }
  [[nodiscard]] auto talker() -> http_talker& { return *talker_; }

  [[nodiscard]] auto answer(std::uint32_t stream) -> const http2_answer& { return all().answers[stream]; }
  /// Waits for the end of a stream.
  [[nodiscard]] auto hears(std::uint32_t stream) -> std::string {
    static_cast<void>(scene_->here.run_until([&] {
      const http2_answer& it = answer(stream);
      return it.has_ended || it.reset || talker_->ended();
    }));
    return answer(stream).text();
  }
  [[nodiscard]] auto hears_end() -> bool { return talker_->hears_end(); }
  /// Returns the error of the last GOAWAY.
  [[nodiscard]] auto goaway() -> std::optional<std::uint32_t> { return all().goaway; }
  /// Waits for GOAWAY.
  [[nodiscard]] auto hears_goaway() -> std::optional<std::uint32_t> {
    static_cast<void>(scene_->here.run_until([&] { return goaway() || talker_->ended(); }));
    return goaway();
  }
  [[nodiscard]] auto settings() -> const std::map<unsigned, std::uint32_t>& { return all().settings; }
  [[nodiscard]] auto pings() -> const std::vector<std::string>& { return all().pings; }
  /// Returns how many bytes of windows were given back; stream 0 is the connection.
  [[nodiscard]] auto window(std::uint32_t stream) -> std::uint32_t { return all().windows[stream]; }
  [[nodiscard]] auto frames(frame_type type) -> int { return all().counts[type]; }

 private:
  auto all() -> http2_hearing& {
    hearing_.read(talker_->heard());
    return hearing_;
  }

  http_scene* scene_;
  std::unique_ptr<http_talker> talker_;
  http2_hearing hearing_;
};

/// Returns whether the cases of HTTP/2 can run; says why if not. They speak in clear text, where a client may begin
/// with HTTP/2 at once.
inline auto can_speak_http2() -> bool {
  if (tests_tls()) return false;
  if (!field_decoder::is_there()) MESSAGE("libnghttp2 is missing: HTTP/2 is not tested");
  return field_decoder::is_there();
}

#else

inline auto can_speak_http2() -> bool { return false; }

#endif

}  // namespace braid::testing
