// rankd/server/events/detail/unknown_type.hpp: reports an event type that a project does not have.
#pragma once

#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/server/events/event_rules.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// Reports that `field` names no event type. Names the most similar type, or else all types.
inline void report_unknown_type(object_reader& row, std::string_view field, std::string_view type,
                                const event_rules& rules) {
  std::vector<std::string_view> known;
  std::string all;
  for (const event_type& each : rules.types()) {
    known.emplace_back(each.name);
    all += (all.empty() ? "" : ", ") + each.name;
  }
  std::string hint = braid::did_you_mean(type, known);
  if (hint.empty()) hint = "expected one of: " + all;
  row.report(field, "unknown_event", "there is no event type " + quote_name(type), std::move(hint));
}

}  // namespace rankd::detail
