// rankd/cli/check_session.hpp: answers messages about artifacts, one line of JSON each, for `rankd check --stdin`.
#pragma once

#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace rankd {

class object_reader;

/// A session that checks artifacts against one project. It opens no store, and forgets each artifact after its check.
/// docs/plans.md has a table of the messages. Threads: one at a time.
class check_session {
 public:
  static constexpr std::size_t max_id = 100;  ///< bytes of the id of a message

  /// Answers one message with an object on one line, without a line feed. The answer repeats the `id` of the message.
  /// If the message itself is invalid, the member `error` of the answer says why. Blocks: on the disk, for a project
  /// and for files that the message names. Cost: bounded by the limits of artifacts.
  auto answer(std::string_view message) -> std::string;

  /// Returns the answer to a message that is longer than `max_bytes`.
  static auto answer_too_long(std::size_t max_bytes) -> std::string;

 private:
  struct opened {
    project where;
    registries declared;
  };

  static auto load(const std::filesystem::path& folder) -> braid::checked<opened>;
  auto open(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string>;
  auto check(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string>;
  auto check_tests(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string>;
  auto compare(object_reader& message, braid::diagnostics& problems) -> braid::checked<std::string>;

  std::optional<opened> project_;  // empty before the first project, and after an invalid one
};

}  // namespace rankd
