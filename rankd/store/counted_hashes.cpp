// rankd/store/counted_hashes.cpp: the shards of the hashes, and the count of the memory that they use.
#include <rankd/store/counted_hashes.hpp>

#include <algorithm>

namespace rankd {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t hash_overhead = 128;  // a node of the map, its bucket and its parts
constexpr std::size_t field_overhead = 64;  // two strings

auto bytes_of(const std::string& key, const counted_hash& hash) -> std::size_t {
  std::size_t out = hash_overhead + key.size();
  for (const auto& [name, value] : hash.fields) out += field_overhead + name.size() + value.size();
  return out;
}

auto has_ended(const counted_hash& hash, milliseconds now) -> bool {
  return hash.ends != milliseconds(0) && hash.ends <= now;
}

auto system_now() -> milliseconds {
  return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

auto name_of(const std::pair<std::string, std::string>& field) -> std::string_view { return field.first; }

}  // namespace

auto counted_hash::find(std::string_view name) const noexcept -> const std::string* {
  const auto at = std::ranges::lower_bound(fields, name, {}, name_of);
  return at == fields.end() || at->first != name ? nullptr : &at->second;
}

void counted_hash::set(std::string_view name, std::string value) {
  const auto at = std::ranges::lower_bound(fields, name, {}, name_of);
  if (at != fields.end() && at->first == name) {
    at->second = std::move(value);
    return;
  }
  const auto place = at - fields.begin();
  // Grows by one field at a time. There are many hashes with few fields, so that doubling the capacity would waste most
  // of the memory.
  if (fields.size() == fields.capacity()) fields.reserve(fields.size() + 1);
  fields.emplace(fields.begin() + place, std::string(name), std::move(value));
}

counted_hashes::counted_hashes(std::size_t max_bytes, clock now)
    : max_bytes_(max_bytes), now_(now ? std::move(now) : clock(system_now)) {}

auto counted_hashes::find_shard(const std::string& key) const noexcept -> const shard& {
  return shards_[(std::hash<std::string>()(key) >> 48U) % shard_count];  // maps take the low bits
}

auto counted_hashes::find_shard(const std::string& key) noexcept -> shard& {
  return shards_[(std::hash<std::string>()(key) >> 48U) % shard_count];
}

void counted_hashes::count(std::size_t hashes_before, std::size_t hashes, std::size_t bytes_before,
                           std::size_t bytes) noexcept {
  size_.store(size_.load(braid::relaxed) - hashes_before + hashes, braid::relaxed);
  bytes_.store(bytes_.load(braid::relaxed) - bytes_before + bytes, braid::relaxed);
}

auto counted_hashes::update(const std::string& key, milliseconds now, const std::function<bool(counted_hash&)>& change)
    -> outcome {
  shard& in = find_shard(key);
  const std::scoped_lock lock(in.mutex);
  const auto found = in.hashes.find(key);
  const bool is_there = found != in.hashes.end();
  if (is_there && !has_ended(found->second, now)) {
    const std::size_t before = bytes_of(key, found->second);
    if (!change(found->second)) return outcome::refused;
    count(1, 1, before, bytes_of(key, found->second));
    return outcome::done;
  }
  counted_hash made;
  if (!change(made)) return outcome::refused;
  const std::size_t before = is_there ? bytes_of(key, found->second) : 0;
  const std::size_t after = bytes_of(key, made);
  if (bytes() - before + after > max_bytes_) return outcome::full;
  in.hashes.insert_or_assign(key, std::move(made));
  count(is_there ? 1 : 0, 1, before, after);
  return outcome::done;
}

void counted_hashes::insert(std::string key, counted_hash hash) {
  shard& in = find_shard(key);
  const std::scoped_lock lock(in.mutex);
  const std::size_t after = bytes_of(key, hash);
  if (in.hashes.try_emplace(std::move(key), std::move(hash)).second) count(0, 1, 0, after);
}

void counted_hashes::sweep(milliseconds until) {
  for (shard& in : shards_) {
    const std::scoped_lock lock(in.mutex);
    std::erase_if(in.hashes, [&](const auto& each) {
      if (!has_ended(each.second, until)) return false;
      count(1, 0, bytes_of(each.first, each.second), 0);
      return true;
    });
  }
}

auto counted_hashes::find(const shard& shard, const std::string& key) const -> const counted_hash* {
  const auto found = shard.hashes.find(key);
  return found == shard.hashes.end() || has_ended(found->second, now_()) ? nullptr : &found->second;
}

auto counted_hashes::field(const std::string& key, std::string_view name, braid::arena& arena) const
    -> std::optional<std::string_view> {
  const shard& in = find_shard(key);
  const std::scoped_lock lock(in.mutex);
  const counted_hash* hash = find(in, key);
  const std::string* value = hash == nullptr ? nullptr : hash->find(name);
  if (value == nullptr) return std::nullopt;
  return arena.copied(std::string_view(*value));
}

auto counted_hashes::fields(const std::string& key, braid::arena& arena) const -> std::span<const hash_field> {
  const shard& in = find_shard(key);
  const std::scoped_lock lock(in.mutex);
  const counted_hash* hash = find(in, key);
  if (hash == nullptr) return {};
  const auto out = arena.uninitialized<hash_field>(hash->fields.size());
  for (std::size_t at = 0; at < out.size(); ++at) {
    const auto& [name, value] = hash->fields[at];
    out[at] = {arena.copied(std::string_view(name)), arena.copied(std::string_view(value))};
  }
  return out;
}

void counted_hashes::for_each(const std::function<void(const std::string&, const counted_hash&)>& see) const {
  for (const shard& in : shards_)
    for (const auto& [key, hash] : in.hashes) see(key, hash);
}

}  // namespace rankd
