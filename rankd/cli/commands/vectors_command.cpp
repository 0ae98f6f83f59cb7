// rankd/cli/commands/vectors_command.cpp: rankd vectors: builds, describes and searches files of vectors.
#include <rankd/cli/commands/vectors_command.hpp>

#include <rankd/cli/detail/common_options.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>
#include <rankd/store/detail/vector_layout.hpp>
#include <rankd/store/vector_build.hpp>
#include <rankd/store/vector_claims.hpp>
#include <rankd/store/vector_file.hpp>
#include <rankd/store/vector_merge.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto write(const fs::path& file, const std::string& bytes) -> braid::checked<void> {
  const auto failed = [&file](std::error_code error) {
    return refused("output_unwritable", "the output cannot be written: " + error.message(), {}, file);
  };
  auto out = atomic_file::create(file);
  if (!out) return failed(out.error());
  if (const auto written = out->write(bytes); !written) return failed(written.error());
  if (const auto finished = out->finish(); !finished) return failed(finished.error());
  return {};
}

/// The name of the graph index.
constexpr std::string_view hnsw = "hnsw";

/// The names of the distance metrics, in the order of vector_metric.
const std::array<std::string, 3> metric_names{std::string(to_string(vector_metric::dot)),
                                              std::string(to_string(vector_metric::cosine)),
                                              std::string(to_string(vector_metric::l2))};

/// Returns the id of a row in the form in which it was read.
auto id_of(const vector_table& table, std::size_t row) -> row_id {
  if (table.texts.empty()) return table.ids[row];
  return table.texts[row];
}

/// Returns the id of a vector that a search has found.
auto id_of(const vector_file& file, std::int64_t id) -> row_id {
  if (file.id_type() == value_type::integer) return id;
  return std::string(file.text(id));
}

auto parse_metric(const std::string& name) -> vector_metric {
  return static_cast<vector_metric>(std::ranges::find(metric_names, name) - metric_names.begin());
}

/// Returns the part of a sentence that says how the vectors of a file are indexed.
auto describe(const vector_index& index) -> std::string {
  if (const auto* const lists = std::get_if<vector_lists>(&index))
    return lists->count == 0 ? "" : " in " + counted(lists->count, "list");
  const auto& graph = std::get<vector_graph>(index);
  return " in a graph (hnsw, m " + std::to_string(graph.m) + ", ef_construction " +
         std::to_string(graph.ef_construction) + ", metric " + std::string(to_string(graph.metric)) + ")";
}

/// Returns the title of a build's progress bar.
auto describe_work(const vector_index& index) -> std::string {
  return std::holds_alternative<vector_graph>(index) ? "making the graph" : "making lists";
}

/// Writes a file of vectors, and returns a sentence that describes the file.
auto write_built(const built_vectors& built, std::uint32_t dimensions, const fs::path& out)
    -> braid::checked<std::string> {
  if (auto written = write(out, built.bytes); !written) return std::unexpected(std::move(written.error()));
  return "wrote " + counted(built.vectors, "vector") + " of " + counted(dimensions, "dimension") +
         describe(built.index) + " (" + std::to_string(built.bytes.size()) + " bytes) to " + printable(out.string());
}

/// Builds a file from vectors, and writes the file. Returns a sentence that describes the file.
auto build_file(vector_table table, const vector_index& index, const fs::path& out) -> braid::checked<std::string> {
  const std::uint32_t dimensions = table.dimensions;
  braid::checked<built_vectors> built;
  {
    progress_bar bar(describe_work(index));
    built = build_vectors(std::move(table), index,
                          [&bar](std::uint64_t done, std::uint64_t total) { bar.show(done, total); });
  }
  if (!built) return std::unexpected(std::move(built.error()));
  return write_built(*built, dimensions, out);
}

/// Returns the kind of index that the options select.
auto chosen_index(const vectors_build_options& options) -> vector_index {
  const auto seed = static_cast<std::uint64_t>(options.seed);
  if (options.index.empty()) return vector_lists{.count = static_cast<std::uint32_t>(options.lists), .seed = seed};
  return vector_graph{.m = static_cast<std::uint32_t>(options.m),
                      .ef_construction = static_cast<std::uint32_t>(options.ef_construction),
                      .metric = parse_metric(options.metric),
                      .seed = seed};
}

