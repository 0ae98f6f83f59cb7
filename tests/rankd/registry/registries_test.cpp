// tests/rankd/registry/registries_test.cpp: the base set, and a table of everything that can be wrong with one.
#include <rankd/registry/registries.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/tables/table.hpp>
#include <tests/support/scratch_folder.hpp>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;

namespace {

using files = std::map<std::string, std::string>;
using lines = std::vector<std::string>;

/// A small registry without a fault, which the table changes.
auto good_files() -> files {
  files out;
  for (const char* name : {"keys.toml", "params.toml", "capabilities.toml", "endpoints.test.toml"})
    out.emplace(name, rankd::testing::table_file("good_registries/" + std::string(name)));
  return out;
}

auto load(const files& all, std::string_view environment = "test") -> braid::checked<registries> {
  const braid::testing::scratch_folder folder;
  for (const auto& [name, text] : all) folder.write(name, text);
  auto out = registries::load(folder.path(), environment);
  if (out) return out;
  braid::diagnostics shortened;  // the folder's name differs from run to run
  for (braid::diagnostic item : out.error()) {
    item.source = std::filesystem::path(item.source).filename();
    shortened.add(std::move(item));
  }
  return std::unexpected(std::move(shortened));
}

auto diagnostics(const files& all, std::string_view environment = "test") -> lines {
  const auto read = load(all, environment);
  lines out;
  if (read) return out;
  for (const auto& item : read.error()) out.push_back(item.source + " " + item.code + " " + item.pointer);
  return out;
}

auto replaced(std::string text, std::string_view from, std::string_view to) -> std::string {
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

/// A change of one file of the good ones that makes it wrong: a line of the table.
struct bad_edit {
  std::string name;
  std::string file;
  std::string text;
  lines diagnostics;  ///< "file code pointer"
};

auto bad_edits() -> std::vector<bad_edit> {
  std::vector<bad_edit> out;
  std::istringstream table(rankd::testing::table_file("bad_registries.ndjson"));
  for (std::string line; std::getline(table, line);) {
    const auto row = nlohmann::json::parse(line);
    const std::string file = row.at("file");
    bad_edit each{.name = row.at("case"),
                  .file = file,
                  .text = rankd::testing::document_of(row, good_files().at(file)),
                  .diagnostics = {}};
    for (const auto& item : row.at("diagnostics"))
      each.diagnostics.push_back(file + " " + item.at("code").get<std::string>() + " " +
                                 item.at("pointer").get<std::string>());
    out.push_back(std::move(each));
  }
  return out;
}

}  // namespace

TEST_CASE("the base set of the repository is what the document says") {
  const auto read = registries::load("registry", "test");
  REQUIRE(read);
  lines keys;
  for (const auto& key : read->keys()) keys.push_back(std::to_string(key.key_id) + " " + key.name);
  CHECK(keys == lines{"1 id", "1001 model_score_1", "1002 model_score_2", "2001 final_score", "3001 country",
                      "3002 title", "4001 features_esr", "4002 features_lsr"});
  CHECK(read->find_key(2001)->default_value == scalar(0.0));
  CHECK(read->find_key("title")->type == value_type::string);
  CHECK_FALSE(read->find_key(1)->allow_write);
  REQUIRE(read->params().size() == 6);
  for (const auto& param : read->params().first(3)) CHECK(is_null(param.default_value));
  CHECK(read->find_param("page_size")->default_value == scalar(std::int64_t{20}));
  CHECK(read->find_param("blocklist_regex")->nullable);
  CHECK(read->index_of(*read->find_param("esr_cutoff")) == 2);
  REQUIRE(read->capabilities().size() == 12);
  CHECK(read->capabilities().front().id == "cap.rfc.0001.arithmetic.v1");
  CHECK(read->capabilities().back().id == "cap.rfc.0012.hedge.v1");
}

TEST_CASE("the endpoints of the base set differ between environments only in who answers") {
  std::vector<std::string> digests;
  for (const char* environment : {"dev", "test", "prod"}) {
    const auto read = registries::load("registry", environment);
    REQUIRE(read);
    const auto* redis = read->find_endpoint("ep_0001");
    REQUIRE(redis != nullptr);
    CHECK(redis->name == "redis_default");
    CHECK(redis->kind == endpoint_entry::kind_type::redis);
    CHECK(std::holds_alternative<static_resolver>(redis->resolver) == (std::string_view(environment) == "prod"));
    CHECK(read->find_endpoint("ep_0002")->kind == endpoint_entry::kind_type::http);
    digests.push_back(read->digests().back().sha256);
  }
  CHECK(digests[0] == digests[1]);
  CHECK(digests[0] == digests[2]);
}

TEST_CASE("every field reaches its entry") {
  const auto read = load(good_files());
  REQUIRE(read);
  const auto* country = read->find_key("country");
  REQUIRE(country != nullptr);
  CHECK(country->status == lifecycle::deprecated);
  CHECK(country->replaced_by == 7U);
  CHECK(country->allow_write);
  CHECK(read->find_key(7)->default_value == scalar(0.5));
  CHECK(read->find_param(2)->default_value == scalar(3.0));
  CHECK(read->find_capability("cap.rfc.0001.math.v1")->payload_schema == R"({"type":"object"})");
  const auto* cache = read->find_endpoint("ep_0001");
  CHECK(std::get<embedded_resolver>(cache->resolver).path == "x.lmdb");
  CHECK(cache->policy.max_inflight == 3);
  CHECK(cache->policy.connect_timeout.count() == 4);
  CHECK(cache->policy.request_timeout.count() == 5);
  CHECK(cache->policy.connections == 6);
  const auto& api = std::get<static_resolver>(read->find_endpoint("ep_0002")->resolver);
  CHECK(api.host == "localhost");
  CHECK(api.port == 80);
  CHECK_FALSE(api.by_grpc);
  CHECK(read->find_endpoint("ep_0002")->policy.request_timeout.count() == 1000);
}

TEST_CASE("a server of models is called by JSON or gRPC, and no other server") {
  const auto with = [](std::string_view from, std::string_view to) {
    files all = good_files();
    all["endpoints.test.toml"] = replaced(all["endpoints.test.toml"], from, to);
    return all;
  };
  for (const bool is_grpc : {false, true}) {
    const auto read =
        load(with("port = 80", is_grpc ? R"(port = 80, protocol = "grpc")" : R"(port = 80, protocol = "json")"));
    REQUIRE(read);
    CHECK(std::get<static_resolver>(read->find_endpoint("ep_0002")->resolver).by_grpc == is_grpc);
  }
  CHECK(diagnostics(with("port = 80", R"(port = 80, protocol = "rest")")) ==
        lines{"endpoints.test.toml bad_value /endpoint/1/resolver/protocol"});
  files redis = with("port = 80", R"(port = 80, protocol = "grpc")");
  redis["endpoints.test.toml"] = replaced(redis["endpoints.test.toml"], "\"http\"", "\"redis\"");
  CHECK(diagnostics(redis) == lines{"endpoints.test.toml unknown_field /endpoint/1/resolver/protocol"});
}

TEST_CASE("a param of the context is required, or has a default, or may be null, and is overridden only if allowed") {
  const auto of = [](const std::string& more) {
    files all = good_files();
    all["params.toml"] = replaced(all["params.toml"], "nullable = false\ndefault = 3\n", more);
    const auto read = load(all);
    REQUIRE(read);
    return read->params().front();
  };
  const param_entry usual = of("nullable = false\n");
  CHECK(usual.source == param_source::overrides);
  CHECK(usual.allow_write);
  CHECK_FALSE(usual.required);
  CHECK(of("nullable = false\nsource = \"override\"\n").source == param_source::overrides);
  const param_entry demanded = of("nullable = false\nsource = \"context\"\nrequired = true\n");
  CHECK(demanded.source == param_source::context);
  CHECK(demanded.required);
  CHECK_FALSE(demanded.allow_write);
  CHECK(of("nullable = true\nsource = \"context\"\nallow_write = true\n").allow_write);
  CHECK(of("nullable = false\nsource = \"context\"\ndefault = 2\n").default_value == scalar(2.0));
  CHECK(to_string(param_source::overrides) == "override");
  CHECK(to_string(param_source::context) == "context");
}

TEST_CASE("what is not declared is not found") {
  const auto read = load(good_files());
  REQUIRE(read);
  CHECK(read->find_key(8) == nullptr);
  CHECK(read->find_key("scor") == nullptr);
  CHECK(read->find_param(1) == nullptr);
  CHECK(read->find_param("zzz") == nullptr);
  CHECK(read->find_endpoint("ep_0003") == nullptr);
  CHECK(read->find_capability("cap.rfc.0001.math.v2") == nullptr);
  CHECK(read->key_names() == std::vector<std::string_view>{"id", "score", "country"});
  CHECK(read->param_names() == std::vector<std::string_view>{"weight"});
}

TEST_CASE("each fault is named by its code and place, and nothing else is said") {
  const std::vector<bad_edit> edits = bad_edits();
  CHECK(edits.size() >= 80);
  for (const bad_edit& edit : edits) {
    files all = good_files();
    all[edit.file] = edit.text;
    CHECK_MESSAGE(diagnostics(all) == edit.diagnostics, edit.name);
  }
}

TEST_CASE("diagnostics about all files come at once, each naming its file") {
  files all = good_files();
  all["keys.toml"] = "x = ";
  all["params.toml"] = "[[param]]\n";
  all.erase("endpoints.test.toml");
  CHECK(diagnostics(all) == lines{"keys.toml toml_syntax ", "params.toml missing_field /param/0",
                                  "params.toml missing_field /param/0", "params.toml missing_field /param/0",
                                  "params.toml missing_field /param/0", "endpoints.test.toml unreadable_file "});
}

TEST_CASE("capabilities may be absent, keys and params may not") {
  files all = good_files();
  all.erase("capabilities.toml");
  CHECK(diagnostics(all).empty());
  all.erase("keys.toml");
  all.erase("params.toml");
  CHECK(diagnostics(all) == lines{"keys.toml unreadable_file ", "params.toml unreadable_file "});
}

TEST_CASE("a misspelt field gets the right one as a hint") {
  files all = good_files();
  all["keys.toml"] = replaced(all["keys.toml"], "replaced_by", "replaced_bi");
  const auto read = load(all);
  REQUIRE_FALSE(read);
  CHECK(read.error().front().hint == "did you mean `replaced_by`?");
}

TEST_CASE("an environment that does not exist is refused") {
  const auto read = load(good_files(), "prodd");
  REQUIRE_FALSE(read);
  CHECK(read.error().front().code == "unknown_environment");
  CHECK(read.error().front().hint == "did you mean `prod`?");
}

TEST_CASE("an endpoint of kind redis may be a cluster, which is found by one of its nodes at least") {
  const auto with_resolver = [](const std::string& resolver) {
    files all = good_files();
    all["endpoints.test.toml"] =
        replaced(all["endpoints.test.toml"], R"({ type = "embedded", path = "x.lmdb" })", resolver);
    return all;
  };
  const auto read = load(with_resolver(
      R"({ type = "cluster", nodes = [{ host = "a", port = 1 }, { host = "b", port = 2 }], reads = "replicas", tls = true })"));
  REQUIRE(read);
  const auto& cluster = std::get<cluster_resolver>(read->find_endpoint("ep_0001")->resolver);
  REQUIRE(cluster.nodes.size() == 2);
  CHECK(cluster.nodes[1].host == "b");
  CHECK(cluster.nodes[1].port == 2);
  CHECK(cluster.from_replicas);
  CHECK(cluster.by_tls);
  const auto wrong = [&](const std::string& rest) {
    return diagnostics(with_resolver("{ type = \"cluster\"" + rest + " }"));
  };
  CHECK(wrong("") == lines{"endpoints.test.toml missing_field /endpoint/0/resolver"});
  CHECK(wrong(", nodes = []") == lines{"endpoints.test.toml bad_value /endpoint/0/resolver/nodes"});
  CHECK(wrong(R"(, nodes = ["a:1"])") == lines{"endpoints.test.toml wrong_type /endpoint/0/resolver/nodes/0"});
  CHECK(wrong(R"(, nodes = [{ host = "a", port = 0 }])") ==
        lines{"endpoints.test.toml out_of_range /endpoint/0/resolver/nodes/0/port"});
  CHECK(wrong(R"(, nodes = [{ host = "a", port = 1, db = 2 }])") ==
        lines{"endpoints.test.toml unknown_field /endpoint/0/resolver/nodes/0/db"});
  CHECK(wrong(R"(, nodes = [{ host = "a", port = 1 }], reads = "all")") ==
        lines{"endpoints.test.toml bad_value /endpoint/0/resolver/reads"});
}

TEST_CASE("a file of vectors may name the list of its changes, which an embedded store has") {
  files with = good_files();
  with["keys.toml"] +=
      "[[key]]\nkey_id = 10\nname = \"embedding\"\ntype = \"vector\"\ndimensions = 2\nnullable = true\n";
  const auto changes_with = [&with](std::string_view more) {
    with["endpoints.test.toml"] =
        replaced(good_files()["endpoints.test.toml"],
                 "kind = \"http\"\nresolver = { type = \"static\", host = \"localhost\", port = 80 }",
                 "kind = \"vectors\"\nresolver = { type = \"file\", path = \"v.rvec\" }\npolicy = { metric = \"l2\"" +
                     std::string(more) + " }");
    const auto read = load(with);
    REQUIRE_MESSAGE(read, read.error().to_text());
    return read->find_endpoint("ep_0002")->policy.changes;
  };
  const std::string list =
      R"(, changes = { endpoint = "ep_0001", set = "changed", key = "p:{id}", field = "embedding")";
  CHECK_FALSE(changes_with("").has_value());
  CHECK(changes_with(list + " }") == vector_changes_policy{"ep_0001", "changed", "p:{id}", "embedding", 1000});
  CHECK(changes_with(list + ", merge_at = 0 }")->merge_at == 0);
}

TEST_CASE("production does not embed what claims to be Redis") {
  files all = good_files();
  all["endpoints.prod.toml"] = all["endpoints.test.toml"];
  all.erase("endpoints.test.toml");
  CHECK(diagnostics(all, "prod") == lines{"endpoints.prod.toml wrong_resolver /endpoint/0/resolver/type"});
  CHECK(diagnostics(all, "prod").size() == 1);
}

TEST_CASE("the endpoints of other environments must have the same ids, names and kinds") {
  files all = good_files();
  std::string dev = all["endpoints.test.toml"];
  dev = replaced(dev, "ep_0001", "ep_0003");
  dev = replaced(dev, "\"api\"", "\"apis\"");
  all["endpoints.dev.toml"] = dev;
  CHECK(diagnostics(all) == lines{"endpoints.dev.toml environments_differ /endpoint",
                                  "endpoints.dev.toml environments_differ /endpoint/0",
                                  "endpoints.dev.toml environments_differ /endpoint/1/name"});
}

TEST_CASE("a digest depends on what is declared and not on how it is written") {
  files all = good_files();
  const auto before = load(all);
  all["keys.toml"] = "# a comment\n" + replaced(all["keys.toml"], "default = 0.5", "default    =  0.50");
  all["params.toml"] = replaced(all["params.toml"], "default = 3", "default = 4");
  const auto after = load(all);
  REQUIRE(before);
  REQUIRE(after);
  REQUIRE(before->digests().size() == 4);
  CHECK(before->digests()[0].name == "keys");
  CHECK(before->digests()[0].sha256 == after->digests()[0].sha256);
  CHECK(before->digests()[1].sha256 != after->digests()[1].sha256);
  CHECK(before->digests()[3].sha256 ==
        sha256_hex(R"({"endpoint":[{"endpoint_id":"ep_0001","kind":"redis","name":"cache"},)"
                   R"({"endpoint_id":"ep_0002","kind":"http","name":"api"}]})"));
}

TEST_CASE("states and kinds are spelled as in the files") {
  CHECK(to_string(lifecycle::active) == "active");
  CHECK(to_string(lifecycle::deprecated) == "deprecated");
  CHECK(to_string(lifecycle::blocked) == "blocked");
  CHECK(to_string(endpoint_entry::kind_type::redis) == "redis");
  CHECK(to_string(endpoint_entry::kind_type::embedded) == "embedded");
  CHECK(to_string(endpoint_entry::kind_type::http) == "http");
}
