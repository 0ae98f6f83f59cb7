// rankd/registry/row_id.hpp: the id of a row: an integer, or a text in projects whose key `id` is a string.
#pragma once

#include <rankd/registry/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace rankd {

/// A single id outside of columns, such as the id of a user. All ids of one project have the same type.
using row_id = std::variant<std::int64_t, std::string>;

/// The maximum length of a text id in bytes. A key that contains one such id is short enough for every store, even if
/// every byte is escaped.
inline constexpr std::size_t max_id_bytes = 128;

/// Returns whether a text is an id: UTF-8 of 1 to `max_id_bytes` bytes, without NUL.
auto is_text_id(std::string_view text) noexcept -> bool;

/// Returns a description of ids of a type for messages, such as "an integer of 64 bits, or a string of its digits".
auto id_sentence(value_type type) noexcept -> std::string_view;

/// Returns an integer id as digits, and a text id unchanged.
auto to_text(const row_id& id) -> std::string;

/// Appends the id as a JSON value.
void append_json_id(std::string& out, const row_id& id);

}  // namespace rankd
