// braid/net/redis_batch.hpp: batches: many Redis commands that are sent and answered together.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/detail/redis_call.hpp>
#include <braid/net/detail/redis_commands.hpp>
#include <braid/net/resp.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

/// The type of replies that a batch expects, besides errors. A reply of another type ends the connection, because later
/// replies could no longer be matched with their commands. With `any`, such a mismatch is not detected. A batch with a
/// value other than `any` must consist of reads only.
enum class redis_replies : std::uint8_t {
  any,
  text,   ///< a string or null: GET, HGET
  texts,  ///< an array, a map or a set: LRANGE, HGETALL, SMEMBERS
};

/// The same command for many keys that differ only by a number. The words of each command are the name, `prefix`
/// followed by the id, and `rest`. The commands are encoded directly into the send buffer, so nothing is allocated or
/// copied.
/// Lifetime: the strings and ids must live until the replies have arrived.
struct redis_id_batch {
  std::string_view name;
  std::string_view prefix;
  std::span<const std::int64_t> ids;
  std::span<const std::string_view> rest = {};
  redis_replies expected = redis_replies::any;
};

namespace detail {

/// Appends the commands for `count` ids of the batch, starting with the id at the index `first`. Errors:
/// std::bad_alloc; nothing was appended then.
BRAID_API void write_commands(byte_buffer& out, const redis_id_batch& batch, std::size_t first, std::size_t count);

}  // namespace detail

/// A sequence of encoded commands. Commands of other callers are never sent between the commands of a batch. So a batch
/// may contain a transaction, from its MULTI to its EXEC or DISCARD.
/// Threads: one at a time. Errors: std::bad_alloc; the command was not added then. Cost: 10 ns for each command, and a
/// copy of its bytes.
class BRAID_API redis_batch {
 public:
  redis_batch() = default;
  explicit redis_batch(redis_replies expected) noexcept : expected_(expected) {}

  /// Adds a command, word by word, such as `add("LRANGE", resp_joined{"follow:", id}, 0, 9)`.
  template <detail::resp_argument... Words>
  void add(std::string_view name, const Words&... words) {
    detail::write_command(bytes_, name, words...);
    end_command();
    note(name, first_text(words...));
  }

  /// Adds a command whose number of words is only known at run time.
  void add_words(std::span<const std::string_view> words);

  /// Adds one command for each id in `batch`.
  void add_each(const redis_id_batch& batch);

  /// Adds a command that `write_command` has encoded. The caller must ensure that the command does not change a shared
  /// connection.
  void add_encoded(std::string_view command) {
    bytes_.append(command);
    end_command();
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return ends_.size(); }
  [[nodiscard]] auto empty() const noexcept -> bool { return ends_.empty(); }
  /// Returns the encoded commands.
  [[nodiscard]] auto bytes() const noexcept -> std::string_view { return bytes_.bytes(); }
  /// Returns the bytes of `count` commands, starting with the command at the index `first`.
  [[nodiscard]] auto bytes_of(std::size_t first, std::size_t count) const noexcept -> std::string_view;
  /// Returns whether the batch may be sent over a shared connection. Such a batch must not change the connection for
  /// other callers: it contains no command such as SELECT, and each transaction that begins in the batch also ends in
  /// it.
  [[nodiscard]] auto is_shareable() const noexcept -> bool { return is_shareable_ && !is_open_; }
  /// Returns whether the batch contains a MULTI.
  [[nodiscard]] auto has_transaction() const noexcept -> bool { return has_transaction_; }
  [[nodiscard]] auto expected() const noexcept -> redis_replies { return expected_; }

  void clear() noexcept;

 private:
  static auto first_text() noexcept -> std::string_view { return {}; }
  template <typename First, typename... Rest>
  static auto first_text(const First& first, const Rest&... /*rest*/) noexcept -> std::string_view {
    if constexpr (std::convertible_to<const First&, std::string_view>) return first;
    return {};
  }
  /// Records where the last added command ends. If this fails for lack of memory, removes the command again.
  void end_command() {
    try {
      ends_.push_back(bytes_.size());
    } catch (...) {
      forget_last();
      throw;
    }
  }
  void forget_last() noexcept;
  void note(std::string_view name, std::string_view second) noexcept {
    const std::array words{name, second};
    if (const auto role = detail::find_redis_role(words); role != detail::redis_role::common) note(role);
  }
  void note(detail::redis_role role) noexcept;

  detail::byte_buffer bytes_;
  std::vector<std::size_t> ends_;
  bool is_shareable_ = true;
  bool is_open_ = false;  // a transaction has begun and not ended
  bool has_transaction_ = false;
  redis_replies expected_ = redis_replies::any;
};

namespace detail {

/// The awaiter for all replies of a batch.
class BRAID_API redis_replies_wait : public redis_wait {
 public:
  /// Returns all replies in order, including error replies.
  auto await_resume() -> result<std::span<const resp_value>> {
    if (error) return fail(error);
    return replies_;
  }

 protected:
  enum class sharing : std::uint8_t { possible, refused };
  enum class extent : std::uint8_t { commands, transaction };

  redis_replies_wait(redis_shared_connection& connection, const kind& kind, std::size_t commands, sharing with_others,
                     arena& memory, duration timeout);
  ~redis_replies_wait() = default;

  /// Returns the `kind` of a request. The function `Encode` encodes the commands of such a request.
  template <auto Encode>
  static auto kind_for(redis_replies expected, extent much) noexcept -> const kind&;

 private:
  std::span<const resp_value> replies_;
};

class BRAID_API __attribute__((warn_unused)) redis_batch_call final : public redis_replies_wait {
 public:
  redis_batch_call(redis_shared_connection& connection, const redis_batch& batch, arena& memory, duration timeout);

 private:
  static auto encode(redis_request& self, byte_buffer& out, std::uint32_t max_count) -> std::uint32_t;

  const redis_batch* batch_;
};

class BRAID_API __attribute__((warn_unused)) redis_id_batch_call final : public redis_replies_wait {
 public:
  redis_id_batch_call(redis_shared_connection& connection, const redis_id_batch& batch, arena& memory,
                      duration timeout);

 private:
  static auto encode(redis_request& self, byte_buffer& out, std::uint32_t max_count) -> std::uint32_t;

  const redis_id_batch batch_;
};

}  // namespace detail
}  // namespace braid
