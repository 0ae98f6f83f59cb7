// rankd/cli/check_session.hpp: answers questions about artifacts, one line of JSON for each: `rankd check --stdin`.
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

/// One project that artifacts are checked against. It opens no store, and keeps nothing of an artifact.
/// docs/plans.md has a table of the messages. Threads: one at a time.
class check_session {
 public:
  static constexpr std::size_t max_id = 100;  ///< bytes of the id of a message

  /// Returns the answer to one message: an object on one line, without a line feed. It repeats the `id` of the message.
  /// The member `error` of the answer reports errors of the message itself. Blocks: on the disk, for a project and for
  /// files that the message names. Cost: bounded by the limits of artifacts.
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
