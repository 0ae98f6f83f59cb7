// braid/base/detail/symbols.hpp: finds the names of functions by their addresses.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::detail {

/// A table that finds the names of the functions at given addresses of a process. It reads the `.symtab` tables of the
/// program and its libraries, or `.dynsym` if a file is stripped. dladdr would only find exported functions. The table
/// of a file is read when an address inside that file is first looked up.
/// Threads: one. Blocks: while it reads files. Errors: std::bad_alloc; an address in a file that cannot be read has no
/// name.
class BRAID_API symbol_table {
 public:
  /// A program or a library, and its addresses in memory.
  struct loaded {
    std::string path;
    std::uint64_t base = 0;   // the number that is added to the addresses in its file
    std::uint64_t begin = 0;  // the start of its first segment
    std::uint64_t end = 0;    // the end of its last segment
  };

  /// Constructs a table for the addresses of this process.
  symbol_table() = default;
  /// Constructs a table for the addresses of another process, which may have ended. Addresses in an object whose path
  /// is not a file, such as `[vdso]`, have no names.
  explicit symbol_table(std::vector<loaded> objects) : loaded_(std::move(objects)), is_of_this_process_(false) {}

  /// Returns the demangled name of the function at `address`, without uninformative parts. If the function is unknown,
  /// returns the file and the offset of the address in that file.
  [[nodiscard]] auto name(std::uint64_t address) -> std::string;

  /// Returns the string literal at `address` in a file of another process, or an empty string if there is no literal.
  [[nodiscard]] auto literal(std::uint64_t address) -> std::string;

  /// Returns the program and the libraries that are loaded in this process.
  /// Threads: any.
  [[nodiscard]] static auto all_loaded() -> std::vector<loaded>;
  /// Returns the number of programs and libraries that have ever been loaded in this process.
  /// Threads: any.
  [[nodiscard]] static auto loads() noexcept -> std::uint64_t;

 private:
  struct function {
    std::uint64_t begin = 0;  // the offset in the object
    std::uint64_t size = 0;
    std::string name;  // the mangled name
  };
  struct object {
    std::string path;
    std::uint64_t base = 0;
    std::vector<function> functions;  // sorted by their start
  };

  [[nodiscard]] auto loaded_at(std::uint64_t address) const -> const loaded*;
  auto object_at(std::uint64_t address) -> const object*;

  std::vector<object> objects_;
  std::vector<loaded> loaded_;  // empty for this process
  bool is_of_this_process_ = true;
};

/// Shortens the name of a function, for example `void braid::detail::closure_job<F>::act(…)` to `closure_job<F>`.
[[nodiscard]] BRAID_API auto short_function_name(std::string_view demangled) -> std::string;

}  // namespace braid::detail
