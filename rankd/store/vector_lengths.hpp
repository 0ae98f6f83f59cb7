// rankd/store/vector_lengths.hpp: the required lengths of vectors that are stored in fields of hashes, by the name of
// the field.
#pragma once

#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace rankd {

/// The lengths of the fields that plans read as vectors. A field that is not listed may have any length.
using vector_lengths = std::map<std::string, std::uint32_t, std::less<>>;

/// Returns the lengths that a project declares. The name of a field is the name of the key under which plans read it.
[[nodiscard]] inline auto list_lengths(const registries& declared) -> vector_lengths {
  vector_lengths all;
  for (const key_entry& each : declared.keys())
    if (each.dimensions > 0) all.emplace(each.name, each.dimensions);
  return all;
}

}  // namespace rankd
