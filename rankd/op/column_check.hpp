// rankd/op/column_check.hpp: checks that the records of a store have the columns that plans read from them.
#pragma once

#include <rankd/plan/key_template.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/record.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

struct column_check_options {
  /// The files from which records were loaded. If the list is empty, the records are in a store.
  std::span<const std::filesystem::path> files = {};
  std::span<const std::string> endpoints = {};  ///< only nodes that read these endpoints count; empty: all nodes
  /// The fields that the server itself writes. The data need not contain them.
  std::span<const std::string> written = {};
};

/// Compares records with the columns that the nodes of plans read (op_entry::records). If a name is misspelled in the
/// data or in a plan, the column is null in every row, and no request reports an error.
/// Threads: a single thread. Lifetime: the registries, and everything that the options refer to, must outlive the
/// object.
class column_check {
 public:
  explicit column_check(column_check_options options = {}) : options_(options) {}

  /// Adds the columns that the nodes of a plan read. Ignores keys that are not declared, because binding the plan
  /// reports them.
  void add(const plan& stated, const registries& declared);

  /// Checks one record. Cost: below 1 us for each form of keys (such as `product:*`) that the record is compared with.
  void see(std::string_view key, const record_view& record);

  /// Checks the records that plans read, at most `max_records` for each form of keys.
  /// Blocks: on the disk. Errors: those of the snapshot.
  auto read(const embedded_store::snapshot& snapshot, std::size_t max_records) -> braid::result<void>;

  /// Returns a missing_record warning for each form of keys for which there was no record.
  [[nodiscard]] auto missing_records() const -> braid::diagnostics;
  /// Reports missing_column for each column that is absent from all checked records of its form of keys. Forms without
  /// records are not reported.
  [[nodiscard]] auto missing_columns() const -> braid::diagnostics;
  /// Reports malformed_value for values that do not have the type of their key. For each column, names some records and
  /// the number of the remaining records.
  [[nodiscard]] auto malformed_values() const -> braid::diagnostics;
  /// Reports unread_record for keys that no plan reads, grouped by their prefix up to the first `:`. Keys that an
  /// operator reads regardless of its options are not reported. Reports nothing if no plan reads a store.
  [[nodiscard]] auto unread_records() const -> braid::diagnostics;

  /// The number of problems of each kind.
  struct counts {
    std::uint64_t malformed_values = 0;
    std::uint64_t missing_columns = 0;
    std::uint64_t unread_records = 0;
  };
  [[nodiscard]] auto count() const -> counts;

 private:
  /// A column that plans read from a field of a hash or from a whole string.
  struct column_read {
    std::string field;  ///< the field of the hash; empty for strings
    const key_entry* key = nullptr;
    std::set<std::string> plans = {};
    bool is_there = false;
    std::uint64_t malformed = 0;
    braid::diagnostics examples = {};
  };

  /// The records of one form of keys, such as `product:*`, and the columns that plans read from them.
  struct key_form {
    std::vector<std::string> literals;
    record_kind kind = record_kind::hash;
    std::string shown = {};
    std::vector<column_read> columns = {};
    std::uint64_t records = 0;
    bool is_whole = true;              ///< whether the check did not stop at `max_records`
    std::set<std::string> names = {};  ///< fields that the records had
  };

  /// Records with the same key prefix that no plan reads.
  struct unread_keys {
    std::uint64_t records = 0;
    std::string first = {};  ///< the first such key
    record_origin from = {};
  };

  auto find_form(std::string_view text, record_kind kind) -> key_form*;
  void add_keys(const plan_node& node);
  void note_unread(std::string_view key, record_origin origin);
  void add_column(key_form& form, std::string_view field, const key_entry* key, const std::string& plan_name);
  void add_node(const plan_node& node, const std::string& plan_name, const registries& declared);
  void look_at(key_form& form, std::string_view key, const record_view& record) const;
  void add_example(const key_form& form, column_read& column, std::string_view key, std::string_view text,
                   record_origin origin) const;

  column_check_options options_;
  std::vector<key_form> forms_;
  std::set<std::vector<std::string>> keys_read_ = {};  ///< literals of all keys that plans read
  std::map<std::string, unread_keys, std::less<>> unread_ = {};
};

}  // namespace rankd