/// Returns an error if the file to write is one of the files to read.
auto find_overwritten(const std::vector<fs::path>& data, const fs::path& out) -> braid::diagnostics {
  std::error_code error;
  for (const fs::path& each : data)
    if (fs::equivalent(each, out, error))
      return make_diagnostic("out_is_input", printable(out.string()) + " is one of the files to read",
                             "name another file by --out");
  return {};
}

/// Locks the file if a server uses it, so that the server cannot merge changes into the file. Otherwise changes that
/// the server merged at the same time would be lost, because the command would then replace the file with a file that
/// lacks these changes.
auto lock_merge(const fs::path& file, std::optional<vector_claims>& into) -> braid::checked<void> {
  std::error_code error;
  if (!fs::exists(file.string() + ".lock", error)) return {};
  auto opened = vector_claims::open(file);
  const auto locked = opened ? opened->try_lock() : braid::result<bool>(braid::fail(opened.error()));
  if (!locked)
    return refused("vectors_not_locked", "the lock file cannot be used: " + locked.error().message(), {},
                   file.string() + ".lock");
  if (!*locked)
    return refused("vectors_busy", "a server is merging changes into this file", "try again when it has ended", file);
  into.emplace(std::move(*opened));
  return {};
}

}  // namespace

auto vectors_build_command(const vectors_build_options& options) -> exit_status {
  if (const auto problems = find_overwritten(options.data, options.out); !problems.empty()) return report(problems);
  braid::checked<vector_table> table;
  {
    progress_bar bar("reading");
    table = read_vectors(options.data, static_cast<std::uint32_t>(options.dimensions),
                         [&bar](std::uint64_t done, std::uint64_t total) { bar.show(done, total); });
  }
  if (!table) return report(table.error());
  if (const std::size_t count = table->size(); static_cast<std::uint64_t>(options.lists) > count)
    return report(make_diagnostic("too_many_lists",
                                  "--lists must be at most the number of vectors, " + std::to_string(count) + "; got " +
                                      std::to_string(options.lists),
                                  "about the square root of the number of vectors is usual"));
  const auto written = build_file(std::move(*table), chosen_index(options), options.out);
  if (!written) return report(written.error());
  print(*written + "\n");
  return exit_status::fine;
}

auto vectors_merge_command(const vectors_merge_options& options) -> exit_status {
  if (const auto problems = find_overwritten(options.data, options.out); !problems.empty()) return report(problems);
  const fs::path& out = options.out.empty() ? options.file : options.out;
  std::optional<vector_claims> alone;  // until the file is replaced
  if (auto locked = lock_merge(out, alone); !locked) return report(locked.error());
  const auto base = vector_file::open(options.file);
  if (!base) return report(base.error());
  auto changes = read_vector_changes(options.data, **base);
  if (!changes) return report(changes.error());
  const std::size_t changed = changes->changed.size();
  const std::size_t deleted = changes->deleted.size();
  braid::checked<built_vectors> merged;
  {
    progress_bar bar(describe_work(find_index(**base)));
    merged = merge_vectors(**base, std::move(*changes),
                           [&bar](std::uint64_t done, std::uint64_t total) { bar.show(done, total); });
  }
  if (!merged) return report(merged.error());
  const auto written = write_built(*merged, (*base)->dimensions(), out);
  if (!written) return report(written.error());
  print("merged " + counted(changed, "vector") + " and " + counted(deleted, "deletion") + ", " + *written + "\n");
  return exit_status::fine;
}

auto vectors_show_command(const vectors_show_options& options) -> exit_status {
  const auto opened = vector_file::open(options.file);
  if (!opened) return report(opened.error(), options.form);
  const vector_file& in = **opened;
  if (options.form == output_form::programs) {
    nlohmann::ordered_json out = {{"vectors", in.size()},
                                  {"dimensions", in.dimensions()},
                                  {"ids", to_string(in.id_type())},
                                  {"lists", in.lists()},
                                  {"seed", in.seed()},
                                  {"bytes", in.bytes()},
                                  {"digest", in.digest()}};
    if (const auto graph = in.graph())
      out["graph"] = {{"index", hnsw},
                      {"m", graph->m},
                      {"ef_construction", graph->ef_construction},
                      {"metric", to_string(graph->metric)}};
    print(out.dump() + "\n");
    return exit_status::fine;
  }
  print(counted(in.size(), "vector") + " of " + counted(in.dimensions(), "dimension") +
        (in.id_type() == value_type::string ? ", ids are strings" : "") + describe(find_index(in)) +
        (in.lists() == 0 && !in.graph() ? "" : ", seed " + std::to_string(in.seed())) + ", " +
        std::to_string(in.bytes()) + " bytes\ndigest " + in.digest() + "\n");
  return exit_status::fine;
}

