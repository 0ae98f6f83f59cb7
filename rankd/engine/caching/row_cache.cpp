// rankd/engine/caching/row_cache.cpp: implements a cache as a list in the order of use, and a hash table from keys to
// list items.
#include <rankd/engine/caching/row_cache.hpp>

#include <chrono>
#include <iterator>
#include <utility>

namespace rankd {
namespace {

/// The approximate size in bytes of a list node, a hash table slot and the `kept_rows` object.
constexpr std::size_t fixed_bytes = 256;

constexpr auto time_between_attempts = std::chrono::seconds(1);

}  // namespace

void cache_counts::add(const cache_counts& other) noexcept {
  hits += other.hits;
  stale += other.stale;
  misses += other.misses;
  shared += other.shared;
  evicted += other.evicted;
  refused += other.refused;
  bytes += other.bytes;
  entries += other.entries;
}

auto row_cache::find(std::string_view key, braid::duration max_age) -> std::shared_ptr<const kept_rows> {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const entry_list::iterator at = found->second;
  if (now() - at->rows->made >= max_age) {
    drop(at);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, at);
  return at->rows;
}

auto row_cache::keep(std::string_view key, std::shared_ptr<const kept_rows> rows) -> bool {
  if (const auto known = by_key_.find(key); known != by_key_.end()) drop(known->second);
  const std::size_t bytes = rows->memory.reserved() + key.size() + fixed_bytes;
  if (bytes > options_.bytes || options_.entries == 0) return false;
  while (!entries_.empty() &&
         (entries_.size() >= options_.entries || bytes_.load(braid::relaxed) + bytes > options_.bytes)) {
    drop(std::prev(entries_.end()));
    evicted_.fetch_add(1, braid::relaxed);
  }
  entry_list made;  // spliced into the list when nothing can fail any more
  made.push_front({.key = std::string(key), .rows = std::move(rows), .bytes = bytes});
  by_key_.emplace(made.front().key, made.begin());
  entries_.splice(entries_.begin(), made);
  bytes_.fetch_add(bytes, braid::relaxed);
  count_.store(entries_.size(), braid::relaxed);
  return true;
}

void row_cache::note_failure(std::string_view key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) found->second->failed = now();
}

auto row_cache::has_failed_lately(std::string_view key) const -> bool {
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || !found->second->failed) return false;
  return now() - *found->second->failed < time_between_attempts;
}

void row_cache::drop(entry_list::iterator entry) {
  bytes_.fetch_sub(entry->bytes, braid::relaxed);
  by_key_.erase(entry->key);
  entries_.erase(entry);
  count_.store(entries_.size(), braid::relaxed);
}

auto row_cache::counts() const noexcept -> cache_counts {
  return {.hits = hits_.load(braid::relaxed),
          .stale = stale_.load(braid::relaxed),
          .misses = misses_.load(braid::relaxed),
          .shared = shared_.load(braid::relaxed),
          .evicted = evicted_.load(braid::relaxed),
          .refused = refused_.load(braid::relaxed),
          .bytes = bytes_.load(braid::relaxed),
          .entries = count_.load(braid::relaxed)};
}

}  // namespace rankd
