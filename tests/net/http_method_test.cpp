// tests/net/http_method_test.cpp: methods and their names.
#include <braid/net/http_message.hpp>

#include <doctest/doctest.h>

using namespace braid;

TEST_CASE("every method is found by its name, in upper case only") {
  for (std::uint8_t i = 0; i < braid::detail::http_methods; ++i) {
    const auto method = static_cast<http_method>(i);
    CHECK(braid::detail::method_named(name_of(method)) == method);
  }
  CHECK(name_of(http_method::delete_) == "DELETE");
  CHECK_FALSE(braid::detail::method_named("get").has_value());
  CHECK_FALSE(braid::detail::method_named("CONNECT").has_value());
  CHECK_FALSE(braid::detail::method_named("").has_value());
}

TEST_CASE("only what creates or changes is not good twice") {
  CHECK(braid::detail::is_idempotent(http_method::get));
  CHECK(braid::detail::is_idempotent(http_method::put));
  CHECK(braid::detail::is_idempotent(http_method::delete_));
  CHECK_FALSE(braid::detail::is_idempotent(http_method::post));
  CHECK_FALSE(braid::detail::is_idempotent(http_method::patch));
}
