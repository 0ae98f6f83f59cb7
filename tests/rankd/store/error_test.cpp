// tests/rankd/store/error_test.cpp: each code of a store has a sentence of its own.
#include <rankd/store/error.hpp>

#include <ostream>
#include <set>
#include <string>

#include <doctest/doctest.h>

TEST_CASE("every code has its own sentence and its category") {
  using rankd::store_errc;
  std::set<std::string> sentences = {rankd::store_category().message(0)};
  for (const store_errc code : {store_errc::wrong_type, store_errc::corrupt, store_errc::full}) {
    const std::error_code error = code;
    CHECK(&error.category() == &rankd::store_category());
    CHECK(error == code);
    CHECK(sentences.insert(error.message()).second);
  }
}
