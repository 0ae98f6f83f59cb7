// braid/net/detail/redis_same_reads.hpp: finds identical reads in one loop iteration, by a hash table of their encoded
// bytes.
#pragma once

#include <braid/net/detail/redis_window.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace braid::detail {

/// A hash table that maps an encoded command to its entry in the window of requests in flight (redis_window.hpp). The
/// table contains at most as many commands as the window has entries.
/// Threads: the loop's thread. Lifetime: `clear` must be called before the encoded bytes move.
class redis_same_reads {
 public:
  /// Creates a table for `max_count` commands. If `max_count` is 0, `find` always returns null. Errors: std::bad_alloc.
  explicit redis_same_reads(std::uint32_t max_count)
      : places_(max_count == 0 ? 0 : std::bit_ceil(std::size_t{max_count} * 2)) {}

  [[nodiscard]] auto is_used() const noexcept -> bool { return !places_.empty(); }

  /// Removes all commands.
  void clear() noexcept { ++iteration_; }

  /// Returns the entry of a previously added command with the same bytes, or null. `command` is a part of `buffer`; the
  /// added commands are earlier parts of the same buffer.
  [[nodiscard]] auto find(std::string_view buffer, std::string_view command) noexcept -> redis_window::entry* {
    std::size_t at = hash_(command) & (places_.size() - 1);
    for (; places_[at].iteration == iteration_; at = (at + 1) & (places_.size() - 1))
      if (buffer.substr(places_[at].offset, places_[at].size) == command) return places_[at].entry;
    free_ = at;
    return nullptr;
  }

  /// Adds the command that the last `find` did not find.
  void add(std::size_t offset, std::size_t size, redis_window::entry& entry) noexcept {
    places_[free_] = {.iteration = iteration_, .offset = offset, .size = size, .entry = &entry};
  }

 private:
  struct place {
    std::uint64_t iteration = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
    redis_window::entry* entry = nullptr;
  };

  std::vector<place> places_;
  std::uint64_t iteration_ = 1;
  std::size_t free_ = 0;
  [[no_unique_address]] std::hash<std::string_view> hash_;
};

}  // namespace braid::detail
