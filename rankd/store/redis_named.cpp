// rankd/store/redis_named.cpp: builds commands for reads of given keys, and reads the replies to these commands in
// RESP2 and RESP3.
#include <rankd/store/detail/redis_named.hpp>

#include <rankd/registry/json_text.hpp>
#include <rankd/store/id_batch.hpp>
#include <rankd/store/detail/ids.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/net/redis_cluster.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

using braid::resp_type;
using braid::resp_value;
using words = std::vector<std::string_view>;

auto score_text(double bound) -> std::string {
  if (std::isinf(bound)) return bound < 0 ? "-inf" : "+inf";
  std::string out;
  append_json_number(out, bound);
  return out;
}

/// Returns the arguments after the key in a command for a list or a sorted set.
auto rest_of_range(const named_read& read) -> std::vector<std::string> {
  const std::uint64_t last = std::uint64_t{read.offset} + read.count - 1;
  std::vector<std::string> rest{std::to_string(read.offset), std::to_string(last)};
  if (read.kind == read_kind::list) return rest;
  const bool is_descending = read.order == score_order::descending;
  if (read.range) {
    rest = {score_text(read.range->min), score_text(read.range->max)};
    if (is_descending) std::swap(rest[0], rest[1]);
    rest.emplace_back("BYSCORE");
  }
  if (is_descending) rest.emplace_back("REV");
  if (read.range) rest.insert(rest.end(), {"LIMIT", std::to_string(read.offset), std::to_string(read.count)});
  rest.emplace_back("WITHSCORES");
  return rest;
}

auto command_name(read_kind kind) -> std::string_view {
  switch (kind) {
    case read_kind::list: return "LRANGE";
    case read_kind::sorted_set: return "ZRANGE";
    case read_kind::set: return "SMEMBERS";
    case read_kind::fields: return "HMGET";
    case read_kind::members: return "SMISMEMBER";
    case read_kind::strings: return "MGET";
    case read_kind::scores: break;
  }
  return "ZMSCORE";
}

auto asks_about_members(read_kind kind) -> bool { return kind == read_kind::members || kind == read_kind::scores; }

/// Returns the number of commands for a key.
auto commands_for(const named_read& read, std::size_t key) -> std::size_t {
  if (!asks_about_members(read.kind)) return 1;
  return (read.members[key].size() + max_members_asked - 1) / max_members_asked;
}

void add_members(braid::redis_batch& batch, const named_read& read, std::size_t key) {
  auto left = read.members[key];
  while (!left.empty()) {
    const auto asked = left.first(std::min(left.size(), max_members_asked));
    left = left.subspan(asked.size());
    words command{command_name(read.kind), read.keys[key]};
    command.insert(command.end(), asked.begin(), asked.end());
    batch.add_words(command);
  }
}

using key_positions = std::vector<std::uint32_t>;

