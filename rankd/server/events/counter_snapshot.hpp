// rankd/server/events/counter_snapshot.hpp: a snapshot of the values that events have changed, as bytes. The snapshot
// also contains the position in the event log up to which events have been counted.
#pragma once

#include <rankd/server/events/event_log.hpp>
#include <rankd/store/counted_values.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

struct counter_snapshot {
  event_position until;
  /// The values of each endpoint, by the id of the endpoint. An endpoint may have been removed from the project after
  /// the snapshot.
  std::map<std::string, std::vector<std::pair<std::string, counted_value>>> values;

  /// Encodes a snapshot: a magic line, the values as `packed_writer` writes them, and the CRC-32C of everything before
  /// it, lowest byte first.
  /// Threads: no other thread may change the values during the call.
  [[nodiscard]] static auto bytes_of(event_position until, const std::map<std::string, const counted_values*>& values)
      -> std::string;
  /// Parses a snapshot. Returns nothing if the bytes are damaged or not a snapshot.
  [[nodiscard]] static auto parse(std::string_view bytes) -> std::optional<counter_snapshot>;
};

}  // namespace rankd
