// tests/net/resp_error_test.cpp: every refusal of the parser has a sentence of its own.
#include <braid/net/resp.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <set>
#include <string>

using namespace braid;

TEST_CASE("every refusal has a sentence of its own") {
  std::set<std::string> sentences;
  for (int code = 1; code <= static_cast<int>(resp_errc::too_large); ++code)
    sentences.insert(make_error_code(static_cast<resp_errc>(code)).message());
  CHECK(sentences.size() == static_cast<std::size_t>(resp_errc::too_large));
  CHECK_FALSE(sentences.contains(std::error_code(0, braid::detail::resp_category()).message()));
}

TEST_CASE("a refusal compares with its code and not with another category's") {
  const std::error_code code = resp_errc::too_deep;
  CHECK(code == resp_errc::too_deep);
  CHECK(code != resp_errc::too_large);
  CHECK(code != std::error_code(static_cast<int>(resp_errc::too_deep), std::generic_category()));
}

TEST_CASE("a fault names place and byte") {
  CHECK(braid::detail::resp_fault{.code = resp_errc::unknown_type, .offset = 3, .byte = 'x'}.to_text() ==
        "byte 3 of the reply, in a value that begins with `x`: a value begins with a byte that is not a valid type");
  CHECK(braid::detail::resp_fault{.code = resp_errc::unknown_type, .offset = 0, .byte = 0xff}.to_text().find("0xff") !=
        std::string::npos);
}
