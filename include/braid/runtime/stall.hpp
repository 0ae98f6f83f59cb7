// braid/runtime/stall.hpp: the report of the stall watchdog: a loop or a worker that does not come back.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace braid {

/// A loop that did not end an iteration's job, or a worker that did not end a job, within the limit.
struct stall {
  enum class place : std::uint8_t { loop, worker };

  place where = place::loop;
  std::string thread;                  ///< its name
  duration at_least = {};              ///< how long that was when it was noticed
  std::vector<std::string> functions;  ///< that run there, the innermost first; none where the thread gave no answer
};

}  // namespace braid
