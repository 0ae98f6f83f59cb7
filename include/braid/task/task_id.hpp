// braid/task/task_id.hpp: the number and the name of spawned work, and the options of a spawn.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace braid {

/// Number of a spawned task: different for each, for as long as the process lives. 0 is none.
struct task_id {
  std::uint64_t number = 0;
  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// What a spawned task is known by.
struct task_info {
  task_id id;
  std::string name;
};

/// How work is to be spawned.
struct spawn_options {
  std::string name = {};  ///< given by `future::name` and `this_task`
};

}  // namespace braid