/// Divides the keys of a read of strings into groups, each of which is read by one command. A group contains
/// consecutive keys or, in a cluster, keys of one slot.
auto find_groups(const named_read& read, key_spread spread) -> std::vector<key_positions> {
  key_positions order(read.keys.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::vector<std::uint16_t> slots(order.size(), 0);
  if (spread == key_spread::by_slot) {
    std::ranges::transform(read.keys, slots.begin(), braid::detail::find_redis_slot);
    std::ranges::sort(order, {}, [&](std::uint32_t index) { return std::pair(slots[index], index); });
  }
  std::vector<key_positions> out;
  for (const std::uint32_t at : order) {
    const bool goes_on = !out.empty() && out.back().size() < max_keys_asked && slots[out.back().front()] == slots[at];
    if (!goes_on) out.emplace_back();
    out.back().push_back(at);
  }
  return out;
}

/// Reads a score in the format of RESP3 or RESP2.
auto parse_score(const resp_value& value) -> std::optional<double> {
  if (value.type() == resp_type::real) return value.real();
  if (value.type() != resp_type::bulk_string) return std::nullopt;
  return braid::detail::number_in<double>(value.text());
}

/// A member of a sorted set in a reply.
struct scored_value {
  const resp_value* member;
  const resp_value* score;
};

/// Reads the replies for one key after another.
class reply_reader {
 public:
  reply_reader(const named_read& read, std::span<const resp_value> replies, braid::arena& arena)
      : read_(&read), replies_(replies), arena_(&arena) {}

  auto read() -> std::optional<item_batch> {
    const auto out = arena_->filled(read_->keys.size(), std::span<const stored_item>());
    const auto malformed_of = arena_->uninitialized<std::uint32_t>(out.size());
    for (std::size_t key = 0; key < out.size(); ++key) {
      const std::uint64_t before = malformed_;
      const auto items = read_key(key);
      if (!items) return std::nullopt;
      out[key] = *items;
      malformed_of[key] = static_cast<std::uint32_t>(malformed_ - before);
    }
    return item_batch{out, malformed_, malformed_of};
  }

 private:
  using found_items = std::optional<std::span<const stored_item>>;

  auto read_key(std::size_t key) -> found_items {
    const auto own = replies_.first(commands_for(*read_, key));
    replies_ = replies_.subspan(own.size());
    for (const resp_value& each : own)
      if (!each.has_items()) return std::nullopt;
    if (asks_about_members(read_->kind)) return find_known(own, read_->members[key].size());
    const auto items = own.front().items();
    switch (read_->kind) {
      case read_kind::fields: return list_fields(items);
      case read_kind::sorted_set: return parse_scored(items);
      default: return list_ids(items);
    }
  }

  auto list_ids(std::span<const resp_value> items) -> found_items {
    const bool is_list = read_->kind == read_kind::list;
    if (is_list && items.size() > read_->count) return std::nullopt;
    const std::span<stored_item> out = arena_->uninitialized<stored_item>(items.size());
    std::size_t used = 0;
    for (const resp_value& each : items) {
      if (each.type() != resp_type::bulk_string) return std::nullopt;
      if (const auto item = parse_item(each.text(), read_->ids)) out[used++] = *item;
    }
    malformed_ += items.size() - used;
    if (is_list) return out.first(used);
    return first_by_id(out.first(used), *read_);
  }

  auto parse_scored(std::span<const resp_value> items) -> found_items {
    const auto pairs = list_pairs(items);
    if (!pairs || pairs->size() > read_->count) return std::nullopt;
    const std::span<stored_item> out = arena_->uninitialized<stored_item>(pairs->size());
    std::size_t used = 0;
    for (const scored_value& each : *pairs) {
      const auto score = parse_score(*each.score);
      if (!score || each.member->type() != resp_type::bulk_string) return std::nullopt;
      if (const auto item = parse_item(each.member->text(), read_->ids)) {
        out[used] = *item;
        out[used++].score = *score;
      }
    }
    malformed_ += pairs->size() - used;
    return out.first(used);
  }

  /// Returns the members of a sorted set with their scores. A RESP3 reply contains pairs; a RESP2 reply contains
  /// members and scores alternately.
  [[nodiscard]] auto list_pairs(std::span<const resp_value> items) const
      -> std::optional<std::span<const scored_value>> {
    const bool are_pairs = !items.empty() && items.front().has_items();
    if (!are_pairs && items.size() % 2 != 0) return std::nullopt;
    const std::span<scored_value> out =
        arena_->uninitialized<scored_value>(are_pairs ? items.size() : items.size() / 2);
    for (std::size_t at = 0; at < out.size(); ++at) {
      if (are_pairs && (!items[at].has_items() || items[at].items().size() != 2)) return std::nullopt;
      const auto pair = are_pairs ? items[at].items() : items.subspan(2 * at, 2);
      out[at] = {.member = &pair[0], .score = &pair[1]};
    }
    return out;
  }

  [[nodiscard]] auto list_fields(std::span<const resp_value> items) const -> found_items {
    if (items.size() != read_->fields.size()) return std::nullopt;
    const std::span<stored_item> out = arena_->filled(items.size(), stored_item());
    for (std::size_t at = 0; at < out.size(); ++at) {
      if (items[at].is_null()) continue;
      if (items[at].type() != resp_type::bulk_string) return std::nullopt;
      out[at] = {.is_there = true, .text = items[at].text()};
    }
    return out;
  }

  [[nodiscard]] auto find_known(std::span<const resp_value> own, std::size_t count) const -> found_items {
    const std::span<stored_item> out = arena_->filled(count, stored_item());
    std::size_t at = 0;
    for (const resp_value& reply : own) {
      if (reply.items().size() != std::min(count - at, max_members_asked)) return std::nullopt;
      for (const resp_value& each : reply.items()) {
        if (!read_known(each, out[at])) return std::nullopt;
        ++at;
      }
    }
    return out;
  }

  [[nodiscard]] auto read_known(const resp_value& each, stored_item& into) const -> bool {
    if (read_->kind == read_kind::members) {
      if (each.type() != resp_type::integer) return false;
      into.is_there = each.integer() != 0;
      return true;
    }
    if (each.is_null()) return true;
    const auto score = parse_score(each);
    if (score) into = {.is_there = true, .score = *score, .text = {}};
    return score.has_value();
  }

  const named_read* read_;
  std::span<const resp_value> replies_;
  braid::arena* arena_;
  std::uint64_t malformed_ = 0;
};

/// Returns one item for each key, from the replies to the commands of the groups.
auto find_strings(const named_read& read, std::span<const resp_value> replies, braid::arena& arena,
                  const std::vector<key_positions>& groups) -> std::optional<item_batch> {
  const std::span<stored_item> items = arena.filled(read.keys.size(), stored_item());
  const auto out = arena.filled(read.keys.size(), std::span<const stored_item>());
  for (std::size_t at = 0; at < out.size(); ++at) out[at] = items.subspan(at, 1);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const resp_value& reply = replies[group];
    if (!reply.has_items() || reply.items().size() != groups[group].size()) return std::nullopt;
    for (std::size_t at = 0; at < groups[group].size(); ++at) {
      const resp_value& each = reply.items()[at];
      if (each.is_null()) continue;
      if (each.type() != resp_type::bulk_string) return std::nullopt;
      items[groups[group][at]] = {.is_there = true, .text = each.text()};
    }
  }
  return item_batch{out, 0};
}

}  // namespace

