// rankd/registry/digest.cpp: computes SHA-256 with OpenSSL, and prints canonical JSON.
#include <rankd/registry/digest.hpp>
#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace rankd {
namespace {

using json = nlohmann::json;

struct free_context {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

/// A double in decimal: the digits of its shortest text, and the power of ten that determines where the decimal point
/// is.
struct decimal {
  std::string digits;
  int point = 0;
};

auto shortest_decimal(double value) -> decimal {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  decimal out;
  for (const char c : text.substr(0, e))
    if (c != '.') out.digits += c;
  int exponent = 0;
  const bool negative = text[e + 1] == '-';
  std::from_chars(text.data() + e + 2, text.data() + text.size(), exponent);
  out.point = (negative ? -exponent : exponent) + 1;
  return out;
}

/// Prints a double in the same way as JavaScript. Source: ECMA-262, Number::toString.
auto print_double(double value) -> std::string {
  if (!std::isfinite(value)) return "null";
  if (value == 0) return "0";
  if (value < 0) return "-" + print_double(-value);
  const auto [digits, point] = shortest_decimal(value);
  const int count = static_cast<int>(digits.size());
  if (count <= point && point <= 21) return digits + std::string(static_cast<std::size_t>(point - count), '0');
  if (0 < point && point <= 21) return std::string(digits).insert(static_cast<std::size_t>(point), ".");
  if (-6 < point && point <= 0) return "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  std::string out(1, digits[0]);
  if (count > 1) out += "." + digits.substr(1);
  return out + (point > 0 ? "e+" : "e-") + std::to_string(std::abs(point - 1));
}

void print(const json& value, std::string& out);

void print_object(const json& value, std::string& out) {
  char separator = '{';
  for (const auto& [name, field] : value.items()) {
    out += separator;
    out += json(name).dump() + ":";
    print(field, out);
    separator = ',';
  }
  out += value.empty() ? "{}" : "}";
}

void print_array(const json& value, std::string& out) {
  char separator = '[';
  for (const json& item : value) {
    out += separator;
    print(item, out);
    separator = ',';
  }
  out += value.empty() ? "[]" : "]";
}

void print(const json& value, std::string& out) {
  if (value.is_object())
    print_object(value, out);
  else if (value.is_array())
    print_array(value, out);
  else if (value.is_number_float())
    out += print_double(value.get<double>());
  else
    out += value.dump();
}

using sha256_bytes = std::array<unsigned char, 32>;

/// Returns `result`, or throws if it is null, because OpenSSL returns null if an allocation fails. After the exception,
/// a later call tries again, even for objects that are created only once.
template <typename T>
auto made(T* result) -> T* {
  if (result != nullptr) return result;
  throw std::system_error(std::make_error_code(std::errc::not_enough_memory), "OpenSSL cannot compute SHA-256");
}

auto sha256(std::string_view bytes) -> sha256_bytes {
  static const EVP_MD* const kind = made(EVP_MD_fetch(nullptr, "SHA256", nullptr));  // looked up once; stays
  thread_local const std::unique_ptr<EVP_MD_CTX, free_context> context(made(EVP_MD_CTX_new()));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const bool done = EVP_DigestInit_ex2(context.get(), kind, nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1;
  made(done ? digest.data() : nullptr);
  BRAID_EXPECTS(size == sha256_bytes().size(), "SHA-256 has 32 bytes");
  sha256_bytes out{};
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

}  // namespace

auto to_hex(std::string_view bytes) -> std::string {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out[2 * i] = hex[byte >> 4U];
    out[2 * i + 1] = hex[byte & 15U];
  }
  return out;
}

auto sha256_hex(std::string_view bytes) -> std::string {
  const sha256_bytes digest = sha256(bytes);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

auto hmac_sha256(std::string_view key, std::string_view bytes) -> std::string {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  made(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(), &size));
  return {out.begin(), out.begin() + size};
}

auto equal_in_constant_time(std::string_view a, std::string_view b) noexcept -> bool {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

auto sha256_head(std::string_view bytes) -> std::uint64_t {
  const sha256_bytes digest = sha256(bytes);
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < sizeof(out); ++i) out = out << 8U | digest[i];
  return out;
}

auto canonical_json(const json& value) -> std::string {
  std::string out;
  print(value, out);
  return out;
}

}  // namespace rankd
