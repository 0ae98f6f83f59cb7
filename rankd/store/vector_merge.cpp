// rankd/store/vector_merge.cpp: compares a list of changes with a file, and creates a file that contains the changes.
#include <rankd/store/vector_merge.hpp>

#include <rankd/plan/key_template.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/error.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace rankd {
namespace {

/// Parses a member of the set as an id of this type. Returns nothing if the member is not such an id. An integer must
/// be written without leading zeros, so that each id has only one member.
auto parse_member(std::string_view member, value_type type) -> std::optional<row_id> {
  if (type == value_type::string) return is_text_id(member) ? std::optional<row_id>(std::string(member)) : std::nullopt;
  const auto number = braid::detail::number_in<std::int64_t>(member);
  if (!number || std::to_string(*number) != member) return std::nullopt;
  return *number;
}

/// Returns the key of the hash that contains the vector of this id.
auto key_of(const vector_changes_policy& list, std::string_view member) -> std::string {
  constexpr std::string_view hole = "{id}";
  const std::size_t at = list.key.find(hole);
  std::string out = list.key.substr(0, at);
  append_escaped(out, member);
  return out + list.key.substr(at + hole.size());
}

/// Returns the set of ids, or nothing if the key does not exist.
auto find_set(const embedded_store::snapshot& snapshot, const vector_changes_policy& list)
    -> braid::result<std::optional<record_view>> {
  auto found = snapshot.find(list.set);
  if (found && *found && (*found)->kind() != record_kind::set) return braid::fail(store_errc::wrong_type);
  return found;
}

auto find_slot(const vector_file& file, const row_id& id) -> std::optional<std::uint64_t> {
  if (const auto* const number = std::get_if<std::int64_t>(&id)) return file.find_slot(*number);
  return file.find_slot(std::string_view(std::get<std::string>(id)));
}

}  // namespace

auto merge_vectors(const vector_file& base, vector_changes changes, const vector_progress& progress)
    -> braid::checked<built_vectors> {
  vector_table table = apply_changes(base, std::move(changes));
  if (table.size() == 0)
    return refused("no_vectors", "the changes delete all vectors of the file",
                   "a file needs at least one vector; keep one, or remove the endpoint");
  vector_index index = find_index(base);
  if (auto* const lists = std::get_if<vector_lists>(&index))
    lists->count = static_cast<std::uint32_t>(std::min<std::size_t>(lists->count, table.size()));
  return build_vectors(std::move(table), index, progress);
}

auto count_listed(const embedded_store::snapshot& snapshot, const vector_changes_policy& list)
    -> braid::result<std::size_t> {
  const auto found = find_set(snapshot, list);
  if (!found) return braid::fail(found.error());
  return *found ? (*found)->count() : 0;
}

auto read_listed(const embedded_store::snapshot& snapshot, const vector_changes_policy& list, const vector_file& base)
    -> braid::result<std::vector<listed_vector>> {
  std::vector<listed_vector> out;
  const auto found = find_set(snapshot, list);
  if (!found) return braid::fail(found.error());
  const std::size_t count = *found ? (*found)->count() : 0;
  for (std::size_t at = 0; at < count; ++at) {
    const std::string_view member = (*found)->text_at(at);
    auto id = parse_member(member, base.id_type());
    if (!id) continue;
    const auto hash = snapshot.find(key_of(list, member));
    if (!hash) return braid::fail(hash.error());
    if (*hash && (*hash)->kind() != record_kind::hash) return braid::fail(store_errc::wrong_type);
    const auto vector = *hash ? (*hash)->field(list.field) : std::nullopt;
    const bool is_there = vector && is_vector(*vector, base.dimensions());
    out.push_back({std::move(*id), std::string(member), is_there ? std::string(*vector) : std::string()});
  }
  return out;
}

auto is_merged(const vector_file& file, const listed_vector& change) -> bool {
  const auto slot = find_slot(file, change.id);
  if (change.vector.empty()) return !slot;
  return slot && file.read_slot(*slot) == change.vector;
}

auto to_changes(std::vector<listed_vector> listed, const vector_file& base) -> vector_changes {
  vector_changes out;
  out.changed.dimensions = base.dimensions();
  for (listed_vector& each : listed) {
    if (each.vector.empty()) {
      out.deleted.push_back(std::move(each.id));
      continue;
    }
    const auto* const number = std::get_if<std::int64_t>(&each.id);
    out.changed.ids.push_back(number != nullptr ? *number : static_cast<std::int64_t>(out.changed.size()));
    if (number == nullptr) out.changed.texts.push_back(std::get<std::string>(std::move(each.id)));
    for (std::size_t at = 0; at < base.dimensions(); ++at) out.changed.numbers.push_back(vector_item(each.vector, at));
  }
  return out;
}

}  // namespace rankd
