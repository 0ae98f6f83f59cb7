// braid/base/detail/symbols.hpp: names of functions by their addresses.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braid::detail {

/// Symbolises code of this process by the tables `.symtab` of the program and its libraries, or `.dynsym` where one is
/// stripped: dladdr knows exported functions only. Reads the table of an object when it is asked for an address there.
/// Threads: one. Blocks: for files. Errors: std::bad_alloc; what cannot be read has no names.
class BRAID_API symbol_table {
 public:
  /// The name of the function at `address`, demangled, without what says little; else the object and the place in it.
  [[nodiscard]] auto name(std::uint64_t address) -> std::string;

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

  auto object_at(std::uint64_t address) -> const object*;

  std::vector<object> objects_;
};

/// `void braid::detail::closure_job<F>::act(…)` is `closure_job<F>`, and so on.
[[nodiscard]] BRAID_API auto short_function_name(std::string_view demangled) -> std::string;

}  // namespace braid::detail
