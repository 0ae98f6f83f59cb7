// rankd/plan/source_location.cpp: finds the smallest source span that contains a pointer.
#include <rankd/plan/source_location.hpp>

#include <optional>
#include <utility>

namespace rankd {
namespace {

auto lies_in(std::string_view pointer, std::string_view whole) noexcept -> bool {
  return pointer.starts_with(whole) && (pointer.size() == whole.size() || pointer[whole.size()] == '/');
}

auto span_around(const plan& plan, std::string_view pointer) -> std::optional<source_span> {
  for (const plan_node& node : plan.nodes)
    if (lies_in(pointer, node.pointer)) return node.span;
  std::optional<source_span> smallest;  // a part comes after the whole
  for (const tree_span& each : plan.tree_spans)
    if (lies_in(pointer, each.pointer)) smallest = each.span;
  return smallest;
}

}  // namespace

auto source_location(const plan& plan, std::string_view pointer) -> std::string {
  const auto span = span_around(plan, pointer);
  if (!span || span->file >= plan.source_files.size()) return {};
  const std::string& file = plan.source_files[span->file];
  return file.substr(0, file.find('#')) + ":" + std::to_string(span->line) + ":" + std::to_string(span->column);
}

auto with_locations(const braid::diagnostics& problems, const plan& plan) -> braid::diagnostics {
  braid::diagnostics out;
  for (braid::diagnostic each : problems) {
    // A diagnostic that already has a source is about another file, so no location is added to it.
    const std::string place = each.source.empty() ? source_location(plan, each.pointer) : std::string();
    if (!place.empty()) each.message += " (" + place + ")";
    out.add(std::move(each));
  }
  return out;
}

}  // namespace rankd
