// rankd/op/operator_library.cpp: loads libraries of operators. Each library is loaded once, and stays loaded until the
// process ends.
#include <rankd/op/operator_library.hpp>

#include <rankd/abi/c_operators.h>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/detail/library_probe.hpp>
#include <rankd/op/detail/own_operator.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <elf.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using operators = std::map<std::string, std::unique_ptr<detail::own_operator>, std::less<>>;

constexpr const char* symbol = "rankd_operators";

/// The library operators that this process has loaded. Nothing is removed, because plans refer to the entries.
struct table {
  std::mutex mutex;
  operators by_name;
  std::deque<operator_digest> libraries;
  std::map<fs::path, const operator_digest*> files;
  std::deque<std::pair<std::vector<op_shape>, op_shapes>> shapes;  ///< as they were after each library

  static auto get() -> table& {
    static table* const only = new table;  // threads may still run plans when static objects go
    return *only;
  }
};

auto another_abi(std::uint32_t abi) -> std::unexpected<braid::diagnostics> {
  return refused("unsupported_abi",
                 "the library uses version " + std::to_string(abi) +
                     " of the operator interface; this rankd supports versions 1 to " +
                     std::to_string(RANKD_OPERATOR_ABI),
                 "build it with the headers of this rankd");
}

/// Returns an operator of a library in the layout of the current version. Version 2 added members at the end of the
/// struct. Every operator of version 1 has one input.
auto operator_at(const rankd_operator_library& offered, std::uint32_t index) -> rankd_operator {
  if (offered.abi == RANKD_OPERATOR_ABI) return offered.operators[index];
  constexpr std::size_t first_size = offsetof(rankd_operator, inputs);
  rankd_operator made{};
  std::memcpy(&made, reinterpret_cast<const char*>(offered.operators) + index * first_size, first_size);
  made.inputs = 1;
  return made;
}

auto is_taken(std::string_view name, const operators& known) -> bool {
  return known.contains(name) ||
         std::ranges::any_of(all_ops(), [&](const op_entry& each) { return each.shape.name == name; });
}

/// Returns all operators of a library, or the diagnostics for all errors in the library.
auto read_library(const rankd_operator_library& offered, const operator_digest& digest, const operators& known)
    -> braid::checked<operators> {
  if (offered.abi == 0 || offered.abi > RANKD_OPERATOR_ABI) return another_abi(offered.abi);
  if (offered.problem != nullptr)
    return refused("bad_library", "the library exports no operators: " + std::string(offered.problem));
  if (offered.operator_count == 0 || offered.operators == nullptr)
    return refused("bad_library", "the library has no operator");
  constexpr std::uint32_t max_operators = 1000;
  if (offered.operator_count > max_operators)
    return refused("bad_library", "a library may have at most " + std::to_string(max_operators) + " operators");
  operators made;
  braid::diagnostics problems;
  for (std::uint32_t at = 0; at < offered.operator_count; ++at) {
    auto one = detail::checked_operator(operator_at(offered, at), digest);
    if (!one) {
      problems.append(std::move(one.error()));
      continue;
    }
    const std::string name((*one)->entry.shape.name);
    if (is_taken(name, known) || made.contains(name))
      problems.add({.code = "duplicate_operator",
                    .pointer = {},
                    .message = "there is already an operator " + quote_name(name) +
                               (known.contains(name) ? ", from " + known.find(name)->second->from->library : ""),
                    .hint = "each operator name may be used only once, in only one library",
                    .node = {},
                    .source = {}});
    made.try_emplace(name, std::move(*one));
  }
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return made;
}

/// Makes the shapes of all operators available to the loader of plans. The caller must hold the mutex.
void publish_shapes(table& all) {
  std::vector<op_shape> shapes;
  for (const op_entry& entry : all_ops()) shapes.push_back(entry.shape);
  for (const auto& [name, each] : all.by_name) shapes.push_back(each->entry.shape);
  auto& kept = all.shapes.emplace_back(std::move(shapes), op_shapes({}));
  kept.second = op_shapes(kept.first);
}

