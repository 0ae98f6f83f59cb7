// rankd/registry/detail/section.hpp: helpers that read one registry file row by row.
#pragma once

#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/registries.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::detail {

/// The contents of a registry file, and the errors found so far.
struct section {
  std::filesystem::path file;
  nlohmann::json document;  ///< an object; empty if the file is absent or cannot be read
  braid::diagnostics problems;
};

/// Reads a file. The file may be absent, unless `need` is `required`.
auto read_section(const std::filesystem::path& file, presence need) -> section;

/// Calls `read(row)` for each table of the array `table`. Then reports the fields that `read` has not read.
template <typename Read>
void for_each_row(section& section, std::string_view table, Read&& read) {
  object_reader top(section.document, "", section.problems);
  if (const nlohmann::json* rows = top.array(table, presence::optional)) {
    const std::string parent = top.pointer_of(table);
    for (std::size_t i = 0; i < rows->size(); ++i) {
      object_reader row((*rows)[i], braid::json_pointer(parent, i), section.problems);
      read(row);
      row.refuse_unknown_fields();
    }
  }
  top.refuse_unknown_fields();
}

/// Checks that each value is used only once. Remembers the first row that uses a value, and reports later rows with the
/// same value.
template <typename T>
class used_once {
 public:
  explicit used_once(std::string_view code) : code_(code) {}

  void claim(object_reader& row, std::string_view field, const T& value) {
    const auto [place, fresh] = first_.emplace(value, row.pointer());
    if (!fresh) row.report(field, code_, "this value is already used by " + place->second);
  }

  [[nodiscard]] auto contains(const T& value) const -> bool { return first_.contains(value); }

 private:
  std::string_view code_;
  std::map<T, std::string> first_;  ///< maps a value to the pointer of its row
};

/// These functions read the fields `name` (an identifier), `doc` and `status` of a row.
auto read_name(object_reader& row) -> std::string;
auto read_doc(object_reader& row) -> std::string;
auto read_status(object_reader& row) -> lifecycle;

/// Returns the endpoints of one environment.
auto read_endpoints(section& section, std::string_view environment) -> std::vector<endpoint_entry>;

/// Checks the lists of changed vectors that endpoints may have. Adds an error to `section` if the hash field that
/// contains the vectors is not a key of type vector. The endpoints must be in the order of the section.
void check_change_fields(const std::vector<endpoint_entry>& endpoints, const std::vector<key_entry>& keys,
                         section& section);

/// Returns the digest of each entry of a registry. Requires a valid document. The digest of an endpoint covers only the
/// fields that all environments share.
auto digests_of_entries(std::string_view registry, const nlohmann::json& document) -> std::vector<entry_digest>;

/// Adds an error to `other` for every endpoint whose id, name or kind differs from the endpoints in `ours`.
void compare_endpoints(const std::vector<endpoint_entry>& ours, const std::vector<endpoint_entry>& theirs,
                       section& other);

}  // namespace rankd::detail
