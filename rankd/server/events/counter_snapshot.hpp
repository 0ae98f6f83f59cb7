// rankd/server/events/counter_snapshot.hpp: counters as bytes, with how far in the log of events they count.
#pragma once

#include <rankd/server/events/event_log.hpp>
#include <rankd/store/counted_hashes.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

struct counter_snapshot {
  event_position until;
  /// By the id of their endpoint, which may be one that is no longer there.
  std::map<std::string, std::vector<std::pair<std::string, counted_hash>>> hashes;

  /// A magic line, numbers and texts of `packed_writer`, and the CRC-32C of all of it, the lowest byte first.
  /// Threads: none may change the hashes meanwhile.
  [[nodiscard]] static auto bytes_of(event_position until, const std::map<std::string, const counted_hashes*>& of)
      -> std::string;
  /// Nothing for bytes that are no snapshot, or damaged.
  [[nodiscard]] static auto parse(std::string_view bytes) -> std::optional<counter_snapshot>;
};

}  // namespace rankd
