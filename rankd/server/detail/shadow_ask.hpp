// rankd/server/detail/shadow_ask.hpp: a request that a candidate is run for as well.
#pragma once

#include <rankd/server/shadow/shadow_board.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace rankd::detail {

/// What a candidate needs of a request, for the time after its answer.
struct shadow_ask {
  std::shared_ptr<shadow_board> board{};
  std::string text;     // the JSON of the request
  std::string head_id;  // as request_origin has it
  std::chrono::milliseconds time{0};
};

}  // namespace rankd::detail
