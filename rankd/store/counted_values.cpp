// rankd/store/counted_values.cpp: implements the shards of values, and counts the memory that they use.
#include <rankd/store/counted_values.hpp>

#include <algorithm>

namespace rankd {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t value_overhead = 160;  // a node of the map, its bucket and its parts
/// More bytes than one step of an event rule can add to a value.
constexpr std::size_t spare_bytes = 4'096;

auto bytes_of(const std::string& key, const counted_value& value) -> std::size_t {
  return value_overhead + key.size() + value.bytes();
}

auto has_ended(const counted_value& value, milliseconds now) -> bool {
  return value.ends != milliseconds(0) && value.ends <= now;
}

auto system_now() -> milliseconds {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

counted_values::counted_values(std::size_t max_bytes, clock now)
    : max_bytes_(max_bytes), now_(now ? std::move(now) : clock(system_now)) {}

auto counted_values::find_shard(const std::string& key) const noexcept -> const shard& {
  return shards_[(std::hash<std::string>()(key) >> 48U) % shard_count];  // maps take the low bits
}

auto counted_values::find_shard(const std::string& key) noexcept -> shard& {
  return shards_[(std::hash<std::string>()(key) >> 48U) % shard_count];
}

void counted_values::count(std::size_t values_before, std::size_t values, std::size_t bytes_before,
                           std::size_t bytes) noexcept {
  size_.store(size_.load(braid::relaxed) - values_before + values, braid::relaxed);
  bytes_.store(bytes_.load(braid::relaxed) - bytes_before + bytes, braid::relaxed);
}

auto counted_values::change_value(shard& shard, const std::string& key, counted_value& value,
                                  const std::function<bool(counted_value&)>& change) -> outcome {
  const std::size_t before = bytes_of(key, value);
  const bool may_overflow = value.kind() != record_kind::hash && bytes() + spare_bytes > max_bytes_;
  if (may_overflow) {
    counted_value copy = value;
    if (!change(copy)) return outcome::refused;
    const std::size_t after = bytes_of(key, copy);
    if (after > before && bytes() - before + after > max_bytes_) return outcome::full;
    value = std::move(copy);
  } else if (!change(value)) {
    return outcome::refused;
  }
  if (value.count() != 0) {
    count(1, 1, before, bytes_of(key, value));
    return outcome::done;
  }
  count(1, 0, before, 0);
  shard.values.erase(key);
  return outcome::done;
}

auto counted_values::update(const std::string& key, milliseconds now, const std::function<bool(counted_value&)>& change)
    -> outcome {
  shard& in = find_shard(key);
  const std::scoped_lock lock(in.mutex);
  const auto found = in.values.find(key);
  const bool is_there = found != in.values.end();
  if (is_there && !has_ended(found->second, now)) return change_value(in, key, found->second, change);
  counted_value made;
  if (!change(made)) return outcome::refused;
  if (made.count() == 0) return outcome::done;
  const std::size_t before = is_there ? bytes_of(key, found->second) : 0;
  const std::size_t after = bytes_of(key, made);
  if (bytes() - before + after > max_bytes_) return outcome::full;
  in.values.insert_or_assign(key, std::move(made));
  count(is_there ? 1 : 0, 1, before, after);
  return outcome::done;
}

void counted_values::insert(std::string key, counted_value value) {
  shard& in = find_shard(key);
  const std::scoped_lock lock(in.mutex);
  const std::size_t after = bytes_of(key, value);
  if (in.values.try_emplace(std::move(key), std::move(value)).second) count(0, 1, 0, after);
}

void counted_values::sweep(milliseconds until) {
  for (shard& in : shards_) {
    const std::scoped_lock lock(in.mutex);
    std::erase_if(in.values, [&](const auto& each) {
      if (!has_ended(each.second, until)) return false;
      count(1, 0, bytes_of(each.first, each.second), 0);
      return true;
    });
  }
}

auto counted_values::find(const shard& shard, const std::string& key) const -> const counted_value* {
  const auto found = shard.values.find(key);
  return found == shard.values.end() || has_ended(found->second, now_()) ? nullptr : &found->second;
}

auto counted_values::field(const std::string& key, std::string_view name, braid::arena& arena) const
    -> std::optional<std::string_view> {
  std::optional<std::string_view> out;
  read(key, [&](const counted_value& value) {
    if (value.kind() != record_kind::hash) return;
    if (const auto text = value.field(name)) out = arena.copied(*text);
  });
  return out;
}

auto counted_values::fields(const std::string& key, braid::arena& arena) const
    -> std::optional<std::span<const hash_field>> {
  std::optional<std::span<const hash_field>> out(std::in_place);
  read(key, [&](const counted_value& value) {
    const auto* hash = std::get_if<counted_hash>(&value.data);
    if (hash == nullptr) return out.reset();
    const auto copied = arena.uninitialized<hash_field>(hash->fields.size());
    for (std::size_t at = 0; at < copied.size(); ++at) {
      const auto& [name, text] = hash->fields[at];
      copied[at] = {arena.copied(std::string_view(name)), arena.copied(std::string_view(text))};
    }
    out = copied;
  });
  return out;
}

void counted_values::for_each(const std::function<void(const std::string&, const counted_value&)>& see) const {
  for (const shard& in : shards_)
    for (const auto& [key, value] : in.values) see(key, value);
}

}  // namespace rankd
