// src/base/symbols.cpp: reads the symbol tables of loaded ELF objects, and shortens demangled names.
#include <braid/base/detail/symbols.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

namespace braid::detail {
namespace {

struct place {
  std::uint64_t address = 0;
  std::uint64_t base = 0;
  std::string path;  // empty if no file was found
};

/// A callback of dl_iterate_phdr(3): stops at the object that contains the address, by returning a value other than 0.
auto is_there(dl_phdr_info* info, std::size_t /*size*/, void* wanted) -> int {
  auto& at = *static_cast<place*>(wanted);
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || at.address < begin || at.address - begin >= segment.p_memsz) continue;
    at.base = info->dlpi_addr;
    at.path = info->dlpi_name[0] != 0 ? info->dlpi_name : "/proc/self/exe";
    return 1;
  }
  return 0;
}

/// A callback of dl_iterate_phdr(3): appends the address range of one object, from its first segment to its last.
auto is_one_more(dl_phdr_info* info, std::size_t /*size*/, void* to) -> int {
  symbol_table::loaded made{.path = info->dlpi_name, .base = info->dlpi_addr, .begin = ~std::uint64_t{0}, .end = 0};
  for (const auto& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    made.begin = std::min(made.begin, made.base + segment.p_vaddr);
    made.end = std::max(made.end, made.base + segment.p_vaddr + segment.p_memsz);
  }
  std::error_code error;
  if (made.path.empty()) made.path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  static_cast<std::vector<symbol_table::loaded>*>(to)->push_back(std::move(made));
  return 0;
}

/// The bytes of an ELF object file. A read beyond the end of the file returns nothing.
class elf_file {
 public:
  explicit elf_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return;  // a device may have no end
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }

  template <typename T>
  [[nodiscard]] auto at(std::uint64_t offset) const -> std::optional<T> {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return {};
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  [[nodiscard]] auto text(std::uint64_t offset) const -> std::string {
    const std::size_t end = offset < bytes_.size() ? bytes_.find('\0', offset) : std::string::npos;
    return end == std::string::npos ? std::string() : bytes_.substr(offset, end - offset);
  }

  /// Converts an address of the loaded object to an offset in its file.
  [[nodiscard]] auto find_offset(std::uint64_t address) const -> std::optional<std::uint64_t> {
    const auto header = at<ElfW(Ehdr)>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
    for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
      const auto segment = at<ElfW(Phdr)>(header->e_phoff + i * sizeof(ElfW(Phdr)));
      if (!segment || segment->p_type != PT_LOAD || address < segment->p_vaddr) continue;
      if (address - segment->p_vaddr < segment->p_filesz) return segment->p_offset + (address - segment->p_vaddr);
    }
    return {};
  }

  [[nodiscard]] auto section(std::uint32_t type) const -> std::optional<ElfW(Shdr)> {
    const auto header = at<ElfW(Ehdr)>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return {};
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
      const auto found = section_at(*header, i);
      if (found && found->sh_type == type) return found;
    }
    return {};
  }

  [[nodiscard]] auto find_strings(const ElfW(Shdr) & symbols) const -> std::optional<ElfW(Shdr)> {
    return section_at(*at<ElfW(Ehdr)>(0), symbols.sh_link);
  }

 private:
  [[nodiscard]] auto section_at(const ElfW(Ehdr) & header, std::uint64_t index) const -> std::optional<ElfW(Shdr)> {
    return at<ElfW(Shdr)>(header.e_shoff + index * sizeof(ElfW(Shdr)));
  }

  std::string bytes_;
};

auto demangled(const std::string& name) -> std::string {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return text != nullptr ? std::string(text.get()) : name;
}

/// Returns `f(int)` for `f(f(int)::MANGLED.Frame*) [clone .actor]`, the function that g++ generates to resume a
/// coroutine. Returns other names unchanged.
auto coroutine_in(std::string_view demangled) -> std::string_view {
  constexpr std::string_view tail = ".Frame*) [clone .actor]";
  if (!demangled.ends_with(tail)) return demangled;
  const std::string_view twice = demangled.substr(0, demangled.rfind("::_Z"));
  for (std::size_t at = twice.find('('); at != std::string_view::npos; at = twice.find('(', at + 1)) {
    const std::string_view name = twice.substr(0, at);
    const std::string_view rest = twice.substr(at + 1);
    if (rest.starts_with(name) && rest.substr(name.size()).starts_with('(')) return rest;
  }
  return demangled;
}

