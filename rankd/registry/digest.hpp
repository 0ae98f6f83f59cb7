// rankd/registry/digest.hpp: SHA-256 digests, and the canonical form in which JSON values are hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// Returns the SHA-256 digest as 64 lower-case hexadecimal digits. Errors: this and the next two functions throw
/// std::system_error with std::errc::not_enough_memory if OpenSSL gets no memory.
auto sha256_hex(std::string_view bytes) -> std::string;

/// Returns bytes as lower-case hexadecimal digits.
auto to_hex(std::string_view bytes) -> std::string;

/// Returns the first eight bytes of the SHA-256 digest as a number, the most significant byte first. These bytes
/// correspond to the first 16 hexadecimal digits.
auto sha256_head(std::string_view bytes) -> std::uint64_t;

/// Returns the HMAC-SHA-256 of bytes (RFC 2104): 32 bytes.
auto hmac_sha256(std::string_view key, std::string_view bytes) -> std::string;

/// Returns whether two texts of the same length are equal. The time does not depend on the position of the first
/// difference.
[[nodiscard]] auto equal_in_constant_time(std::string_view a, std::string_view b) noexcept -> bool;

/// Returns a JSON value in canonical form: without white space, with sorted keys and numbers as in ECMAScript. So C++
/// and TypeScript hash the same bytes. Integers are printed exactly, even beyond 2^53; inf and nan become null. Source:
/// RFC 8785, except that keys are sorted by their UTF-8 bytes.
auto canonical_json(const nlohmann::json& value) -> std::string;

}  // namespace rankd
