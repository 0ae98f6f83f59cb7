// rankd/server/events/counter_snapshot.hpp: a snapshot of the counters as bytes, with the position in the log of events
// up to which it counts.
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
  /// The counters of each endpoint, by its id. The endpoint may have been removed since.
  std::map<std::string, std::vector<std::pair<std::string, counted_hash>>> hashes;

  /// Returns a snapshot as bytes: a magic line, numbers and texts of `packed_writer`, and the CRC-32C of all these
  /// bytes, the lowest byte first.
  /// Threads: no other thread may change the hashes during the call.
  [[nodiscard]] static auto bytes_of(event_position until, const std::map<std::string, const counted_hashes*>& of)
      -> std::string;
  /// Parses a snapshot; returns nothing if the bytes are damaged or not a snapshot.
  [[nodiscard]] static auto parse(std::string_view bytes) -> std::optional<counter_snapshot>;
};

}  // namespace rankd
