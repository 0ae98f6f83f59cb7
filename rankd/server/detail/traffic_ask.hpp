// rankd/server/detail/traffic_ask.hpp: the state of a request whose traffic is recorded.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/store/read_recorder.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rankd::detail {

/// Copies of the parts of a request that recorded traffic needs. They are made before the request runs.
struct recorded_ask {
  std::string text;     // the JSON of the request; the part that may be shown if it is redacted
  std::string head_id;  // as in request_origin
  std::string request_id;
  std::chrono::milliseconds time{0};
  std::vector<std::string> redacted;     // names; values that depend on them are not recorded
  std::shared_ptr<read_recorder> reads;  // null if it is redacted
  request_stores behind;                 // the stores that answer these reads
};

}  // namespace rankd::detail
