// rankd/op/operator_library.hpp: projects' own operators, loaded from shared objects (rankd/abi/c_operators.h).
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

/// A library of operators, and the digest of its file at the time of loading.
struct operator_digest {
  std::string library;  ///< the name of its file, without folders
  std::string sha256;

  auto operator==(const operator_digest&) const -> bool = default;
};

/// The maximum size of a library file in bytes.
inline constexpr std::size_t largest_library = std::size_t{256} << 20U;

/// Loads libraries, each once for the lifetime of the process. Afterwards, `find_op` and `all_op_shapes` include their
/// operators. A file that was loaded before is only compared with its earlier contents. Threads: any. Blocks: on the
/// disk, and while the library initializes itself. Errors: those of `read_text_file`; bad_library for a file that is
/// not a shared object, has no `rankd_operators` or offers no operator; unsupported_abi; bad_operator for an operator
/// that violates the header; duplicate_operator for a name that is in use; library_changed.
auto load_operators(std::span<const std::filesystem::path> files) -> braid::checked<void>;

/// Reports library_changed for each file that is not loaded or that differs from its loaded version. A process cannot
/// unload operators, so it must be restarted.
/// Blocks: on the disk.
auto changed_operators(std::span<const std::filesystem::path> files) -> braid::diagnostics;

/// Adds the operators of a library. If the name or digest of the library is known already, its operators must be the
/// same as before. Errors: those of `load_operators` that do not concern files.
auto add_operators(const rankd_operator_library& offered, operator_digest digest) -> braid::checked<void>;

/// Returns the operators of all loaded libraries, ordered by name. Lifetime: until the process ends.
auto own_ops() -> std::vector<const op_entry*>;

/// Returns the operators of one loaded file, or an empty list if the file is not loaded.
auto list_own_ops(const std::filesystem::path& file) -> std::vector<const op_entry*>;

/// Returns the library of an operator, or null for a built-in operator.
auto find_library(std::string_view op) -> const operator_digest*;

}  // namespace rankd
