// rankd/op/extra_columns.hpp: columns that some operators add of their own accord, and whether anything uses them.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace rankd {

/// The name of the key whose column users have.
inline constexpr std::string_view country_name = "country";

/// Whether the rows of an operator are users, to which it adds their countries.
[[nodiscard]] auto adds_countries(std::string_view op) noexcept -> bool;

/// What uses a column that an operator adds of its own accord.
enum class extra_use : std::uint8_t {
  read,    ///< a node may read it, the plan captures rows, or there is none
  shown,   ///< answers alone, where they show it
  unused,  ///< nothing: no node may read it, and no row that has it comes to an answer
};

/// Of each node, in the order of the artifact. A model may read any column. Requires a plan whose nodes were bound
/// without diagnostic.
[[nodiscard]] auto uses_of_extra_columns(const plan& loaded, const registries& declared) -> std::vector<extra_use>;

}  // namespace rankd