/// Returns the names at the start of a mangled name. Used if no available demangler can read the whole name, such as
/// that of a function with constraints: `_ZN5braid8when_allIJ…` becomes `braid::when_all<...>`. Returns an empty string
/// if `mangled` is not a mangled name.
auto names_in(std::string_view mangled) -> std::string {
  if (!mangled.starts_with("_ZN")) return {};
  mangled.remove_prefix(3);
  std::string names;
  while (!mangled.empty() && mangled.front() >= '1' && mangled.front() <= '9') {
    std::size_t length = 0;
    for (; !mangled.empty() && mangled.front() >= '0' && mangled.front() <= '9'; mangled.remove_prefix(1))
      length = std::min<std::size_t>(10 * length + static_cast<std::size_t>(mangled.front() - '0'), mangled.size());
    const std::string_view name = mangled.substr(0, length);
    names += names.empty() ? "" : "::";
    names += name == "_GLOBAL__N_1" ? "(anonymous namespace)" : name;
    mangled.remove_prefix(name.size());
  }
  return names.empty() || !mangled.starts_with('I') ? names : names + "<...>";
}

/// Updates the stack of open brackets. `<` and `>` may be operators, so a closing bracket of another kind also closes
/// every `<` opened inside it.
void follow_bracket(std::string& open, char next, char before) {
  constexpr std::string_view opening = "<([{";
  constexpr std::string_view closing = ">)]}";
  if (opening.contains(next)) open += next;
  const std::size_t kind = closing.find(next);
  if (kind == std::string_view::npos || (next == '>' && (before == '-' || !open.ends_with('<')))) return;
  if (const std::size_t at = open.rfind(opening[kind]); at != std::string::npos) open.resize(at);
}

auto begins_operator(std::string_view before, std::string_view rest) -> bool {
  constexpr std::string_view word = "operator";
  if (!before.empty() && !before.ends_with(' ') && !before.ends_with("::")) return false;
  return rest.starts_with(word) && rest.size() > word.size() && rest[word.size()] != '_' &&
         std::isalnum(static_cast<unsigned char>(rest[word.size()])) == 0;
}

/// Returns `f<int>(int)` for `R f<int>(int)`, because the demangled name of a function template begins with the return
/// type. The `(` of the parameters follows the name directly; the `(` of an expression follows a space or `decltype`.
auto without_result(std::string_view function) -> std::string_view {
  constexpr std::string_view unnamed = "(anonymous namespace)";
  std::size_t begin = 0;
  std::string open;
  for (std::size_t at = 0; at < function.size(); ++at) {
    const std::string_view before = function.substr(0, at);
    const std::string_view rest = function.substr(at);
    const bool is_outside = open.empty();
    if (is_outside && rest.starts_with(unnamed)) {
      at += unnamed.size() - 1;
      continue;
    }
    if (is_outside && begins_operator(before, rest)) return function.substr(begin);
    if (is_outside && rest.front() == '(' && !before.empty() && !before.ends_with(' ') && !before.ends_with("decltype"))
      return function.substr(begin);
    if (is_outside && rest.front() == ' ') begin = at + 1;
    follow_bracket(open, rest.front(), before.empty() ? ' ' : before.back());
  }
  return function;
}

/// Returns the template argument at this index of `name<A, B, …>`, or an empty text if the name has fewer arguments.
auto template_argument(std::string_view name, std::size_t index) -> std::string_view {
  std::string open;
  std::size_t begin = name.find('<') + 1;
  for (std::size_t at = begin; at < name.size(); ++at) {
    const bool is_end = name[at] == ',' || (name[at] == '>' && name[at - 1] != '-');
    if (!open.empty() || !is_end) {
      follow_bracket(open, name[at], at == 0 ? ' ' : name[at - 1]);
      continue;
    }
    if (index-- == 0) {
      const std::string_view found = name.substr(begin, at - begin);
      return found.substr(0, found.find_last_not_of(' ') + 1);
    }
    begin = std::min(name.find_first_not_of(' ', at + 1), name.size());
  }
  return {};
}

/// Returns the callable of a job that has a future: `F` of `spawned<R, Stop, bound_call<F, …>>`, and of
/// `future_continuation<T, F, …>`. Returns an empty text for other jobs.
auto called_for_future(std::string_view job) -> std::string_view {
  constexpr std::string_view bound = "braid::detail::bound_call<";
  std::string_view called;
  if (job.starts_with("spawned<")) called = template_argument(job, 2);
  if (job.starts_with("future_continuation<")) called = template_argument(job, 1);
  return called.starts_with(bound) ? template_argument(called, 0) : called;
}

/// Returns the callable that a job of the library runs, if the job's name contains it: `F` for `closure_job<F>`.
auto called_by(std::string_view job) -> std::string_view {
  struct form {
    std::string_view begin, end;
  };
  constexpr std::array<form, 4> forms{
      {{"closure_job<", ">"}, {"root_job<", ">"}, {"timed_call<", ">"}, {"offload_awaiter<", ">::call"}}};
  if (const std::string_view called = called_for_future(job); !called.empty()) return called;
  for (const form& each : forms)
    if (job.starts_with(each.begin) && job.ends_with(each.end))
      return job.substr(each.begin.size(), job.size() - each.begin.size() - each.end.size());
  return job;
}

/// Returns the public name of a job of the library. A `sync_waiter<T>` is shown as `sync_wait`, the function whose
/// caller waits for the task.
auto public_name(std::string_view job) -> std::string {
  constexpr std::string_view waiter = "sync_waiter<";
  if (job.starts_with(waiter)) return "braid::sync_wait<" + std::string(job.substr(waiter.size()));
  return std::string(called_by(job));
}

