// rankd/cli/projects/demo_data.cpp: generates a synthetic social network: users, the users that they follow (with a
// heavy-tailed distribution), and their media.
#include <rankd/cli/projects/demo_data.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace rankd {
namespace {

constexpr std::uint32_t max_follows = 5'000;
constexpr double follow_scale = 6.6;  // follow_scale / u for u in (0, 1], cut at most_follows, has a mean of 50
constexpr std::uint32_t fewest_recommendations = 20;
constexpr std::uint32_t max_recommendations = 100;
constexpr std::int64_t first_media = 1'000'001;
constexpr std::uint64_t users_per_secret = 50;

constexpr std::array<std::string_view, 20> countries = {"US", "US", "US", "US", "US", "US", "CA", "CA", "MX", "BR",
                                                        "BR", "GB", "DE", "DE", "FR", "IN", "IN", "JP", "JP", "KR"};
constexpr std::array<std::string_view, 24> first_names = {
    "Ada",   "Ben",   "Chloe", "Diego", "Emi",   "Femi", "Grace", "Hugo", "Ines", "Jun",    "Kofi", "Lena",
    "Mateo", "Nadia", "Omar",  "Priya", "Quinn", "Rosa", "Sven",  "Tara", "Uma",  "Viktor", "Wei",  "Zoe"};
constexpr std::array<std::string_view, 16> adjectives = {
    "quiet",   "early",    "secret", "endless",  "tiny",    "golden", "stormy", "honest",
    "crooked", "northern", "second", "borrowed", "patient", "loud",   "paper",  "electric"};
constexpr std::array<std::string_view, 16> nouns = {
    "kitchens", "mountains", "trains",    "gardens", "rivers",  "robots",      "songs", "bicycles",
    "clouds",   "markets",   "bookshops", "tides",   "recipes", "lighthouses", "maps",  "workshops"};

template <std::size_t Size>
auto pick(const std::array<std::string_view, Size>& from, braid::random_source& random) -> std::string_view {
  return from[random.below(Size)];
}

void append_number(std::string& out, std::int64_t number) {
  std::array<char, std::numeric_limits<std::int64_t>::digits10 + 2> text{};
  out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
}

}  // namespace

auto demo_network::source_for(topic about, std::uint32_t user) const -> braid::random_source {
  braid::random_source by_seed(size_.seed);
  braid::random_source by_user(by_seed() + user);
  return braid::random_source(by_user() + static_cast<std::uint64_t>(about));
}

auto demo_network::profile(std::uint32_t user) const -> demo_profile {
  braid::random_source random = source_for(topic::profile, user);
  demo_profile made;
  if (random.below(users_per_secret) != 0) made.country = pick(countries, random);
  made.title = pick(first_names, random);
  made.title += " and the ";
  made.title += pick(adjectives, random);
  made.title += " ";
  made.title += pick(nouns, random);
  return made;
}

auto demo_network::follows(std::uint32_t user) -> std::vector<std::int64_t> {
  braid::random_source random = source_for(topic::follows, user);
  const double wanted = follow_scale / (1.0 - random.unit());  // division rounds alike everywhere, pow does not
  const std::uint32_t possible = std::min(max_follows, size_.users - 1);
  const std::uint32_t count = wanted < possible ? static_cast<std::uint32_t>(wanted) : possible;
  ++mark_;
  mark(user);
  std::vector<std::int64_t> chosen;
  while (chosen.size() < count) {
    const double u = random.unit();
    const auto other = static_cast<std::uint32_t>(u * u * size_.users) + 1;
    if (mark(other)) chosen.push_back(other);
  }
  return chosen;
}

auto demo_network::recommendations(std::uint32_t user) -> std::vector<std::int64_t> {
  const std::size_t followed = follows(user).size();  // and leaves them marked
  braid::random_source random = source_for(topic::recommendations, user);
  const std::size_t wanted = fewest_recommendations + random.below(max_recommendations - fewest_recommendations + 1);
  const std::size_t count = std::min<std::size_t>(wanted, size_.users - 1 - followed);
  std::vector<std::int64_t> chosen;
  while (chosen.size() < count) {
    const auto other = static_cast<std::uint32_t>(random.below(size_.users)) + 1;
    if (mark(other)) chosen.push_back(other);
  }
  return chosen;
}

auto demo_network::media(std::uint32_t user) const -> std::vector<std::int64_t> {
  // Users with low numbers publish more. If a share s of all users has higher numbers than `user`, these users together
  // have a share s * s of all media.
  const auto find_end = [this](std::uint64_t u) {
    const std::uint64_t left = size_.users - u;
    return size_.media - size_.media * left / size_.users * left / size_.users;
  };
  std::vector<std::int64_t> owned;
  for (std::uint64_t i = find_end(user - 1); i < find_end(user); ++i)
    owned.push_back(first_media + static_cast<std::int64_t>(i));
  return owned;
}

void append_hash(std::string& out, std::uint32_t user, const demo_profile& profile) {
  out += R"({"hash":"user:)";
  append_number(out, user);
  out += R"(","fields":{)";
  if (!profile.country.empty()) out.append(R"("country":")").append(profile.country).append(R"(",)");
  out.append(R"("title":")").append(profile.title).append("\"}}\n");
}

void append_list(std::string& out, std::string_view prefix, std::uint32_t user, const std::vector<std::int64_t>& ids) {
  out.append(R"({"list":")").append(prefix);
  append_number(out, user);
  out += R"(","values":[)";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ',';
    append_number(out, ids[i]);
  }
  out += "]}\n";
}

}  // namespace rankd
