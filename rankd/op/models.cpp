// rankd/op/models.cpp: finds, reads and caches the files of models.
#include <rankd/op/models.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/op/detail/scoring.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// The file name extensions of models. `.txt` is LightGBM's text format, and `.ubj` is XGBoost's UBJSON.
constexpr std::array<std::string_view, 4> endings{".json", ".onnx", ".txt", ".ubj"};

/// The extensions of model files that trainers write but rankd cannot read.
constexpr std::array<std::string_view, 5> unread_endings{".model", ".bin", ".pkl", ".joblib", ".cbm"};

/// Returns a suggestion for a model that was not found: a similar name in the folder, or how to save the model in a
/// supported format.
auto hint_for(const fs::path& folder, std::string_view name) -> std::string {
  std::error_code error;
  for (const std::string_view ending : unread_endings)
    if (const std::string other = std::string(name).append(ending); fs::exists(folder / other, error))
      return other + " is not read; save the model of XGBoost as " + std::string(name) + ".json, of LightGBM as " +
             std::string(name) + ".txt, and of scikit-learn or CatBoost as " + std::string(name) + ".onnx";
  std::vector<std::string> names;
  for (const fs::path& each : model_files(folder)) names.push_back(each.stem().string());
  return braid::did_you_mean(name, {names.begin(), names.end()});
}

}  // namespace

model_folder::model_folder(fs::path folder, const registries& declared, file_reader read)
    : folder_(std::move(folder)), declared_(&declared), read_(std::move(read)) {
  if (!read_) read_ = read_model_file;
}

auto model_folder::find_file(std::string_view name) const -> braid::checked<fs::path> {
  if (folder_.empty())
    return refused("no_models", "the project has no folder for models", "set it in rankd.toml: models = \"models\"");
  std::vector<fs::path> found;
  std::error_code error;
  for (const std::string_view ending : endings)
    if (fs::path file = folder_ / std::string(name).append(ending); fs::exists(file, error))
      found.push_back(std::move(file));
  if (found.size() > 1)
    return refused("two_models",
                   "there are two files of the model `" + std::string(name) + "`, " + found[0].extension().string() +
                       " and " + found[1].extension().string(),
                   "delete the file that plans must not use", found.front());
  if (!found.empty()) return found.front();
  return refused("unknown_model", "there is no model `" + std::string(name) + "`", hint_for(folder_, name),
                 folder_ / std::string(name).append(endings.front()));
}

auto model_folder::find_entry(std::string_view name) -> entry& {
  if (const auto known = entries_.find(name); known != entries_.end()) return known->second;
  const auto file = find_file(name);
  entry made{.file = file.value_or(fs::path()),
             .text = file ? read_(*file) : std::unexpected(file.error()),
             .sha256 = {},
             .made = nullptr,
             .problems = {}};
  if (made.text) made.sha256 = sha256_hex(*made.text);
  return entries_.emplace(std::string(name), std::move(made)).first->second;
}

auto model_folder::digest(std::string_view name) -> braid::checked<std::string> {
  const entry& known = find_entry(name);
  if (!known.text) return std::unexpected(known.text.error());
  return known.sha256;
}

auto model_folder::find(std::string_view name) -> braid::checked<std::shared_ptr<const model>> {
  entry& known = find_entry(name);
  if (!known.text) return std::unexpected(known.text.error());
  if (known.made == nullptr && known.problems.empty()) {
    auto parsed = detail::parse_model(*known.text, known.file.string(), *declared_);
    if (parsed)
      known.made = std::move(*parsed);
    else
      known.problems = std::move(parsed.error());
  }
  if (!known.problems.empty()) return std::unexpected(known.problems);
  return known.made;
}

auto model_folder::warnings(std::string_view name) -> braid::diagnostics {
  const auto found = find(name);
  if (!found) return {};
  braid::diagnostics out = (*found)->warnings();
  out.set_source(find_entry(name).file.string());
  return out;
}

auto model_folder::stands_still() const -> bool {
  return std::ranges::all_of(entries_, [this](const auto& each) {
    const auto& [name, known] = each;
    const auto file = find_file(name);
    if (!file) return known.file.empty();
    const auto now = read_(*file);
    return *file == known.file && now.has_value() == known.text.has_value() && (!now || *now == *known.text);
  });
}

auto read_model_file(const fs::path& file) -> braid::checked<std::string> {
  return read_text_file(file, detail::max_model_bytes);
}

auto model_files(const fs::path& folder) -> std::vector<fs::path> {
  std::error_code error;
  std::vector<fs::path> out;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::ranges::find(endings, at->path().extension().string()) != endings.end()) out.push_back(at->path());
  std::ranges::sort(out);
  return out;
}

auto list_models(const plan& loaded) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const plan_node& node : loaded.nodes)
    if (const std::string_view option = find_op(node.op)->models; !option.empty()) {
      const std::vector<std::string>& named = node.find_param(option)->names;
      names.insert(names.end(), named.begin(), named.end());
    }
  std::ranges::sort(names);
  const auto repeats = std::ranges::unique(names);
  names.erase(repeats.begin(), repeats.end());
  return names;
}

}  // namespace rankd
