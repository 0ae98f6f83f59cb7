// tests/rankd/registry/registries_test.cpp: the base set, and a table of everything that can be wrong with one.
#include <rankd/registry/registries.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/support/scratch_folder.hpp>

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

using files = std::map<std::string, std::string>;
using lines = std::vector<std::string>;

/// A small registry without a fault.
auto good_files() -> files {
  return {
      {"keys.toml", R"([[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false

[[key]]
key_id = 7
name = "score"
type = "float"
nullable = false
default = 0.5

[[key]]
key_id = 9
name = "country"
type = "string"
nullable = true
status = "deprecated"
replaced_by = 7
)"},
      {"params.toml", R"([[param]]
param_id = 2
name = "weight"
type = "float"
nullable = false
default = 3
)"},
      {"features.toml", R"([[feature]]
feature_id = 5
stage = "esr"
name = "age"
type = "int"
nullable = false
)"},
      {"capabilities.toml", R"([[capability]]
id = "cap.rfc.0001.math.v1"
name = "math"
payload_schema = { type = "object" }
)"},
      {"endpoints.test.toml", R"([[endpoint]]
endpoint_id = "ep_0001"
name = "cache"
kind = "redis"
resolver = { type = "embedded", path = "x.lmdb" }
policy = { max_inflight = 3, connect_timeout_ms = 4, request_timeout_ms = 5, connections = 6 }

[[endpoint]]
endpoint_id = "ep_0002"
name = "api"
kind = "http"
resolver = { type = "static", host = "localhost", port = 80 }
)"},
  };
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

struct bad_edit {
  std::string_view file;
  std::string_view from;
  std::string_view to;
  lines diagnostics;  ///< "code pointer"
};

const std::vector<bad_edit> bad_edits{
    // ids
    {"keys",
     "key_id = 7",
     "key_id = 4294967301",
     {"out_of_range /key/1/key_id", "unknown_replacement /key/2/replaced_by"}},
    {"keys", "key_id = 9", "key_id = 0", {"out_of_range /key/2/key_id"}},
    {"keys", "key_id = 9", "key_id = -1", {"out_of_range /key/2/key_id"}},
    {"keys", "key_id = 9", "key_id = 9.0", {"wrong_type /key/2/key_id"}},
    {"keys", "key_id = 9", "key_id = \"9\"", {"wrong_type /key/2/key_id"}},
    {"keys", "key_id = 9\n", "", {"missing_field /key/2"}},
    {"keys", "key_id = 9", "key_id = 7", {"duplicate_id /key/2/key_id", "unknown_replacement /key/2/replaced_by"}},
    {"keys", "key_id = 9", "kye_id = 9", {"missing_field /key/2", "unknown_field /key/2/kye_id"}},
    // names
    {"keys", "\"country\"", "\"score\"", {"duplicate_name /key/2/name"}},
    {"keys", "\"country\"", "\"a b\"", {"bad_name /key/2/name"}},
    {"keys", "\"country\"", "\"\"", {"bad_name /key/2/name"}},
    {"keys", "\"country\"", "true", {"wrong_type /key/2/name"}},
    // types and defaults
    {"keys", "\"string\"", "\"strin\"", {"bad_value /key/2/type"}},
    {"keys", "default = 0.5\n", "", {"missing_default /key/1/default"}},
    {"keys", "default = 0.5", "default = \"x\"", {"wrong_type /key/1/default"}},
    {"keys", "default = 0.5", "default = nan", {"non_finite_number /key/1/default"}},
    {"keys", "default = 0.5", "default = -inf", {"non_finite_number /key/1/default"}},
    {"keys", "default = 0.5", "default = 9007199254740993", {"out_of_range /key/1/default"}},
    {"keys", "default = 0.5", "default = 2020-01-01", {"unsupported_value /key/1/default"}},
    {"keys", "type = \"float\"", "type = \"feature_bundle\"", {"bad_value /key/1/type"}},
    {"keys",
     "type = \"float\"",
     "type = \"vector\"",
     {"wrong_type /key/1/default", "missing_field /key/1", "bad_value /key/1/nullable"}},
    {"keys", "type = \"float\"", "type = \"float\"\ndimensions = 3", {"bad_value /key/1/dimensions"}},
    {"keys", "type = \"string\"", "type = \"vector\"\ndimensions = 0", {"out_of_range /key/2/dimensions"}},
    {"keys", "type = \"string\"", "type = \"vector\"\ndimensions = 4097", {"out_of_range /key/2/dimensions"}},
    {"keys", "type = \"float\"", "type = \"int\"", {"wrong_type /key/1/default"}},
    {"keys", "nullable = true\n", "", {"missing_field /key/2"}},
    {"keys", "nullable = true", "nullable = 1", {"wrong_type /key/2/nullable"}},
    {"keys", "status = \"deprecated\"", "status = \"old\"", {"bad_value /key/2/status"}},
    {"keys", "status = \"deprecated\"", "allow_read = \"yes\"", {"wrong_type /key/2/allow_read"}},
    {"keys", "status = \"deprecated\"", "doc = 1", {"wrong_type /key/2/doc"}},
    // replacements
    {"keys", "replaced_by = 7", "replaced_by = 8", {"unknown_replacement /key/2/replaced_by"}},
    {"keys", "replaced_by = 7", "replaced_by = 9", {"unknown_replacement /key/2/replaced_by"}},
    {"keys", "replaced_by = 7", "replaced_by = 4294967303", {"out_of_range /key/2/replaced_by"}},
    // key 1
    {"keys", "key_id = 1", "key_id = 2", {"missing_default /key/0/default", "missing_id_key /key"}},
    {"keys", "name = \"id\"", "name = \"ident\"", {"bad_id_key /key/0/name"}},
    {"keys", "type = \"int\"", "type = \"float\"", {"bad_id_key /key/0/type"}},
    {"keys", "allow_write = false", "allow_write = true", {"bad_id_key /key/0/allow_write"}},
    {"keys", "nullable = false", "nullable = true", {"bad_id_key /key/0/nullable"}},
    {"keys", "nullable = false", "nullable = false\ndefault = 3", {"bad_id_key /key/0/default"}},
    {"keys", "nullable = false", "nullable = false\nallow_read = false", {"bad_id_key /key/0/allow_read"}},
    {"keys", "nullable = false", "nullable = false\nstatus = \"blocked\"", {"bad_id_key /key/0/status"}},
    // the file as a whole
    {"keys", "[[key]]", "[[keys]]", {"unknown_field /keys", "missing_id_key /key"}},
    {"keys", "[[key]]", "version = 1\n[[key]]", {"unknown_field /version"}},
    {"keys", "key_id = 1", "key_id = ", {"toml_syntax "}},
    {"keys", "[[key]]", "\xFF[[key]]", {"toml_syntax "}},
    // params
    {"params", "param_id = 2", "param_id = 4294967301", {"out_of_range /param/0/param_id"}},
    {"params", "\"float\"", "\"vector\"", {"bad_value /param/0/type"}},
    {"params", "default = 3", "default = true", {"wrong_type /param/0/default"}},
    {"params", "default = 3", "key_id = 3", {"unknown_field /param/0/key_id"}},
    {"params", "default = 3", "source = \"contxt\"", {"bad_value /param/0/source"}},
    {"params", "default = 3", "source = 1", {"wrong_type /param/0/source"}},
    {"params", "default = 3", "source = \"context\"", {"missing_default /param/0/default"}},
    {"params", "default = 3", "default = true\nsource = \"context\"", {"wrong_type /param/0/default"}},
    {"params", "default = 3", "required = true", {"bad_required /param/0/required"}},
    {"params", "default = 3", "required = 1", {"wrong_type /param/0/required"}},
    {"params", "default = 3", "default = 3\nsource = \"context\"\nrequired = true", {"bad_required /param/0/required"}},
    {"params", "default = 3", "clock = \"seconds\"", {"bad_clock /param/0/clock"}},
    {"params", "default = 3", "source = \"context\"\nclock = \"seconds\"", {"bad_clock /param/0/clock"}},
    {"params",
     "default = 3",
     "source = \"context\"\nclock = \"minutes\"",
     {"bad_value /param/0/clock", "missing_default /param/0/default"}},
    {"keys", "status = \"deprecated\"", "source = \"context\"", {"unknown_field /key/2/source"}},
    // features
    {"features", "feature_id = 5", "feature_id = 4294967296", {"out_of_range /feature/0/feature_id"}},
    {"features", "\"esr\"", "\"e-sr\"", {"bad_name /feature/0/stage"}},
    {"features", "\"int\"", "\"vector\"", {"bad_value /feature/0/type"}},
    // capabilities
    {"capabilities", "cap.rfc.0001.math.v1", "cap.rfc.1.math.v1", {"bad_capability_id /capability/0/id"}},
    {"capabilities", "{ type = \"object\" }", "\"object\"", {"wrong_type /capability/0/payload_schema"}},
    // endpoints
    {"endpoints.test", "\"ep_0001\"", "\"ep_1\"", {"bad_endpoint_id /endpoint/0/endpoint_id"}},
    {"endpoints.test", "\"ep_0002\"", "\"ep_0001\"", {"duplicate_id /endpoint/1/endpoint_id"}},
    {"endpoints.test", "\"api\"", "\"cache\"", {"duplicate_name /endpoint/1/name"}},
    {"endpoints.test", "\"http\"", "\"vectors\"", {"wrong_resolver /endpoint/1/resolver/type"}},
    {"endpoints.test",
     "\"static\", host = \"localhost\", port = 80",
     "\"file\", path = \"x\"",
     {"wrong_resolver /endpoint/1/resolver/type"}},
    {"endpoints.test", "\"http\"", "\"htp\"", {"bad_value /endpoint/1/kind"}},
    {"endpoints.test", "\"http\"", "\"embedded\"", {"wrong_resolver /endpoint/1/resolver/type"}},
    {"endpoints.test", "\"redis\"", "\"http\"", {"wrong_resolver /endpoint/0/resolver/type"}},
    {"endpoints.test", "\"static\"", "\"dns\"", {"bad_value /endpoint/1/resolver/type"}},
    {"endpoints.test", "host = \"localhost\", ", "", {"missing_field /endpoint/1/resolver"}},
    {"endpoints.test", "\"localhost\"", "\"local host\"", {"bad_value /endpoint/1/resolver/host"}},
    {"endpoints.test", "port = 80", "port = 65536", {"out_of_range /endpoint/1/resolver/port"}},
    {"endpoints.test", "port = 80", "port = 0", {"out_of_range /endpoint/1/resolver/port"}},
    {"endpoints.test",
     "port = 80",
     "prot = 80",
     {"missing_field /endpoint/1/resolver", "unknown_field /endpoint/1/resolver/prot"}},
    {"endpoints.test", "\"x.lmdb\"", "\"\"", {"bad_value /endpoint/0/resolver/path"}},
    {"endpoints.test", "max_inflight = 3", "max_inflight = 0", {"out_of_range /endpoint/0/policy/max_inflight"}},
    {"endpoints.test",
     "connect_timeout_ms = 4",
     "connect_timeout_ms = 0.5",
     {"wrong_type /endpoint/0/policy/connect_timeout_ms"}},
    {"endpoints.test",
     "request_timeout_ms = 5",
     "request_timeout_ms = 3600001",
     {"out_of_range /endpoint/0/policy/request_timeout_ms"}},
    {"endpoints.test", "connections = 6", "connections = 1025", {"out_of_range /endpoint/0/policy/connections"}},
    {"endpoints.test", "connections = 6", "retries = 6", {"unknown_field /endpoint/0/policy/retries"}},
};

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
  CHECK(read->features().empty());
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
  CHECK(read->features()[0].stage == "esr");
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
  CHECK(read->find_endpoint("ep_0002")->policy.request_timeout.count() == 1000);
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
  for (const bad_edit& edit : bad_edits) {
    files all = good_files();
    std::string& text = all[std::string(edit.file) + ".toml"];
    text = replaced(text, edit.from, edit.to);
    lines expected;
    for (const std::string& line : edit.diagnostics) expected.push_back(std::string(edit.file) + ".toml " + line);
    CHECK_MESSAGE(diagnostics(all) == expected, edit.from << " → " << edit.to);
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

TEST_CASE("features and capabilities may be absent, keys and params may not") {
  files all = good_files();
  all.erase("features.toml");
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
  REQUIRE(before->digests().size() == 5);
  CHECK(before->digests()[0].name == "keys");
  CHECK(before->digests()[0].sha256 == after->digests()[0].sha256);
  CHECK(before->digests()[1].sha256 != after->digests()[1].sha256);
  CHECK(before->digests()[4].sha256 ==
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
