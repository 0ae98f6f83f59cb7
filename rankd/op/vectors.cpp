// rankd/op/vectors.cpp: finds and caches the files of vectors.
#include <rankd/op/vectors.hpp>

#include <rankd/op/operator_list.hpp>

#include <algorithm>
#include <utility>

namespace rankd {

auto vector_folder::find_path(const endpoint_entry& endpoint) const -> std::filesystem::path {
  return root_ / std::get<file_resolver>(endpoint.resolver).path;
}

auto vector_folder::digest(const endpoint_entry& endpoint) -> braid::checked<std::string> {
  if (const auto known = open_.find(endpoint.endpoint_id); known != open_.end()) return known->second->digest();
  return vector_file::make_digest(find_path(endpoint));
}

auto vector_folder::find(const endpoint_entry& endpoint) -> braid::checked<std::shared_ptr<const vector_file>> {
  if (const auto known = open_.find(endpoint.endpoint_id); known != open_.end()) return known->second;
  auto opened = vector_file::open(find_path(endpoint));
  if (!opened) return std::unexpected(std::move(opened.error()));
  return open_.emplace(endpoint.endpoint_id, std::move(*opened)).first->second;
}

auto list_vectors(const plan& loaded) -> std::vector<std::string> {
  std::vector<std::string> ids;
  for (const plan_node& node : loaded.nodes)
    for (const param_shape& option : find_op(node.op)->shape.params)
      if (option.kind == param_kind::endpoint_ref &&
          std::ranges::find(option.choices, "vectors") != option.choices.end())
        ids.push_back(std::get<std::string>(node.find_param(option.name)->value));
  std::ranges::sort(ids);
  const auto repeats = std::ranges::unique(ids);
  ids.erase(repeats.begin(), repeats.end());
  return ids;
}

}  // namespace rankd
