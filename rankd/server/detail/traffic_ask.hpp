// rankd/server/detail/traffic_ask.hpp: a request that is recorded, until it has ended.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/store/read_recorder.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rankd::detail {

/// What recorded traffic needs of a request before it runs.
struct recorded_ask {
  std::string text;     // the JSON of the request; of a redacted one, what may be shown
  std::string head_id;  // as request_origin has it
  std::string request_id;
  std::chrono::milliseconds time{0};
  std::vector<std::string> redacted;     // names; what depends on them is not recorded
  std::shared_ptr<read_recorder> reads;  // null for a redacted one
  request_stores behind;                 // the stores that answer these reads
};

}  // namespace rankd::detail
