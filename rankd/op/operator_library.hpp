// rankd/op/operator_library.hpp: operators that projects bring, in shared objects (rankd/abi/c_operators.h).
#pragma once

#include <rankd/op/operator.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct rankd_operator_library;  // of rankd/abi/c_operators.h

namespace rankd {

/// A library of operators, and the digest of its file when it was loaded.
struct operator_digest {
  std::string library;  ///< the name of its file, without folders
  std::string sha256;

  auto operator==(const operator_digest&) const -> bool = default;
};

/// Bytes of a library at most.
inline constexpr std::size_t largest_library = std::size_t{256} << 20U;

/// Loads libraries, each once for the life of the process: from then on `find_op` and `all_op_shapes` know their
/// operators. A file that was loaded before is only compared with its earlier contents. Threads: any. Blocks: on the
/// disk, and while the library initializes itself. Errors: those of `read_text_file`; bad_library for a file that is
/// not a shared object, has no `rankd_operators` or offers no operator; unsupported_abi; bad_operator for an operator
/// that violates the header; duplicate_operator for a name that is in use; library_changed.
auto load_operators(std::span<const std::filesystem::path> files) -> braid::checked<void>;

/// Reports library_changed for each file that differs from the loaded one, or was not loaded: a process keeps its
/// operators.
/// Blocks: on the disk.
auto changed_operators(std::span<const std::filesystem::path> files) -> braid::diagnostics;

/// Adds the operators of a library. A name or a digest that is already known is accepted if nothing about the operator
/// has changed. Errors: those of `load_operators`, without those of files.
auto add_operators(const rankd_operator_library& offered, operator_digest digest) -> braid::checked<void>;

/// Returns the operators of the libraries of this process, by name. Lifetime: of the process.
auto own_ops() -> std::vector<const op_entry*>;

/// Returns the operators of one loaded file; nothing for any other file.
auto list_own_ops(const std::filesystem::path& file) -> std::vector<const op_entry*>;

/// Returns the library that an operator came from; null for a built-in operator.
auto find_library(std::string_view op) -> const operator_digest*;

}  // namespace rankd
