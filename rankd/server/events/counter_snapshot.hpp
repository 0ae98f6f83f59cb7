// rankd/server/events/counter_snapshot.hpp: the values that events have made, as bytes, and the position in the event
// log up to which they were made.
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
  /// The values of each endpoint, by the id of the endpoint. The endpoint may have been removed since.
  std::map<std::string, std::vector<std::pair<std::string, counted_value>>> values;

  /// Returns a magic line, numbers and texts of `packed_writer`, and the CRC-32C of all of these, lowest byte first.
  /// Threads: no other thread may change the values during the call.
  [[nodiscard]] static auto bytes_of(event_position until, const std::map<std::string, const counted_values*>& of)
      -> std::string;
  /// Parses a snapshot; returns nothing if the bytes are damaged or not a snapshot.
  [[nodiscard]] static auto parse(std::string_view bytes) -> std::optional<counter_snapshot>;
};

}  // namespace rankd
