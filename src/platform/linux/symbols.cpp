// src/platform/linux/symbols.cpp: reads the symbol tables of loaded ELF objects.
#include <braid/base/detail/symbols.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

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

/// A callback of dl_iterate_phdr(3): appends the address range of one object, from its first segment to its last
/// segment.
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

/// The bytes of an ELF object file. The functions return nothing if they would read beyond the end of the file.
class elf_file {
 public:
  explicit elf_file(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return;  // a device may have no end
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) return;
    std::ifstream in(path, std::ios::binary);
    bytes_.resize(size);
    in.read(bytes_.data(), static_cast<std::streamsize>(size));
    bytes_.resize(static_cast<std::size_t>(in.gcount()));
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

}  // namespace

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
  place found{.address = address, .base = 0, .path = {}};
  if (is_of_this_process_)
    ::dl_iterate_phdr(&is_there, &found);
  else if (const loaded* const in = loaded_at(address); in != nullptr)
    found = {.address = address, .base = in->base, .path = in->path};
  if (found.path.empty()) return nullptr;
  for (const object& known : objects_)
    if (known.base == found.base && known.path == found.path) return &known;

  object& made = objects_.emplace_back(object{.path = found.path, .base = found.base, .functions = {}});
  const elf_file file(found.path);
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

}  // namespace braid::detail
