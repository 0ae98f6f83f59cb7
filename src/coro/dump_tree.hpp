// src/coro/dump_tree.hpp: converts a home executor's data to a list of tasks; each task precedes the tasks below it.
#pragma once

#include <braid/coro/detail/task_walk.hpp>
#include <braid/coro/dump.hpp>
#include <braid/base/detail/symbols.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace braid::detail {

/// A builder of task trees. It keeps the function names that it has looked up, so that they need not be read again for
/// the next home executor.
/// Threads: one at a time. Blocks: while it reads files. Errors: std::bad_alloc.
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
