// rankd/server/endpoints/token_list.hpp: authenticates clients by bearer tokens, and keeps only digests of the tokens.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// A client that has a token. Lifetime: the list outlives it.
struct token_client {
  std::string_view name;         ///< the name of the token, or `client N` for the N-th
  bool may_force = false;        ///< whether the client may put its requests into arms of experiments
  bool may_see_shadows = false;  ///< whether the client may see the results of candidate plans that run as shadows
  bool may_send_events = false;
  bool may_write = false;  ///< whether the client may change records of embedded stores
  /// True if the client may try plans that are not served, write sources of plans, and change which versions of plans
  /// are served.
  bool may_edit = false;
};

/// The tokens of clients. Threads: any.
class token_list {
 public:
  /// Parses a text with one token on each line: `NAME [RIGHTS] TOKEN`. The client's name is optional and followed by
  /// blanks: `feed 5f0c…`. The rights are optional and separated by blanks or commas: `qa [force, events] 91d2…`. Empty
  /// lines and lines that begin with `#` are ignored. Errors: bad_token for a token with fewer than 16 characters, or
  /// with characters other than letters, digits and `-._~+/=`; unknown_right for a right that is not `force`, `shadow`,
  /// `events`, `write` or `edit`; duplicate_token; no_tokens.
  static auto parse(std::string_view text, const std::string& source) -> braid::checked<token_list>;
  /// Reads and parses a file of tokens. Blocks: on the disk. Errors: those of `parse`, unreadable_file.
  static auto read(const std::filesystem::path& file) -> braid::checked<token_list>;

  /// Returns the client whose token is in the field `Authorization`. Returns nothing if the token is invalid. Takes the
  /// same time for all tokens of the same length.
  [[nodiscard]] auto find_client(std::string_view authorization) const -> std::optional<token_client>;

 private:
  struct entry {
    std::string name;
    std::string digest;  // digest of the token
    bool may_force = false;
    bool may_see_shadows = false;
    bool may_send_events = false;
    bool may_write = false;
    bool may_edit = false;
  };

  std::vector<entry> entries_;
};

}  // namespace rankd
