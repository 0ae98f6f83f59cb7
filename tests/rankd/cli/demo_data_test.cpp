// tests/rankd/cli/demo_data_test.cpp: the network is the same for the same numbers, and shaped as promised.
#include <rankd/cli/projects/demo_data.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace rankd;

auto text_of(demo_network& network, std::uint32_t user) -> std::string {
  std::string text;
  append_hash(text, user, network.profile(user));
  append_list(text, "follow:", user, network.follows(user));
  append_list(text, "recommendation:", user, network.recommendations(user));
  append_list(text, "media:", user, network.media(user));
  return text;
}

}  // namespace

TEST_CASE("a user is the same in every order of asking, and another with another seed") {
  const demo_size size = {.seed = 7, .users = 300, .media = 900};
  demo_network forward(size);
  demo_network backward(size);
  demo_network other({.seed = 8, .users = 300, .media = 900});
  std::vector<std::string> texts;
  for (std::uint32_t user = 1; user <= 300; ++user) texts.push_back(text_of(forward, user));
  for (std::uint32_t user = 300; user >= 1; --user) CHECK(text_of(backward, user) == texts[user - 1]);
  CHECK(text_of(other, 1) != texts[0]);
}

TEST_CASE("the last of thirty users of the first seed never changes") {
  demo_network network({.seed = 1, .users = 30, .media = 60});
  CHECK(text_of(network, 30) ==
        R"({"hash":"user:30","fields":{"country":"CA","title":"Ben and the borrowed bookshops"}}
{"list":"follow:30","values":[1,2,3,22,4,12,16,10,6,28,19,13,7,5]}
{"list":"recommendation:30","values":[14,23,24,11,21,8,18,15,20,25,17,27,29,26,9]}
{"list":"media:30","values":[]}
)");
}

TEST_CASE("lists name other users, each once, and recommend nobody who is followed") {
  for (const std::uint32_t users : {1U, 2U, 3U, 10U, 150U}) {
    demo_network network({.seed = 3, .users = users, .media = 5});
    for (std::uint32_t user = 1; user <= users; ++user) {
      const auto follows = network.follows(user);
      const auto recommended = network.recommendations(user);
      std::set<std::int64_t> seen = {user};
      for (const std::int64_t id : follows) CHECK(seen.insert(id).second);
      for (const std::int64_t id : recommended) CHECK(seen.insert(id).second);
      CHECK(*seen.begin() >= 1);
      CHECK(*seen.rbegin() <= users);
      CHECK(recommended.size() <= 100);
      CHECK(recommended.size() >= std::min<std::size_t>(20, users - 1 - follows.size()));
    }
  }
}

TEST_CASE("each of the media belongs to one user") {
  for (const std::uint32_t media : {0U, 1U, 7U, 1000U}) {
    demo_network network({.seed = 1, .users = 37, .media = media});
    std::vector<std::int64_t> all;
    for (std::uint32_t user = 1; user <= 37; ++user)
      for (const std::int64_t id : network.media(user)) all.push_back(id);
    std::vector<std::int64_t> expected(media);
    std::iota(expected.begin(), expected.end(), 1'000'001);
    CHECK((all == expected));
  }
}

TEST_CASE("follows have a mean of about fifty and a heavy tail") {
  demo_network network({.seed = 1, .users = 10'000, .media = 0});
  std::vector<std::size_t> counts;
  for (std::uint32_t user = 1; user <= 10'000; ++user) counts.push_back(network.follows(user).size());
  std::sort(counts.begin(), counts.end());
  const double mean = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::size_t{0})) / 10'000;
  CHECK(mean > 40);
  CHECK(mean < 60);
  CHECK(counts.front() >= 6);
  CHECK(counts[5'000] < 15);
  CHECK(counts.back() == 5'000);
  CHECK(counts[9'980] > 1'000);
}

TEST_CASE("countries are mixed, a few users have none") {
  demo_network network({.seed = 1, .users = 1'000, .media = 0});
  std::set<std::string_view> countries;
  std::size_t without = 0;
  for (std::uint32_t user = 1; user <= 1'000; ++user) {
    const demo_profile profile = network.profile(user);
    without += profile.country.empty();
    countries.insert(profile.country);
    CHECK(profile.title.find_first_of("\"\\\n") == std::string::npos);
  }
  CHECK(countries.size() == 11);
  CHECK(without > 0);
  CHECK(without < 60);
}