namespace {

/// The totals over the searches of all queries.
struct search_totals {
  std::vector<std::chrono::steady_clock::duration> times;
  std::uint64_t looked_at = 0;
  std::uint64_t found = 0;
  std::uint64_t nearest = 0;  ///< of the vectors that an exact search finds
};

/// Reports on standard error if `--probe` has no effect, because the file has no lists or fewer lists.
void note_unused_probe(const vector_file& file, const vectors_search_options& options) {
  if (options.probe == 0 || (file.lists() != 0 && options.probe <= file.lists())) return;
  std::cerr << "rankd: " << printable(options.file.string()) << " has "
            << (file.lists() == 0 ? std::string("no lists") : counted(file.lists(), "list"))
            << ", so --probe has no effect and all vectors are searched; `rankd vectors build --lists N` makes lists\n";
}

auto format_line(const row_id& id, const vector_file& file, const std::vector<neighbour>& all) -> std::string {
  std::string out = "{\"id\":";
  append_json_id(out, id);
  out += ",\"nearest\":[";
  for (const neighbour& each : all) {
    out += out.back() == '[' ? "[" : ",[";
    append_json_id(out, id_of(file, each.id));
    out += ',';
    append_json_number(out, each.score);
    out += ']';
  }
  return out + "]}\n";
}

void report_totals(search_totals all, std::size_t queries, const vectors_search_options& options) {
  const double count = static_cast<double>(queries);
  std::array<char, 160> text{};
  std::ranges::sort(all.times);
  std::snprintf(text.data(), text.size(), "%.1f us per query (median), %.0f vectors compared per query",
                std::chrono::duration<double, std::micro>(all.times[all.times.size() / 2]).count(),
                static_cast<double>(all.looked_at) / count);
  std::cerr << text.data();
  if (options.has_recall) {
    std::snprintf(text.data(), text.size(), ", recall %.4f",
                  static_cast<double>(all.nearest) / static_cast<double>(std::max<std::uint64_t>(all.found, 1)));
    std::cerr << text.data();
  }
  std::cerr << "\n";
}

}  // namespace

