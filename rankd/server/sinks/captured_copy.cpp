// rankd/server/sinks/captured_copy.cpp: copies the values of active rows one after the other.
#include <rankd/server/sinks/captured_copy.hpp>

#include <rankd/registry/names.hpp>

#include <string_view>
#include <utility>

namespace rankd {
namespace {

/// Appends `value_of(row)` for each row as its bytes in memory.
template <typename Fn>
void append_values(std::string& out, const row_set& rows, Fn value_of) {
  rows.for_each_row([&](std::uint32_t row) {
    const auto value = value_of(row);
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
  });
}

auto text_at(const column& from, const string_values& texts, std::uint32_t row) -> std::string_view {
  return from.is_null(row) ? std::string_view() : texts[row];  // the text of a null is empty
}

void append_texts(captured_column& out, const column& from, const row_set& rows) {
  const string_values& texts = *from.strings();
  out.key.holds = captured_key::type::text;
  out.ends.reserve(rows.size());
  rows.for_each_row([&](std::uint32_t row) {
    const std::string_view text = text_at(from, texts, row);
    if (!is_utf8(text)) out.key.holds = captured_key::type::bytes;
    out.values += text;
    out.ends.push_back(static_cast<std::uint32_t>(out.values.size()));
  });
}

void append_vectors(captured_column& out, const column& from, const row_set& rows) {
  const string_values& vectors = *from.strings();
  out.key.holds = captured_key::type::vector;
  out.key.dimensions = vectors.dimensions;
  const std::size_t size = std::size_t{vectors.dimensions} * sizeof(float);
  rows.for_each_row([&](std::uint32_t row) {
    const std::size_t end = out.values.size() + size;
    out.values += text_at(from, vectors, row).substr(0, size);
    out.values.resize(end);  // zeros for a null
  });
}

auto column_of(std::uint32_t key_id, std::string_view name, const column& from, const row_set& rows)
    -> captured_column {
  captured_column out{.key = {.key_id = key_id, .name = std::string(name)}, .values = {}, .ends = {}, .present = {}};
  if (!from.validity.all_set()) {
    out.present.reserve(rows.size());
    rows.for_each_row([&](std::uint32_t row) { out.present.push_back(!from.is_null(row)); });
  }
  if (const string_values* texts = from.strings()) {
    if (texts->dimensions == 0)
      append_texts(out, from, rows);
    else
      append_vectors(out, from, rows);
  } else if (const auto* whole = from.integers()) {
    append_values(out.values, rows, [whole](std::uint32_t row) { return (*whole)[row]; });
  } else if (const auto* flags = from.booleans()) {
    out.key.holds = captured_key::type::boolean;
    append_values(out.values, rows, [flags](std::uint32_t row) { return (*flags)[row]; });
  } else {
    out.key.holds = captured_key::type::floating;
    append_values(out.values, rows, [floats = from.floats()](std::uint32_t row) { return (*floats)[row]; });
  }
  return out;
}

}  // namespace

auto captured_copy::bytes() const -> std::size_t {
  constexpr std::size_t about_each_column = 64;  // its place in lists of rows, and padding
  std::size_t sum = sizeof(captured_copy) + plan.size() + plan_digest.size() + node.size() + source.size();
  if (request_id) sum += request_id->size();
  for (const captured_column& each : columns)
    sum += about_each_column + each.values.size() + each.ends.size() * sizeof(std::uint32_t) + each.present.size() / 8;
  return sum;
}

auto copy_of(const line_origin& from, const captured_rows& what) -> captured_copy {
  captured_copy out;
  out.time = from.time;
  if (!from.hidden.hides("request_id")) out.request_id = from.record.request_id;
  out.plan = from.plan;
  out.plan_digest = from.digest;
  out.node = what.node;
  out.side = capture_side_names[static_cast<std::size_t>(what.side)];
  out.source = what.source;
  out.state = to_string(what.state);
  out.code = what.failure;
  out.used = what.used;
  out.fused_with = what.fused_with;
  if (!what.rows) return out;
  const row_set& rows = *what.rows;
  out.has_rows = true;
  out.rows = rows.size();
  out.cut = what.cut;
  out.columns.push_back(column_of(registries::id_key, "id", *rows.table().find(registries::id_key), rows));
  for (const key_entry* key : what.keys)
    if (const auto values = rows.table().find(key->key_id))
      out.columns.push_back(column_of(key->key_id, key->name, *values, rows));
  return out;
}

}  // namespace rankd
