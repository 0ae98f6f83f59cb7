// tests/thread/query_test.cpp: a chained query answers as a plain loop would, when it is asked and not before.
#include <braid/thread/query.hpp>

#include <braid/base/error.hpp>
#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using braid::detail::query_over;

namespace {

struct book {
  std::string title;
  int year = 0;
  std::size_t pages = 0;
  auto operator==(const book&) const -> bool = default;
};

struct film {
  int year = 0;
};

auto rack() -> std::vector<book> {
  return {{"one", 1999, 100}, {"two", 2001, 200}, {"three", 2001, 50}, {"four", 2020, 400}};
}

template <auto Member, typename Query>
concept asks_for =
    requires(const Query& query) { requires braid::detail::field_in<Member, typename Query::value_type>; };

}  // namespace

TEST_CASE("each step answers as its name says") {
  const auto books = braid::detail::query_over(rack());
  const auto long_book = [](const book& b) { return b.pages >= 200; };
  CHECK(books.count() == 4);
  CHECK(books.to_vector() == rack());
  CHECK(books.filter(long_book).map(&book::title).to_vector() == std::vector<std::string>{"two", "four"});
  CHECK(books.take(1).to_vector() == std::vector<book>{rack()[0]});
  CHECK(books.skip(3).to_vector() == std::vector<book>{rack()[3]});
  CHECK(books.find_if(long_book)->title == "two");
  CHECK_FALSE(books.find_if([](const book& b) { return b.pages == 1; }));
  CHECK(books.any(long_book));
  CHECK_FALSE(books.all(long_book));
  CHECK_FALSE(books.none(long_book));
  CHECK(books.filter(long_book).all(long_book));
  CHECK(books.take(1).none(long_book));
}

TEST_CASE("over nothing, all and none hold and any does not") {
  const auto nothing = braid::detail::query_over(std::vector<book>());
  const auto yes = [](const book&) { return true; };
  CHECK(nothing.count() == 0);
  CHECK(nothing.all(yes));
  CHECK(nothing.none(yes));
  CHECK_FALSE(nothing.any(yes));
  CHECK_FALSE(nothing.find_if(yes));
  CHECK(nothing.skip(1).take(1).to_vector().empty());
}

TEST_CASE("fields are named by pointers to members") {
  const auto books = braid::detail::query_over(rack());
  CHECK(books.where<&book::year>(2001).count() == 2);
  CHECK(books.where<&book::title>("three").project<&book::pages>().to_vector() == std::vector<std::size_t>{50});
  CHECK(books.where<&book::year>(2001).project<&book::title, &book::pages>().to_vector() ==
        std::vector<std::tuple<std::string, std::size_t>>{{"two", 200}, {"three", 50}});
  CHECK(books.where_if<&book::year>([](int year) { return year > 2001; }).count() == 1);
  CHECK(books.contains<&book::title>(std::string("four")));
  CHECK_FALSE(books.contains<&book::title>("fou"));
  CHECK(books.find_by<&book::year>(2001)->title == "two");
  CHECK_FALSE(books.find_by<&book::year>(1));
}

TEST_CASE("a field of another struct is refused by the compiler") {
  using books = decltype(braid::detail::query_over(rack()));
  static_assert(asks_for<&book::year, books>);
  static_assert(!asks_for<&film::year, books>);
  static_assert(!asks_for<&film::year, decltype(braid::detail::query_over(rack()).map(&book::year))>);
  CHECK(asks_for<&book::year, books>);
}

TEST_CASE("a text to compare with may end before the query is asked") {
  auto text = std::make_unique<std::string>("three, which is longer than any small string");
  auto books = rack();
  books[2].title = *text;
  const auto found = braid::detail::query_over(books).where<&book::title>(*text);
  text.reset();
  CHECK(found.count() == 1);
}

TEST_CASE("nothing runs before an answer is asked for, and then only as far as needed") {
  int asked = 0;
  const auto counting = braid::detail::query_over(rack()).filter([&asked](const book& b) {
    ++asked;
    return b.year >= 2001;
  });
  const auto titles = counting.map(&book::title);
  CHECK(asked == 0);
  CHECK(titles.find_if([](const std::string& title) { return title == "two"; }));
  CHECK(asked == 2);
  CHECK(titles.take(2).count() == 2);
  CHECK(asked == 5);
  CHECK(titles.take(0).count() == 0);
  CHECK(asked == 5);
}

TEST_CASE("a query answers again, and so do queries made from it") {
  const auto tail = braid::detail::query_over(rack()).skip(1);
  CHECK(tail.count() == 3);
  CHECK(tail.count() == 3);
  CHECK(tail.skip(1).count() == 2);
  CHECK(tail.take(2).skip(1).to_vector() == std::vector<book>{rack()[2]});
  CHECK(tail.skip(9).count() == 0);
}

TEST_CASE("what a callable throws reaches whoever asks") {
  const auto throwing = braid::detail::query_over(rack()).map([](const book& b) -> int {
    if (b.year == 2020) throw std::runtime_error("too new");
    return b.year;
  });
  CHECK(throwing.take(3).count() == 3);
  CHECK_THROWS_AS(static_cast<void>(throwing.count()), std::runtime_error);
}

namespace {

/// What a lender says about a book; some books are not to be had.
struct lender {
  int days = 0;
  auto lend(int more) const -> braid::result<int> { return days + more; }
};

struct loan {
  int days = 0;
  auto control() const -> braid::result<lender> {
    if (days < 0) return braid::fail(braid::errc::closed);
    return lender{days};
  }
};

}  // namespace

TEST_CASE("apply gives an answer for each value") {
  const auto answers =
      braid::detail::query_over(rack()).skip(2).apply([](const book& b, int more) { return b.year + more; }, 5);
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].value.title == "three");
  CHECK(answers[0].answer == 2006);
  CHECK(answers[1].answer == 2025);
}

TEST_CASE("apply goes through the control of a value, and a refusal is an answer") {
  const auto answers = braid::detail::query_over(std::vector<loan>{{1}, {-1}, {3}}).apply(&lender::lend, 10);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].answer == 11);
  CHECK(answers[1].answer.error() == braid::errc::closed);
  CHECK(answers[2].answer == 13);
}

TEST_CASE("random chains agree with loops over a vector") {
  braid::random_source numbers(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<book> books(numbers.below(20));
    for (book& b : books) b = {std::to_string(numbers.below(4)), static_cast<int>(numbers.below(5)), numbers.below(9)};
    const int year = static_cast<int>(numbers.below(5));
    const std::size_t first = numbers.below(5);
    const std::size_t max_count = numbers.below(8);

    std::vector<std::string> expected;
    std::size_t matches = 0;
    for (const book& b : books)
      if (b.year >= year && matches++ >= first && expected.size() < max_count) expected.push_back(b.title);
    const auto chain =
        braid::detail::query_over(books).where_if<&book::year>([year](int y) { return y >= year; }).skip(first);
    CHECK(chain.take(max_count).project<&book::title>().to_vector() == expected);
  }
}