auto vectors_search_command(const vectors_search_options& options) -> exit_status {
  const auto opened = vector_file::open(options.file);
  if (!opened) return report(opened.error());
  const vector_file& in = **opened;
  note_unused_probe(in, options);
  const auto queries = read_vectors(std::vector{options.queries}, in.dimensions());
  if (!queries) return report(queries.error());
  const nearest_options how{.metric = parse_metric(options.metric),
                            .count = static_cast<std::size_t>(options.count),
                            .lists = static_cast<std::size_t>(options.probe),
                            .ef_search = static_cast<std::size_t>(options.ef_search)};
  if (const auto graph = in.graph(); graph && options.ef_search != 0 && graph->metric != how.metric)
    return report(make_diagnostic("metric_differs",
                                  "the graph in " + printable(options.file.string()) + " was made for the metric " +
                                      std::string(to_string(graph->metric)) + ", but --metric is " + options.metric,
                                  "search by this metric, or build the file with --metric " + options.metric));
  search_totals all;
  for (std::size_t row = 0; row < queries->size(); ++row) {
    const std::span<const float> numbers = queries->at(row);
    const std::string_view query(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
    const auto begin = std::chrono::steady_clock::now();
    const nearest_found found = in.nearest(query, how);
    all.times.push_back(std::chrono::steady_clock::now() - begin);
    all.looked_at += found.looked_at;
    print(format_line(id_of(*queries, row), in, found.all));
    if (!options.has_recall) continue;
    const auto exact = in.nearest(query, {.metric = how.metric, .count = how.count}).all;
    all.found += exact.size();
    for (const neighbour& each : exact) all.nearest += std::ranges::count(found.all, each);
  }
  report_totals(std::move(all), queries->size(), options);
  return exit_status::fine;
}

namespace {

auto is_metric() -> CLI::IsMember {
  return CLI::IsMember(std::vector<std::string>(metric_names.begin(), metric_names.end()));
}

void add_build(CLI::App& command, std::function<exit_status()>& chosen) {
  auto* build = command.add_subcommand("build", R"(Make a file from NDJSON: {"id": 7, "vector": [0.5, -1]} lines)");
  auto made = std::make_shared<vectors_build_options>();
  build->add_option("data", made->data, "NDJSON files")->required()->check(check_not_empty)->type_name("DATA");
  build->add_option("--out", made->out, "File to write; an existing file is replaced atomically")
      ->required()
      ->check(check_not_empty)
      ->type_name("FILE");
  build->add_option("--dimensions", made->dimensions, "Length of each vector; default: the length of the first vector")
      ->check(whole_number(1, max_dimensions));
  auto* lists =
      build
          ->add_option(
              "--lists", made->lists,
              "Number of lists that group near vectors, so that a search can read only some lists; default: no lists")
          ->check(whole_number(1, detail::max_lists));
  auto* index = build
                    ->add_option("--index", made->index,
                                 "hnsw: a graph that links near vectors, for fast approximate searches; default: none")
                    ->check(CLI::IsMember(std::vector{std::string(hnsw)}))
                    ->excludes(lists);
  build
      ->add_option("--m", made->m,
                   "Number of links of each vector in the graph, twice as many in its lowest layer; default: 16")
      ->check(whole_number(min_m, max_m))
      ->needs(index);
  build
      ->add_option("--ef-construction", made->ef_construction,
                   "Width of the search for these links: more takes longer, and finds better links; default: 200")
      ->check(whole_number(1, max_ef_construction))
      ->needs(index);
  build
      ->add_option("--metric", made->metric,
                   "Metric of the graph, which must be the metric of the endpoint: dot, cosine or l2; default: dot")
      ->check(is_metric())
      ->needs(index);
  build->add_option("--seed", made->seed, "Seed for the lists or the graph; default: 1")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  build->callback([made, &chosen] { chosen = [made] { return vectors_build_command(*made); }; });
}

}  // namespace

void add_vectors(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("vectors", "Make files of vectors for nearest-neighbor search in plans");
  command->require_subcommand(1);

  add_build(*command, chosen);

  auto* merge = command->add_subcommand(
      "merge", R"(Change vectors by lines as for `build`, and delete vectors by lines such as {"delete": 7})");
  auto merged = std::make_shared<vectors_merge_options>();
  merge->add_option("file", merged->file, "A file that `rankd vectors build` has written; it is replaced atomically")
      ->required()
      ->check(check_not_empty)
      ->type_name("FILE");
  merge->add_option("data", merged->data, "NDJSON files")->required()->check(check_not_empty)->type_name("DATA");
  merge->add_option("--out", merged->out, "File to write instead of FILE")->check(check_not_empty)->type_name("FILE");
  merge->callback([merged, &chosen] { chosen = [merged] { return vectors_merge_command(*merged); }; });

  auto* search = command->add_subcommand("search", "Print the nearest vectors for each vector of an NDJSON file");
  auto asked = std::make_shared<vectors_search_options>();
  search->add_option("file", asked->file, "A file that `rankd vectors build` has written")
      ->required()
      ->check(check_not_empty)
      ->type_name("FILE");
  search->add_option("--queries", asked->queries, "NDJSON file with one query vector on each line, as for `build`")
      ->required()
      ->check(check_not_empty)
      ->type_name("DATA");
  search->add_option("--count", asked->count, "Neighbors for each query; default: 10")->check(whole_number(1, 100'000));
  search->add_option("--metric", asked->metric, "dot, cosine or l2; default: dot")->check(is_metric());
  search->add_option("--probe", asked->probe, "Lists to search; default: all")
      ->check(whole_number(1, detail::max_lists));
  search
      ->add_option("--ef-search", asked->ef_search,
                   "Width of the search of a graph: more takes longer, and finds more; default: search exactly")
      ->check(whole_number(1, 100'000));
  search->add_flag("--recall", asked->has_recall, "Also compare each result with an exact search");
  search->callback([asked, &chosen] { chosen = [asked] { return vectors_search_command(*asked); }; });

  auto* show = command->add_subcommand("show", "Check and describe a vector file");
  auto shown = std::make_shared<vectors_show_options>();
  show->add_option("file", shown->file, "A file that `rankd vectors build` has written")
      ->required()
      ->check(check_not_empty)
      ->type_name("FILE");
  detail::add_form(*show, shown->form);
  show->callback([shown, &chosen] { chosen = [shown] { return vectors_show_command(*shown); }; });
}

}  // namespace rankd
