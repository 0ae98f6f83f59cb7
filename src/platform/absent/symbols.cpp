// src/platform/absent/symbols.cpp: finds no names of functions, for systems whose programs are not ELF files.
#include <braid/base/detail/symbols.hpp>

namespace braid::detail {

auto symbol_table::all_loaded() -> std::vector<loaded> { return {}; }

auto symbol_table::loads() noexcept -> std::uint64_t { return 0; }

auto symbol_table::literal(std::uint64_t /*address*/) -> std::string { return {}; }

auto symbol_table::object_at(std::uint64_t /*address*/) -> const object* { return nullptr; }

}  // namespace braid::detail
