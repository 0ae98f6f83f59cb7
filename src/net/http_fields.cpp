// src/net/http_fields.cpp: finds a header field by its name.
#include <braid/net/http_message.hpp>

namespace braid {

auto detail::same_name(std::string_view a, std::string_view b) noexcept -> bool {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (detail::lower(a[i]) != detail::lower(b[i])) return false;
  return true;
}

auto http_fields::find(std::string_view name) const noexcept -> std::optional<std::string_view> {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const http_fields::field field = (*this)[i];
    if (detail::same_name(field.name, name)) return field.value;
  }
  return std::nullopt;
}

auto http_fields::count(std::string_view name) const noexcept -> std::size_t {
  std::size_t found = 0;
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (detail::same_name((*this)[i].name, name)) ++found;
  return found;
}

}  // namespace braid
