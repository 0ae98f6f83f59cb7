// src/coro/dump_tree.hpp: from what a home has seen to a list of its tasks, each before those that belong to it.
#pragma once

#include <braid/coro/detail/task_walk.hpp>
#include <braid/coro/dump.hpp>
#include <braid/base/detail/symbols.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace braid::detail {

/// Threads: one. Remembers names of functions from home to home. Blocks: for files. Errors: std::bad_alloc.
class dump_tree {
 public:
  [[nodiscard]] auto of(const seen_home& seen) -> std::vector<task_dump::entry>;

 private:
  auto name_of(const void* function) -> const std::string&;
  auto shown(const seen_home& seen, const seen_task& task, unsigned depth) -> task_dump::entry;

  symbol_table symbols_;
  std::unordered_map<const void*, std::string> names_;
};

}  // namespace braid::detail