/// Returns whether the job resumes a task.
auto is_resumption(std::string_view job) -> bool {
  constexpr std::string_view inner = "braid::detail::";
  constexpr std::string_view parameters = "(braid::job&, braid::job::action)";
  if (!job.starts_with(inner) || !job.ends_with(parameters)) return false;
  job = job.substr(inner.size(), job.size() - inner.size() - parameters.size());
  constexpr std::array<std::string_view, 5> resumptions{"awaiter_base::resumed", "departure::arrived",
                                                        "home_awaiter::arrived", "promise_base::came_home",
                                                        "schedule_awaiter::came_home"};
  return std::ranges::find(resumptions, job) != resumptions.end();
}

}  // namespace

auto short_function_name(std::string_view demangled) -> std::string {
  constexpr std::string_view job_tail = "::act(braid::job&, braid::job::action)";
  constexpr std::string_view frame_tail = " [clone .resume]";
  constexpr std::string_view inner = "braid::detail::";
  constexpr std::size_t max_length = 200;
  if (is_resumption(demangled)) return "resume";
  if (std::string names = names_in(demangled); !names.empty()) return names.substr(0, max_length);
  demangled = coroutine_in(demangled);
  if (demangled.ends_with(frame_tail)) demangled.remove_suffix(frame_tail.size());
  demangled = without_result(demangled);
  if (demangled.ends_with(job_tail)) {
    demangled.remove_suffix(job_tail.size());
    if (demangled.starts_with(inner)) return public_name(demangled.substr(inner.size())).substr(0, max_length);
  }
  return std::string(demangled.substr(0, max_length));
}

auto symbol_table::all_loaded() -> std::vector<loaded> {
  std::vector<loaded> all;
  ::dl_iterate_phdr(&is_one_more, &all);
  return all;
}

auto symbol_table::loads() noexcept -> std::uint64_t {
  std::uint64_t loads = 0;
  const auto read = [](dl_phdr_info* info, std::size_t /*size*/, void* to) {
    *static_cast<std::uint64_t*>(to) = info->dlpi_adds;
    return 1;
  };
  ::dl_iterate_phdr(read, &loads);
  return loads;
}

auto symbol_table::loaded_at(std::uint64_t address) const -> const loaded* {
  const auto found = std::ranges::find_if(
      loaded_, [address](const loaded& each) { return each.begin <= address && address < each.end; });
  return found == loaded_.end() ? nullptr : &*found;
}

auto symbol_table::literal(std::uint64_t address) -> std::string {
  constexpr std::size_t max_length = 1000;
  const loaded* const in = loaded_at(address);
  if (in == nullptr) return {};
  const elf_file file(in->path);
  const auto offset = file.find_offset(address - in->base);
  return offset ? file.text(*offset).substr(0, max_length) : std::string();
}

auto symbol_table::object_at(std::uint64_t address) -> const object* {
  place at{.address = address, .base = 0, .path = {}};
  if (is_of_this_process_)
    ::dl_iterate_phdr(&is_there, &at);
  else if (const loaded* const in = loaded_at(address); in != nullptr)
    at = {.address = address, .base = in->base, .path = in->path};
  if (at.path.empty()) return nullptr;
  for (const object& known : objects_)
    if (known.base == at.base && known.path == at.path) return &known;

  object& made = objects_.emplace_back(object{.path = at.path, .base = at.base, .functions = {}});
  const elf_file file(at.path);
  auto symbols = file.section(SHT_SYMTAB);
  if (!symbols) symbols = file.section(SHT_DYNSYM);
  if (!symbols) return &made;
  const auto strings = file.find_strings(*symbols);
  for (std::uint64_t i = 0; strings && i < symbols->sh_size / sizeof(ElfW(Sym)); ++i) {
    const auto each = file.at<ElfW(Sym)>(symbols->sh_offset + i * sizeof(ElfW(Sym)));
    if (!each) break;
    if (ELF64_ST_TYPE(each->st_info) != STT_FUNC || each->st_value == 0) continue;
    made.functions.push_back({each->st_value, each->st_size, file.text(strings->sh_offset + each->st_name)});
  }
  std::ranges::sort(made.functions, {}, &function::begin);
  return &made;
}

auto symbol_table::name(std::uint64_t address) -> std::string {
  const object* const in = object_at(address);
  if (in == nullptr) return "unknown code";
  const std::uint64_t place = address - in->base;
  const auto after = std::ranges::upper_bound(in->functions, place, {}, &function::begin);
  if (after != in->functions.begin()) {
    const function& found = *std::prev(after);
    if (place - found.begin < std::max<std::uint64_t>(found.size, 1)) return short_function_name(demangled(found.name));
  }
  return in->path.substr(in->path.rfind('/') + 1) + " at " + std::to_string(place);
}

}  // namespace braid::detail
