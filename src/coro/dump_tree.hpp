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
  struct known_function {
    std::string name;
    bool is_of_the_library = false;  // true if the library inserts it between coroutines of the program
  };

  auto function_at(const void* code) -> const known_function&;
  auto find_place(const await_place& place) -> const std::string&;
  auto shown(const seen_home& seen, const seen_task& task, unsigned depth) -> task_dump::entry;

  symbol_table symbols_;
  std::unordered_map<const void*, known_function> functions_;
  std::unordered_map<const char*, std::unordered_map<unsigned, std::string>> places_;  // by file and line
};

}  // namespace braid::detail