auto make_commands(const named_read& read, key_spread spread) -> braid::redis_batch {
  braid::redis_batch batch(braid::redis_replies::texts);
  if (read.kind == read_kind::strings) {
    for (const key_positions& group : find_groups(read, spread)) {
      words command{command_name(read.kind)};
      for (const std::uint32_t at : group) command.push_back(read.keys[at]);
      batch.add_words(command);
    }
    return batch;
  }
  std::vector<std::string> range;
  if (read.kind == read_kind::list || read.kind == read_kind::sorted_set) range = rest_of_range(read);
  words rest(range.begin(), range.end());
  if (read.kind == read_kind::fields) rest.assign(read.fields.begin(), read.fields.end());
  for (std::size_t key = 0; key < read.keys.size(); ++key) {
    if (asks_about_members(read.kind)) {
      add_members(batch, read, key);
      continue;
    }
    words command{command_name(read.kind), read.keys[key]};
    command.insert(command.end(), rest.begin(), rest.end());
    batch.add_words(command);
  }
  return batch;
}

auto make_answer(const named_read& read, std::span<const resp_value> replies, braid::arena& arena, key_spread spread)
    -> std::optional<item_batch> {
  if (read.kind == read_kind::strings) return find_strings(read, replies, arena, find_groups(read, spread));
  return reply_reader(read, replies, arena).read();
}

}  // namespace rankd::detail