/// Adds the operators of a library to the table. The caller must hold the mutex.
auto add(table& all, const rankd_operator_library& offered, operator_digest digest)
    -> braid::checked<const operator_digest*> {
  const operator_digest& kept = all.libraries.emplace_back(std::move(digest));
  auto made = read_library(offered, kept, all.by_name);
  if (!made) {
    all.libraries.pop_back();
    return std::unexpected(std::move(made.error()));
  }
  all.by_name.merge(*made);
  publish_shapes(all);
  return &kept;
}

auto changed(const fs::path& file, std::string message) -> std::unexpected<braid::diagnostics> {
  return refused("library_changed", std::move(message),
                 "restart the process, because a process keeps the operators that it has loaded", file);
}

/// Loads a library and returns the operators that it offers. During this call, code of the library runs for the first
/// time.
auto open_library(const fs::path& file) -> braid::checked<const rankd_operator_library*> {
  if (const std::string problem = detail::loading_problem(file); !problem.empty())
    return refused("bad_library", "the static constructors of the library failed: loading the library " + problem,
                   "construct static objects in the function `" + std::string(symbol) + "`, which may throw", file);
  void* const opened = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* const why = ::dlerror();
    return refused("bad_library",
                   "the library cannot be loaded: " + std::string(why == nullptr ? "no reason is known" : why), {},
                   file);
  }
  // dlclose is never called, because code of the library may still be needed, for example by destructors of
  // thread-local objects.
  auto* const found = reinterpret_cast<const rankd_operator_library* (*)()>(::dlsym(opened, symbol));
  if (found == nullptr)
    return refused("bad_library", "the library has no function `" + std::string(symbol) + "`",
                   "the macro RANKD_OPERATORS of rankd/abi/operators.hpp defines this function", file);
  try {
    if (const rankd_operator_library* const offered = found()) return offered;
  } catch (...) {
    return refused("bad_library", "`" + std::string(symbol) + "` threw an exception", {}, file);
  }
  return refused("bad_library", "`" + std::string(symbol) + "` returned null", {}, file);
}

auto canonical_path(const fs::path& file) -> fs::path {
  std::error_code error;
  fs::path out = fs::canonical(file, error);
  return error ? file : out;
}

/// Returns whether a shared object is truncated, for example because it is still being copied. Without this check,
/// dlopen would load such an object, and the process would crash. Returns false for other files, which dlopen refuses.
auto is_cut(std::string_view bytes) -> bool {
  Elf64_Ehdr header{};
  if (!bytes.starts_with(ELFMAG) || bytes.size() < sizeof(header)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const auto is_inside = [&bytes](std::uint64_t begin, std::uint64_t size) {
    return begin <= bytes.size() && size <= bytes.size() - begin;
  };
  for (std::uint64_t at = 0; at < header.e_phnum; ++at) {
    const std::uint64_t place = header.e_phoff + at * sizeof(Elf64_Phdr);
    Elf64_Phdr part{};
    if (!is_inside(place, sizeof(part))) return true;
    std::memcpy(&part, bytes.data() + place, sizeof(part));
    if (part.p_type == PT_LOAD && !is_inside(part.p_offset, part.p_filesz)) return true;
  }
  return false;
}

auto make_digest(const fs::path& file) -> braid::checked<operator_digest> {
  const auto bytes = read_text_file(file, largest_library);
  if (!bytes) return std::unexpected(bytes.error());
  if (is_cut(*bytes)) return refused("bad_library", "the library file is truncated", "copy it again", file);
  return operator_digest{file.filename().string(), sha256_hex(*bytes)};
}

/// Loads the library in a file, unless a file with the same contents was loaded before. The caller must hold the mutex.
auto load(table& all, const fs::path& file) -> braid::checked<void> {
  auto now = make_digest(file);
  if (!now) return std::unexpected(std::move(now.error()));
  const fs::path place = canonical_path(file);
  if (const auto known = all.files.find(place); known != all.files.end()) {
    if (known->second->sha256 == now->sha256) return {};
    return changed(file, "the library differs from the one that this process has loaded");
  }
  // A file with the same bytes, such as a copy of the project's library, has the same operators.
  const auto same = std::ranges::find(all.libraries, now->sha256, &operator_digest::sha256);
  if (same != all.libraries.end()) {
    all.files.emplace(place, &*same);
    return {};
  }
  const auto offered = open_library(place);
  if (!offered) return std::unexpected(offered.error());
  // A deployment may replace the file at any time. The digest must describe the code that was loaded.
  if (const auto still = make_digest(file); !still || still->sha256 != now->sha256)
    return changed(file, "the library was replaced while it was loaded");
  auto added = add(all, **offered, std::move(*now));
  if (!added) {
    added.error().set_source(file.string());
    return std::unexpected(std::move(added.error()));
  }
  all.files.emplace(place, *added);
  return {};
}

}  // namespace

