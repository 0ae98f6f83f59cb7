// braid/base/detail/symbols.hpp: names of functions by their addresses.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::detail {

/// Symbolises code of this process by the tables `.symtab` of the program and its libraries, or `.dynsym` where one is
/// stripped: dladdr knows exported functions only. Reads the table of an object when it is asked for an address there.
/// Threads: one. Blocks: for files. Errors: std::bad_alloc; what cannot be read has no names.
class BRAID_API symbol_table {
 public:
  /// A program or a library, and where it lies in memory.
  struct loaded {
    std::string path;
    std::uint64_t base = 0;   // what is added to the addresses in its file
    std::uint64_t begin = 0;  // of its first segment
    std::uint64_t end = 0;    // of its last one
  };

  /// Of this process.
  symbol_table() = default;
  /// Of another one, or of one that was. Paths that are no files have no names.
  explicit symbol_table(std::vector<loaded> objects) : loaded_(std::move(objects)), is_of_this_process_(false) {}

  /// The name of the function at `address`, demangled, without what says little; else the object and the place in it.
  [[nodiscard]] auto name(std::uint64_t address) -> std::string;

  /// The literal at `address` in the file of an object of another process; empty where there is none.
  [[nodiscard]] auto literal(std::uint64_t address) -> std::string;

  /// What is loaded in this process. Threads: any.
  [[nodiscard]] static auto all_loaded() -> std::vector<loaded>;
  /// How many objects have ever been loaded. Threads: any.
  [[nodiscard]] static auto loads() noexcept -> std::uint64_t;

 private:
  struct function {
    std::uint64_t begin = 0;  // in the object
    std::uint64_t size = 0;
    std::string name;  // mangled
  };
  struct object {
    std::string path;
    std::uint64_t base = 0;
    std::vector<function> functions;  // in order
  };

  [[nodiscard]] auto loaded_at(std::uint64_t address) const -> const loaded*;
  auto object_at(std::uint64_t address) -> const object*;

  std::vector<object> objects_;
  std::vector<loaded> loaded_;  // where it is of another process
  bool is_of_this_process_ = true;
};

/// `void braid::detail::closure_job<F>::act(…)` is `closure_job<F>`, and so on.
[[nodiscard]] BRAID_API auto short_function_name(std::string_view demangled) -> std::string;

}  // namespace braid::detail
