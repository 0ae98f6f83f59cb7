// rankd/server/detail/shadow_ask.hpp: the data that a candidate plan needs to run a served request again.
#pragma once

#include <rankd/server/shadow/shadow_board.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace rankd::detail {

/// The parts of a request that a candidate plan needs after the request was answered.
struct shadow_ask {
  std::shared_ptr<shadow_board> board{};
  std::string text;     // the JSON of the request
  std::string head_id;  // the same as in request_origin
  std::chrono::milliseconds time{0};
};

}  // namespace rankd::detail
