// tests/rankd/server/in_flight_shares_test.cpp: places by name.
#include <rankd/server/admission/in_flight_shares.hpp>

#include <optional>
#include <utility>

#include <doctest/doctest.h>

using rankd::in_flight_shares;

TEST_CASE("as many come in as there are places of that name, and others when one goes") {
  in_flight_shares shares;
  auto first = shares.try_enter("a", 2);
  auto second = shares.try_enter("a", 2);
  CHECK(first);
  CHECK(second);
  CHECK(!shares.try_enter("a", 2));
  CHECK(shares.try_enter("b", 1));
  CHECK(shares.count("a") == 2);
  CHECK(shares.count("b") == 0);
  second.reset();
  CHECK(shares.count("a") == 1);
  CHECK(shares.try_enter("a", 2));
  // A lowered bound counts for later requests.
  CHECK(!shares.try_enter("a", 1));
}

TEST_CASE("without a bound everybody comes in, uncounted") {
  in_flight_shares shares;
  const auto one = shares.try_enter("a", std::nullopt);
  CHECK(one);
  CHECK(shares.count("a") == 0);
  CHECK(shares.try_enter("a", 1));
}

TEST_CASE("a place that was moved is given back once") {
  in_flight_shares shares;
  {
    auto one = shares.try_enter("a", 1);
    const in_flight_shares::pass other = std::move(*one);
    one.reset();
    CHECK(shares.count("a") == 1);
    CHECK(!shares.try_enter("a", 1));
  }
  CHECK(shares.count("a") == 0);
}
