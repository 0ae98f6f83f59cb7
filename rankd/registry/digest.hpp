// rankd/registry/digest.hpp: SHA-256, and the one spelling of a JSON value that is worth hashing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// SHA-256 as 64 lower-case hexadecimal digits. Errors: this and the next two throw std::system_error with
/// std::errc::not_enough_memory if OpenSSL gets no memory.
auto sha256_hex(std::string_view bytes) -> std::string;

/// Returns the first eight bytes of SHA-256 as a number, the most significant first: what the first 16 digits spell.
auto sha256_head(std::string_view bytes) -> std::uint64_t;

/// HMAC-SHA-256 (RFC 2104): 32 bytes.
auto hmac_sha256(std::string_view key, std::string_view bytes) -> std::string;

/// Returns whether two texts of the same length are equal, in a time that does not depend on the position of the first
/// difference.
[[nodiscard]] auto equal_in_constant_time(std::string_view a, std::string_view b) noexcept -> bool;

/// Returns the value without white space, keys sorted, numbers as ECMAScript prints them, so that C++ and TypeScript
/// hash the same bytes. Integers are printed exactly, also past 2^53; inf and nan become null. Source: RFC 8785, except
/// that keys are sorted by their UTF-8 bytes.
auto canonical_json(const nlohmann::json& value) -> std::string;

}  // namespace rankd
