// rankd/cli/plan_tests/answer_check.hpp: compares an answer with the expectations of a test, with readable differences.
#pragma once

#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/engine/ranking.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rankd {

/// An expectation that the answer does not meet.
struct mismatch {
  std::string kind;              ///< the kind of the expectation
  std::string place;             ///< the location in the author's file, or empty
  std::string message;           ///< one sentence
  std::vector<row_id> expected;  ///< ids, only for expectations about ids
  std::vector<row_id> got;
  std::optional<std::size_t> position;  ///< the position of the first row that is not as expected, from 1
  std::vector<row_id> missing;          ///< expected ids that are absent, each once
  std::vector<std::string> fates;  ///< for each missing id: a sentence about the node that lost it, once that is known
};

/// Returns all expectations that the answer does not meet, in order. Requires an answer to the request of the test.
auto find_mismatches(const plan_test& test, const ranking& answer) -> std::vector<mismatch>;

}  // namespace rankd
