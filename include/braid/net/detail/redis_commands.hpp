// braid/net/detail/redis_commands.hpp: encodes the commands that `redis_calls` has a function for, and reads their
// replies.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/detail/redis_request.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/net/resp.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>

namespace braid::detail {

/// Returns whether `text` equals `capitals`, ignoring case. Threads: any.
[[nodiscard]] BRAID_API auto is_redis_word(std::string_view text, std::string_view capitals) noexcept -> bool;

/// The effect of a command on a connection that many callers share.
enum class redis_role : std::uint8_t {
  common,    ///< no effect; it has one reply
  begins,    ///< MULTI: the commands after it wait
  ends,      ///< EXEC, DISCARD
  unshared,  ///< replies no longer match commands, or it changes the commands of other callers
};
[[nodiscard]] BRAID_API auto find_redis_role(std::span<const std::string_view> words) noexcept -> redis_role;

/// Returns whether a single command may be sent over a connection that many callers share.
[[nodiscard]] inline auto may_share_connection(std::span<const std::string_view> words) noexcept -> bool {
  return find_redis_role(words) == redis_role::common;
}

inline constexpr std::uint32_t error_bit = redis_type_bit(resp_type::error);
inline constexpr std::uint32_t integer_bit = redis_type_bit(resp_type::integer);
inline constexpr std::uint32_t text_bits = redis_type_bit(resp_type::bulk_string) | redis_type_bit(resp_type::null);

struct redis_read_command {
  static constexpr bool is_read = true;
  static constexpr bool is_simple = true;
  [[nodiscard]] static auto fault() noexcept -> std::error_code { return {}; }
};
struct redis_write_command : redis_read_command {
  static constexpr bool is_read = false;
};

/// Reads a reply that must be a string or null.
struct redis_text_reply : redis_read_command {
  using value_type = std::optional<std::string_view>;
  static constexpr std::uint32_t types = error_bit | text_bits;
  static auto read(const resp_value& reply) noexcept -> result<value_type> {
    return reply.is_null() ? value_type() : value_type(reply.text());
  }
};

/// Reads a reply that must be an integer.
template <typename Kind>
struct redis_integer_reply : Kind {
  using value_type = std::int64_t;
  static constexpr std::uint32_t types = error_bit | integer_bit;
  static auto read(const resp_value& reply) noexcept -> result<value_type> { return reply.integer(); }
};

/// Reads a reply whose elements must all be strings.
struct redis_texts_reply : redis_read_command {
  using value_type = std::span<const resp_value>;
  BRAID_API static auto read(const resp_value& reply) noexcept -> result<value_type>;
};

struct redis_get : redis_text_reply {
  std::string_view key;
  void encode(byte_buffer& out) const { write_behind(out, "*2\r\n$3\r\nGET\r\n", key); }
};

struct redis_hget : redis_text_reply {
  std::string_view key;
  std::string_view field;
  void encode(byte_buffer& out) const { write_behind(out, "*3\r\n$4\r\nHGET\r\n", key, field); }
};

struct redis_hgetall : redis_texts_reply {
  static constexpr std::uint32_t types = error_bit | redis_type_bit(resp_type::array) | redis_type_bit(resp_type::map);
  std::string_view key;
  void encode(byte_buffer& out) const { write_behind(out, "*2\r\n$7\r\nHGETALL\r\n", key); }
};

struct redis_lrange : redis_texts_reply {
  static constexpr std::uint32_t types = error_bit | redis_type_bit(resp_type::array);
  std::string_view key;
  std::int64_t first = 0;
  std::int64_t last = -1;
  void encode(byte_buffer& out) const { write_behind(out, "*4\r\n$6\r\nLRANGE\r\n", key, first, last); }
};

struct redis_set : redis_write_command {
  using value_type = void;
  static constexpr std::uint32_t types = error_bit | redis_type_bit(resp_type::simple_string);
  std::string_view key;
  std::string_view value;
  void encode(byte_buffer& out) const { write_behind(out, "*3\r\n$3\r\nSET\r\n", key, value); }
  static auto read(const resp_value& /*reply*/) noexcept -> result<void> { return {}; }
};

struct redis_del : redis_integer_reply<redis_write_command> {
  std::string_view key;
  void encode(byte_buffer& out) const { write_command(out, "DEL", key); }
};

struct redis_hset : redis_integer_reply<redis_write_command> {
  std::string_view key;
  std::string_view field;
  std::string_view value;
  void encode(byte_buffer& out) const { write_command(out, "HSET", key, field, value); }
};

struct redis_rpush : redis_integer_reply<redis_write_command> {
  std::string_view key;
  std::string_view value;
  void encode(byte_buffer& out) const { write_command(out, "RPUSH", key, value); }
};

/// A command of any kind. Its reply is returned unchanged, even if the reply is an error.
struct redis_words {
  using value_type = resp_value;
  static constexpr std::uint32_t types = any_redis_type;
  static constexpr bool is_read = false;
  static constexpr bool is_simple = false;
  std::span<const std::string_view> words;
  [[nodiscard]] auto fault() const noexcept -> std::error_code {
    return may_share_connection(words) ? std::error_code() : redis_errc::not_shared;
  }
  void encode(byte_buffer& out) const { write_command_words(out, words); }
  static auto read(const resp_value& reply) noexcept -> result<resp_value> { return reply; }
};

}  // namespace braid::detail
