// sim/symbols.cpp: finds the names of functions in the symbol tables of ELF files.
#include <sim/process.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include <cxxabi.h>
#include <elf.h>

namespace sim {
namespace {

template <typename T>
auto at(const std::string& bytes, std::size_t offset, std::size_t index = 0) -> const T* {
  const std::size_t begin = offset + index * sizeof(T);
  return begin + sizeof(T) > bytes.size() ? nullptr : reinterpret_cast<const T*>(bytes.data() + begin);
}

auto read_file(const std::string& file) -> const std::string& {
  static std::map<std::string, std::string> known;
  const auto [place, is_new] = known.try_emplace(file);
  if (is_new) {
    const std::ifstream in(file, std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    place->second = std::move(bytes).str();
  }
  return place->second;
}

auto demangled(const char* name) -> std::string {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  std::string found = status == 0 ? text.get() : name;
  constexpr std::size_t longest = 160;
  if (found.size() > longest) found = found.substr(0, longest) + "…";
  return found;
}

/// Returns the name of the function in a symbol table that contains the offset, or an empty text.
auto find_in(const std::string& bytes, const Elf64_Shdr& table, const Elf64_Shdr& names, std::uint64_t offset)
    -> std::string {
  for (std::size_t index = 0; index * sizeof(Elf64_Sym) < table.sh_size; ++index) {
    const auto* symbol = at<Elf64_Sym>(bytes, table.sh_offset, index);
    if (symbol == nullptr) return {};
    const bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size > 0;
    if (!is_function || offset < symbol->st_value || offset >= symbol->st_value + symbol->st_size) continue;
    const std::size_t name = names.sh_offset + symbol->st_name;
    return name < bytes.size() ? demangled(bytes.data() + name) : std::string();
  }
  return {};
}

}  // namespace

auto find_function(const std::string& file, std::uint64_t offset) -> std::string {
  const std::string& bytes = read_file(file);
  const auto* header = at<Elf64_Ehdr>(bytes, 0);
  if (header == nullptr || !std::string_view(bytes).starts_with(ELFMAG)) return {};
  for (const std::uint32_t wanted : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (std::size_t index = 0; index < header->e_shnum; ++index) {
      const auto* table = at<Elf64_Shdr>(bytes, header->e_shoff, index);
      if (table == nullptr || table->sh_type != wanted) continue;
      const auto* names = at<Elf64_Shdr>(bytes, header->e_shoff, table->sh_link);
      if (std::string found = names == nullptr ? "" : find_in(bytes, *table, *names, offset); !found.empty())
        return found;
    }
  }
  return {};
}

}  // namespace sim
