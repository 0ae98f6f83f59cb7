// rankd/registry/digest.hpp: SHA-256 digests, and the canonical form in which JSON values are hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {

/// Returns the SHA-256 digest as 64 lower-case hexadecimal digits. Errors: if OpenSSL cannot allocate memory, this
/// function throws std::system_error with std::errc::not_enough_memory. So do `sha256_head` and `hmac_sha256`.
auto sha256_hex(std::string_view bytes) -> std::string;

/// Returns bytes as lower-case hexadecimal digits.
auto to_hex(std::string_view bytes) -> std::string;

/// Returns the first eight bytes of the SHA-256 digest as a number, the most significant byte first. These bytes
/// correspond to the first 16 hexadecimal digits.
auto sha256_head(std::string_view bytes) -> std::uint64_t;

/// Returns the HMAC-SHA-256 of bytes (RFC 2104): 32 bytes.
auto hmac_sha256(std::string_view key, std::string_view bytes) -> std::string;

/// Returns whether two texts of the same length are equal. The comparison takes the same time wherever the texts
/// differ.
[[nodiscard]] auto equal_in_constant_time(std::string_view a, std::string_view b) noexcept -> bool;

/// Returns a JSON value in canonical form: without white space, with sorted keys, and with numbers as in ECMAScript. So
/// C++ and TypeScript hash the same bytes. Integers are printed exactly, even beyond 2^53. The numbers inf and nan
/// become null. Source: RFC 8785, except that keys are sorted by their UTF-8 bytes.
auto canonical_json(const nlohmann::json& value) -> std::string;

}  // namespace rankd
