// rankd/cli/plan_tests/plan_tests.hpp: reads the compiled tests of a plan, NAME.tests.json: records, requests and
// expectations. All are checked before any test runs.
#pragma once

#include <rankd/engine/requests/request.hpp>
#include <rankd/expr/compile.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/faulty_store.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd {

/// The rule that the ids of an answer must follow.
enum class id_rule : std::uint8_t {
  exactly,    ///< these ids, in this order
  first,      ///< these ids before all others, in this order
  any_order,  ///< these ids and no others, each as often as listed
  contains,   ///< these ids among others
  excludes,   ///< none of these ids
  in_order,   ///< these ids in this order, with or without other ids between them
};

struct id_expectation {
  id_rule rule = id_rule::exactly;
  std::vector<row_id> ids;
};

/// The expected number of rows, as a range that includes both ends.
struct count_expectation {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

/// The expectation that at most `count` of any `window` consecutive rows have the same value. Rows without a value do
/// not count.
struct spread_expectation {
  const key_entry* key = nullptr;
  std::uint64_t count = 1;
  std::optional<std::uint64_t> window;  ///< nothing: all rows
};

/// The expectation that a predicate is true for all rows, or for no row.
struct row_expectation {
  bool holds = true;
  pred_program test;
  std::string text;  ///< the predicate as its author writes it
};

enum class sort_direction : std::uint8_t { ascending, descending };

/// The expectation that rows are sorted by a value. Rows without a value come last.
struct order_expectation {
  const key_entry* key = nullptr;
  sort_direction direction = sort_direction::ascending;
};

/// The expectation that the request fails with an error.
struct error_expectation {
  std::string code;
  std::string node;  ///< the node that fails; empty: any node
};

/// The expectation that exactly the listed fallbacks are used, each because of a failure.
struct degraded_expectation {
  std::vector<std::string> names;  ///< names of nodes in plan order, perhaps preceded by that of the plan; may be empty
};

struct expectation {
  std::variant<id_expectation, count_expectation, spread_expectation, row_expectation, order_expectation,
               error_expectation, degraded_expectation>
      what;
  std::string kind;   ///< the name of the kind in the artifact
  std::string place;  ///< such as "plans/feed.test.ts:12:5", or empty
};

/// One record in the store of a test: a hash, list, set, sorted set or string.
struct test_record {
  std::string key;
  std::string line;  ///< in the format of data files
};

/// The faults that a test injects into the store of an endpoint.
struct endpoint_fault {
  std::string endpoint_id;
  planted_fault fault;
};

/// A test: a store, a request, and the expectations for its answer.
struct plan_test {
  std::string name;
  std::string place;  ///< the same as in expectations
  /// The records of this test, and the records that all tests of the file share. If both have a record for a key, the
  /// record of this test is used.
  std::vector<test_record> records;
  std::vector<endpoint_fault> faults;
  rank_request request;
  std::vector<expectation> expected;  ///< at least one
};

/// A linear model that tests use instead of a model of the project.
struct stub_model {
  std::string name;
  std::string text;  ///< in the format of the files in the folder of models
};

/// Vectors that tests use instead of the file of an endpoint.
struct stub_vectors {
  std::string endpoint_id;
  std::string lines;  ///< in the format that `rankd vectors build` reads
};

/// The tests of one plan.
struct plan_tests {
  std::string plan;
  std::vector<stub_model> models = {};
  std::vector<stub_vectors> vectors = {};
  std::vector<plan_test> tests;  ///< at least one; all have different names
};

inline constexpr std::size_t max_plan_tests = 1'000;         ///< in one file
inline constexpr std::size_t max_test_expectations = 1'000;  ///< in one test

/// Reads the tests of a plan from NAME.tests.json. Lifetime: the registries outlive the result.
/// Blocks: on the disk.
/// Errors: those of read_json_file and parse_plan_tests, and name_mismatch.
auto load_plan_tests(const std::filesystem::path& file, const registries& declared) -> braid::checked<plan_tests>;

/// Parses the tests of a plan from a text. The message of a diagnostic ends with the location in the author's file, if
/// this location is known.
/// Errors: all diagnostics at once: those of `parse_json`, `object_reader`, `parse_request`, `parse_pred`,
/// `compile_pred` and `record_parser`; unsupported_schema, registry_changed, unknown_key, unreadable_key,
/// unknown_endpoint, wrong_endpoint_kind, bad_name, duplicate_key, duplicate_value, no_tests, no_expectations,
/// too_many_tests, too_many_expectations, plan_mismatch.
auto parse_plan_tests(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<plan_tests>;

}  // namespace rankd
