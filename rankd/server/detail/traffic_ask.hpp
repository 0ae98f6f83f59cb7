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
  std::string text;     // the JSON of the request, or the part that may be shown if the request is redacted
  std::string head_id;  // the same as in request_origin
  std::string request_id;
  std::chrono::milliseconds time{0};
  std::vector<std::string> redacted;     // names of redacted values; data that depends on these values is not recorded
  std::shared_ptr<read_recorder> reads;  // null if the request is redacted
  request_stores behind;                 // the stores that answer these reads
};

}  // namespace rankd::detail
