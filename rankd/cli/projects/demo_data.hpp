// rankd/cli/projects/demo_data.hpp: a synthetic social network. The same parameters produce the same data on every
// machine.
#pragma once

#include <braid/base/random.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

struct demo_size {
  std::uint64_t seed = 1;
  std::uint32_t users = 10'000;
  std::uint32_t media = 100'000;
};

struct demo_profile {
  std::string_view country;  ///< empty for the few users who do not state it
  std::string title;
};

/// Generates the data of each user on request, in any order, without keeping all of it in memory. Users are numbered
/// from 1. Users with low numbers are followed more often and publish more. The number of users that a user follows has
/// a heavy tail: most users follow a dozen others, about ten of ten thousand users follow 5 000 others, and the mean is
/// about 50.
/// All functions require 1 <= user <= users. Threads: a single thread.
class demo_network {
 public:
  explicit demo_network(const demo_size& size) : size_(size), marked_(size.users + std::size_t{1}) {}

  [[nodiscard]] auto profile(std::uint32_t user) const -> demo_profile;
  /// Returns the distinct users that a user follows, without the user itself.
  auto follows(std::uint32_t user) -> std::vector<std::int64_t>;
  /// Returns 20 to 100 distinct users, or fewer if the network is too small. The user and the users that the user
  /// follows are left out.
  auto recommendations(std::uint32_t user) -> std::vector<std::int64_t>;
  /// Returns the ids of a user's media. No other user has the same ids.
  [[nodiscard]] auto media(std::uint32_t user) const -> std::vector<std::int64_t>;

 private:
  enum class topic : std::uint64_t { profile, follows, recommendations };

  [[nodiscard]] auto source_for(topic about, std::uint32_t user) const -> braid::random_source;
  /// Marks a user. Returns true if the user had not been marked since the last `++mark_`.
  auto mark(std::uint32_t user) -> bool { return std::exchange(marked_[user], mark_) != mark_; }

  demo_size size_;
  std::vector<std::uint32_t> marked_;  ///< for each user: the value of `mark_` when the user was last marked
  std::uint32_t mark_ = 0;
};

/// Appends a record as a complete line, in the format that `record_parser` reads.
void append_hash(std::string& out, std::uint32_t user, const demo_profile& profile);
void append_list(std::string& out, std::string_view prefix, std::uint32_t user, const std::vector<std::int64_t>& ids);

}  // namespace rankd
