// rankd/rows/copied_rows.cpp: copies the columns of active rows, and the strings that these rows use.
#include <rankd/rows/copied_rows.hpp>

#include <rankd/registry/registries.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace rankd {
namespace {

class copier {
 public:
  copier(const row_set& rows, braid::arena& memory) : rows_(rows), memory_(memory) {}

  auto run() -> row_set {
    const batch& from = rows_.table();
    const std::span<keyed_column> columns = memory_.filled(from.columns().size(), keyed_column{});
    std::ranges::transform(from.columns(), columns.begin(), [this](const keyed_column& each) {
      return keyed_column{each.key_id, make_copy(each.values)};
    });
    if (const auto words = from.text_ids()) {
      const column ids{.values = *words, .validity = {}};
      return row_set(batch(texts(ids, *words), columns));
    }
    return row_set(batch(gathered(from.ids()), columns));
  }

 private:
  template <typename T>
  auto gathered(std::span<const T> values) -> std::span<const T> {
    const std::span<T> out = memory_.uninitialized<T>(rows_.size());
    T* next = out.data();
    rows_.for_each_row([&](std::uint32_t row) { *next++ = values[row]; });
    return out;
  }

  auto make_copy(const column& from) -> column {
    return std::visit(
        [&](const auto& values) -> column {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(values)>, string_values>)
            return {.values = texts(from, values), .validity = copy_validity(from)};
          else
            return {.values = gathered(values), .validity = copy_validity(from)};
        },
        from.values);
  }

  auto copy_validity(const column& column) -> bitmap {
    if (column.validity.all_set()) return {};
    const std::span<std::uint64_t> words = memory_.filled(words_for(rows_.size()), std::uint64_t{0});
    std::size_t at = 0;
    rows_.for_each_row([&](std::uint32_t row) {
      if (!column.is_null(row)) set_bit(words.data(), at);
      ++at;
    });
    return bitmap(words.data());
  }

  /// Copies the strings of active rows. New codes are assigned from 0 in the order of the strings' first use. A null
  /// row gets the code 0.
  auto texts(const column& column, const string_values& values) -> string_values {
    constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::uint32_t> moved(values.words->size(), none);
    std::vector<std::string_view> entries;
    const std::span<std::uint32_t> codes = memory_.filled(rows_.size(), std::uint32_t{0});
    std::size_t at = 0;
    rows_.for_each_row([&](std::uint32_t row) {
      std::uint32_t& code = codes[at++];
      if (column.is_null(row)) return;
      std::uint32_t& known = moved[values.codes[row]];
      if (known == none) {
        known = static_cast<std::uint32_t>(entries.size());
        entries.push_back(memory_.copied(values[row]));
      }
      code = known;
    });
    const std::span<std::string_view> kept = memory_.copied(std::span<const std::string_view>(entries));
    return {codes, memory_.make<dictionary>(kept), values.dimensions};
  }

  const row_set& rows_;
  braid::arena& memory_;
};

}  // namespace

auto copied_rows(const row_set& rows, braid::arena& memory) -> row_set { return copier(rows, memory).run(); }

}  // namespace rankd
