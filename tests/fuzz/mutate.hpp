// tests/fuzz/mutate.hpp: changes to JSON, NDJSON and TOML that mostly leave them well-formed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace braid::testing {

/// `text` after one to four changes: values, members and lines are deleted, repeated, exchanged, or replaced by one of
/// `words`, in which `@` stands for the value that was there. The same seed makes the same changes.
auto mutated(std::string_view text, std::span<const std::string_view> words, std::uint64_t seed) -> std::string;

/// `text` after one to four changes of single bytes.
auto with_other_bytes(std::string_view text, std::uint64_t seed) -> std::string;

}  // namespace braid::testing
