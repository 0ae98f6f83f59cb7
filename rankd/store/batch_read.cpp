// rankd/store/batch_read.cpp: copies the values of the keys that a batch reads from an embedded store.
#include <rankd/store/batch_read.hpp>

#include <rankd/store/detail/key_speller.hpp>
#include <rankd/store/error.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>

namespace rankd {
namespace {

/// Returns the record of a key, or nothing. An empty record of any kind counts as absent, because other stores cannot
/// contain empty records.
auto find_filled(const embedded_store::snapshot& snapshot, std::string_view key)
    -> braid::result<std::optional<record_view>> {
  auto record = snapshot.find(key);
  if (record && *record && (*record)->count() == 0) return std::nullopt;
  return record;
}

auto is_list(record_kind kind) -> bool { return kind == record_kind::id_list || kind == record_kind::text_list; }

/// Returns the hash under a key, or nothing if there is no record. Another kind of record, such as a list, is an error.
auto find_hash(const embedded_store::snapshot& snapshot, std::string_view key)
    -> braid::result<std::optional<record_view>> {
  auto record = find_filled(snapshot, key);
  if (record && *record && (*record)->kind() != record_kind::hash) return braid::fail(store_errc::wrong_type);
  return record;
}

auto copy_fields(const record_view& hash, braid::arena& arena) -> std::span<const hash_field> {
  const auto out = arena.uninitialized<hash_field>(hash.count());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const hash_field field = hash.field_at(i);
    out[i] = {arena.copied(field.name), arena.copied(field.value)};
  }
  return out;
}

struct id_answer {
  std::span<const std::int64_t> ids;
  std::uint64_t malformed = 0;
};

auto copy_list(const record_view& list, std::uint32_t first, braid::arena& arena) -> id_answer {
  const auto out = arena.uninitialized<std::int64_t>(std::min<std::size_t>(first, list.count()));
  if (list.kind() == record_kind::id_list) {
    list.copy_ids(out);
    return {out};
  }
  std::size_t used = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (const auto id = parse_element(list.text_at(i))) out[used++] = *id;
  }
  return {out.first(used), out.size() - used};
}

}  // namespace

auto parse_id(std::string_view text) noexcept -> std::optional<std::int64_t> {
  return braid::detail::number_in<std::int64_t>(text);
}

auto parse_element(std::string_view text) noexcept -> std::optional<std::int64_t> {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text != "0") return std::nullopt;
  return parse_id(text);
}

auto parse_id(std::string_view text, value_type type) -> std::optional<row_id> {
  if (type == value_type::string) return is_text_id(text) ? std::optional<row_id>(std::string(text)) : std::nullopt;
  const auto id = parse_id(text);
  return id ? std::optional<row_id>(*id) : std::nullopt;
}

auto read_batch(const embedded_store::snapshot& snapshot, const field_read& question, braid::arena& arena)
    -> braid::result<field_batch> {
  const auto out = arena.filled(question.keys.ids.size(), std::optional<std::string_view>());
  detail::key_speller speller(question.keys.prefix);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto hash = find_hash(snapshot, speller.spell(question.keys.ids[i]));
    if (!hash) return braid::fail(hash.error());
    const auto value = *hash ? (*hash)->field(question.field) : std::nullopt;
    if (value) out[i] = arena.copied(*value);
  }
  return out;
}

auto read_batch(const embedded_store::snapshot& snapshot, const hash_read& question, braid::arena& arena)
    -> braid::result<hash_batch> {
  const auto out = arena.filled(question.keys.ids.size(), std::span<const hash_field>());
  detail::key_speller speller(question.keys.prefix);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto hash = find_hash(snapshot, speller.spell(question.keys.ids[i]));
    if (!hash) return braid::fail(hash.error());
    if (*hash) out[i] = copy_fields(**hash, arena);
  }
  return out;
}

auto read_batch(const embedded_store::snapshot& snapshot, const list_read& question, braid::arena& arena)
    -> braid::result<id_batch> {
  const auto lists = arena.filled(question.keys.ids.size(), std::span<const std::int64_t>());
  std::uint64_t malformed = 0;
  detail::key_speller speller(question.keys.prefix);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto record = find_filled(snapshot, speller.spell(question.keys.ids[i]));
    if (!record) return braid::fail(record.error());
    if (!*record) continue;
    if (!is_list((*record)->kind())) return braid::fail(store_errc::wrong_type);
    const id_answer answer = copy_list(**record, question.first, arena);
    lists[i] = answer.ids;
    malformed += answer.malformed;
  }
  return id_batch{lists, malformed};
}

}  // namespace rankd
