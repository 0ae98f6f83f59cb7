// rankd/store/record.hpp: the byte format of a record in the embedded store, which is written once and read in place.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// The kind of a key's value. A string is one text. A list is packed if all its elements are 64-bit integers. Any other
/// list stores its elements as text.
enum class record_kind : std::uint8_t { hash = 1, id_list = 2, text_list = 3, sorted_set = 4, set = 5, string = 6 };

/// The notation for one kind of record in a line of data, and the Redis command that writes such a record. The two
/// kinds of lists share an entry in `record_forms`.
struct record_form {
  record_kind kind;
  std::string_view head;      ///< the name of the member that contains the key
  std::string_view body;      ///< the name of the member that contains the value
  std::string_view brackets;  ///< the two characters around the value, or nothing
  std::string_view command;   ///< the Redis command that adds elements of the value to a key
};
inline constexpr std::array record_forms{
    record_form{.kind = record_kind::hash, .head = "hash", .body = "fields", .brackets = "{}", .command = "HSET"},
    record_form{.kind = record_kind::text_list, .head = "list", .body = "values", .brackets = "[]", .command = "RPUSH"},
    record_form{.kind = record_kind::set, .head = "set", .body = "members", .brackets = "[]", .command = "SADD"},
    record_form{
        .kind = record_kind::sorted_set, .head = "sorted_set", .body = "scores", .brackets = "{}", .command = "ZADD"},
    record_form{.kind = record_kind::string, .head = "string", .body = "value", .brackets = "", .command = "SET"},
};

/// Returns the entry of `record_forms` for a kind of record.
constexpr auto find_record_form(record_kind kind) noexcept -> const record_form& {
  if (kind == record_kind::id_list) kind = record_kind::text_list;
  return *std::ranges::find(record_forms, kind, &record_form::kind);
}

/// The position in the data files from which a record was loaded.
struct record_origin {
  std::uint32_t file = 0;  ///< the position in the list of files of the load
  std::uint32_t line = 0;  ///< counted from 1

  auto operator==(const record_origin&) const -> bool = default;
};

struct hash_field {
  std::string_view name;
  std::string_view value;

  auto operator==(const hash_field&) const -> bool = default;
};

/// A member of a sorted set. Members are sorted as in Redis: by score, and by bytes if scores are equal.
struct scored_member {
  std::string_view text;
  double score = 0;

  auto operator==(const scored_member&) const -> bool = default;
};

/// A record that is read in place, without copies. No byte outside of the record is read, even if its contents are
/// damaged.
/// Lifetime: the bytes must outlive the view. Threads: any.
class record_view {
 public:
  /// Returns a view of a record. Returns nothing if the bytes are not a record.
  static auto parse(std::span<const std::byte> bytes) noexcept -> std::optional<record_view>;

  [[nodiscard]] auto kind() const noexcept -> record_kind { return kind_; }
  /// Returns the number of fields of a hash, elements of a list, or members of a set. Returns 1 for a string.
  [[nodiscard]] auto count() const noexcept -> std::size_t { return count_; }
  [[nodiscard]] auto origin() const noexcept -> record_origin { return origin_; }
  [[nodiscard]] auto bytes() const noexcept -> std::span<const std::byte> { return bytes_; }

  /// Returns the value of a field of a hash, or nothing if there is no such field. Cost: a binary search.
  [[nodiscard]] auto field(std::string_view name) const noexcept -> std::optional<std::string_view>;
  /// Returns a field of a hash by position. Fields are sorted by name. Requires index < count().
  [[nodiscard]] auto field_at(std::size_t index) const noexcept -> hash_field {
    return {piece(2 * index), piece(2 * index + 1)};
  }

  /// Returns an element of a text list, or a member of a set or sorted set, by position. Members of a set are sorted by
  /// bytes, members of a sorted set by score. A string has its text at position 0. Requires index < count().
  [[nodiscard]] auto text_at(std::size_t index) const noexcept -> std::string_view { return piece(index); }
  /// Returns an element of an id list. Requires index < count().
  [[nodiscard]] auto id_at(std::size_t index) const noexcept -> std::int64_t;
  /// Copies the first elements of an id list into `place`. Requires place.size() <= count().
  void copy_ids(std::span<std::int64_t> place) const noexcept;

  /// Returns the score of a member of a sorted set by position. Requires index < count().
  [[nodiscard]] auto score_at(std::size_t index) const noexcept -> double;
  /// Returns the position of a member of a set or sorted set, or nothing if there is no such member. Cost: a binary
  /// search.
  [[nodiscard]] auto find_member(std::string_view member) const noexcept -> std::optional<std::size_t>;

 private:
  record_view() = default;
  [[nodiscard]] auto piece(std::size_t index) const noexcept -> std::string_view;

  record_kind kind_ = record_kind::hash;
  std::size_t count_ = 0;
  record_origin origin_;
  std::span<const std::byte> bytes_;
  const std::byte* table_ = nullptr;  ///< the ids, or the end of each text
  std::string_view text_;
};

/// Builds the bytes of records in a buffer that it reuses.
/// Threads: a single thread. Lifetime: a result is valid until the next call.
class record_builder {
 public:
  /// Builds a hash. Requires fields sorted by name, without duplicates.
  auto hash(std::span<const hash_field> fields, record_origin origin) -> std::span<const std::byte>;
  auto id_list(std::span<const std::int64_t> ids, record_origin origin) -> std::span<const std::byte>;
  auto text_list(std::span<const std::string_view> elements, record_origin origin) -> std::span<const std::byte>;
  /// Builds a sorted set. Requires members sorted by score, then by bytes, without duplicates.
  auto sorted_set(std::span<const scored_member> members, record_origin origin) -> std::span<const std::byte>;
  auto string(std::string_view text, record_origin origin) -> std::span<const std::byte>;
  /// Builds a set. Requires members sorted by bytes, without duplicates.
  auto set(std::span<const std::string_view> members, record_origin origin) -> std::span<const std::byte>;

 private:
  void start(record_kind kind, std::size_t count, record_origin origin);
  auto texts(record_kind kind, std::span<const std::string_view> all, record_origin origin)
      -> std::span<const std::byte>;
  [[nodiscard]] auto finished() const noexcept -> std::span<const std::byte>;

  std::string buffer_;
};

}  // namespace rankd
