// tests/rankd/rows/dictionary_test.cpp: interning strings.
#include <rankd/rows/dictionary.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace rankd;

TEST_CASE("codes follow the order in which strings first come") {
  braid::arena memory;
  dictionary_builder words(memory);
  CHECK(words.intern("US") == 0);
  CHECK(words.intern("CA") == 1);
  CHECK(words.intern("US") == 0);
  const dictionary* made = words.finish();
  REQUIRE(made->size() == 2);
  CHECK((*made)[0] == "US");
  CHECK((*made)[1] == "CA");
}

TEST_CASE("strings of any bytes are told apart") {
  using namespace std::string_literals;
  braid::arena memory;
  dictionary_builder words(memory);
  CHECK(words.intern("") == 0);
  CHECK(words.intern("\0"s) == 1);
  CHECK(words.intern("\0\0"s) == 2);
  CHECK(words.intern("\xff") == 3);
  CHECK(words.intern("\0"s) == 1);
  CHECK((*words.finish())[2] == "\0\0"s);
}

TEST_CASE("an interned string is copied, a shared one is not") {
  braid::arena memory;
  dictionary_builder words(memory);
  std::string mine = "mine";
  const std::string shared = "shared";
  words.intern(mine);
  words.intern_shared(shared);
  mine = "gone";
  const dictionary* made = words.finish();
  CHECK((*made)[0] == "mine");
  CHECK((*made)[1].data() == shared.data());
}

TEST_CASE("a dictionary of a hundred thousand strings finds each again") {
  braid::arena memory;
  dictionary_builder words(memory);
  constexpr std::uint32_t count = 100'000;
  for (std::uint32_t i = 0; i < count; ++i) words.intern(std::to_string(i));
  bool all_found = true;
  for (std::uint32_t i = 0; i < count; ++i) all_found = all_found && words.intern(std::to_string(i)) == i;
  CHECK(all_found);
  CHECK(words.finish()->size() == count);
}

TEST_CASE("a dictionary of nothing is empty") {
  braid::arena memory;
  CHECK(dictionary_builder(memory).finish()->size() == 0);
  CHECK(dictionary().entries().empty());
}