auto load_operators(std::span<const fs::path> files) -> braid::checked<void> {
  table& all = table::get();
  const std::scoped_lock alone(all.mutex);
  braid::diagnostics problems;
  for (const fs::path& file : files)
    if (auto loaded = load(all, file); !loaded) problems.append(std::move(loaded.error()));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return {};
}

auto changed_operators(std::span<const fs::path> files) -> braid::diagnostics {
  table& all = table::get();
  braid::diagnostics problems;
  for (const fs::path& file : files) {
    const auto now = make_digest(file);
    if (!now) {
      problems.append(now.error());
      continue;
    }
    const std::scoped_lock alone(all.mutex);
    const auto known = all.files.find(canonical_path(file));
    if (known == all.files.end())
      problems.append(changed(file, "the library was not loaded when this process started").error());
    else if (known->second->sha256 != now->sha256)
      problems.append(changed(file, "the library differs from the one that this process has loaded").error());
  }
  return problems;
}

auto add_operators(const rankd_operator_library& offered, operator_digest digest) -> braid::checked<void> {
  table& all = table::get();
  const std::scoped_lock alone(all.mutex);
  if (std::ranges::find(all.libraries, digest) != all.libraries.end()) return {};
  auto added = add(all, offered, std::move(digest));
  if (!added) return std::unexpected(std::move(added.error()));
  return {};
}

auto own_ops() -> std::vector<const op_entry*> {
  table& all = table::get();
  const std::scoped_lock alone(all.mutex);
  std::vector<const op_entry*> out;
  for (const auto& [name, each] : all.by_name) out.push_back(&each->entry);
  return out;
}

auto list_own_ops(const fs::path& file) -> std::vector<const op_entry*> {
  table& all = table::get();
  const std::scoped_lock alone(all.mutex);
  std::vector<const op_entry*> out;
  const auto known = all.files.find(canonical_path(file));
  if (known == all.files.end()) return out;
  for (const auto& [name, each] : all.by_name)
    if (each->from == known->second) out.push_back(&each->entry);
  return out;
}

auto find_library(std::string_view op) -> const operator_digest* {
  const detail::own_operator* const found = detail::find_own(op);
  return found == nullptr ? nullptr : found->from;
}

auto detail::find_own(std::string_view name) -> const own_operator* {
  table& all = table::get();
  const std::scoped_lock alone(all.mutex);
  const auto found = all.by_name.find(name);
  return found == all.by_name.end() ? nullptr : found->second.get();
}

auto all_op_shapes() -> const op_shapes& {
  table& all = table::get();
  const std::scoped_lock alone(all.mutex);
  if (all.shapes.empty()) publish_shapes(all);
  return all.shapes.back().second;
}

}  // namespace rankd
