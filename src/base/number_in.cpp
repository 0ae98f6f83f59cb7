// src/base/number_in.cpp: converts text to doubles, for standard libraries without floating-point `from_chars`.
#include <braid/base/detail/number_in.hpp>

#if !defined(__cpp_lib_to_chars)

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>

#include <clocale>

namespace braid::detail {

auto real_in(std::string_view text) -> std::optional<double> {
  static const ::locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  if (text.empty() || text.front() == '+' || text.front() <= ' ') return std::nullopt;
  if (text.find_first_of("xX") != std::string_view::npos)
    return std::nullopt;  // strtod reads hexadecimal digits as well
  const std::string ended(text);
  char* end = nullptr;
  errno = 0;
  const double value = ::strtod_l(ended.c_str(), &end, plain);
  if (end != ended.c_str() + ended.size()) return std::nullopt;
  if (errno == ERANGE && (std::isinf(value) || value == 0)) return std::nullopt;  // a denormal is a value
  return value;
}

}  // namespace braid::detail

#endif
