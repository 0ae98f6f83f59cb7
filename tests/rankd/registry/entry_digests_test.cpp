// tests/rankd/registry/entry_digests_test.cpp: what the digest of an entry covers, and what it leaves out.
#include <rankd/registry/digest.hpp>
#include <rankd/registry/registries.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using rankd::registries;

namespace {

using texts = std::map<std::string, std::string>;

const texts basis{
    {"keys.toml",
     "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n"
     "[[key]]\nkey_id = 12\nname = \"score\"\ntype = \"float\"\nnullable = false\ndefault = 0.5\n"
     "[[key]]\nkey_id = 3\nname = \"image\"\ntype = \"vector\"\nnullable = true\ndimensions = 8\n"},
    {"params.toml",
     "[[param]]\nparam_id = 1\nname = \"boost\"\ntype = \"float\"\nnullable = true\n"
     "[[param]]\nparam_id = 2\nname = \"hour\"\ntype = \"int\"\nnullable = true\nsource = \"context\"\n"},
    {"capabilities.toml",
     "[[capability]]\nid = \"cap.rfc.0001.math.v1\"\nname = \"math\"\n"
     "payload_schema = { type = \"object\" }\n"},
    {"endpoints.test.toml",
     "[[endpoint]]\nendpoint_id = \"ep_0001\"\nname = \"main\"\nkind = \"redis\"\n"
     "resolver = { type = \"static\", host = \"127.0.0.1\", port = 6379 }\n"},
};

auto loaded(const texts& files) -> registries {
  const braid::testing::scratch_folder folder;
  for (const auto& [name, text] : files) folder.write(name, text);
  auto read = registries::load(folder.path(), "test");
  REQUIRE(read);
  return std::move(*read);
}

/// The same files with one text in one of them replaced.
auto with(const char* file, std::string_view from, std::string_view to) -> texts {
  texts out = basis;
  std::string& text = out.at(file);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return out;
}

/// "registry/id" → digest.
auto make_digests(const registries& declared) -> texts {
  texts out;
  for (const rankd::registry_digest& each : declared.digests())
    for (const rankd::entry_digest& entry : each.entries) out[each.name + "/" + entry.id] = entry.sha256;
  return out;
}

/// The entries whose digests differ from those of `basis`.
auto changed_by(const texts& files) -> std::string {
  const texts before = make_digests(loaded(basis));
  std::string out;
  for (const auto& [entry, digest] : make_digests(loaded(files)))
    if (!before.contains(entry) || before.at(entry) != digest) out += entry + " ";
  return out;
}

}  // namespace

TEST_CASE("the digest of an entry is that of its fields that mean something, sorted, as scripts print them") {
  texts digests = make_digests(loaded(basis));
  const auto digest = [](std::string_view text) { return rankd::sha256_hex(text); };
  CHECK(digests.size() == 7);
  CHECK(digests["keys/1"] == digest(R"({"key_id":1,"name":"id","nullable":false,"type":"int"})"));
  CHECK(digests["keys/12"] == digest(R"({"default":0.5,"key_id":12,"name":"score","nullable":false,"type":"float"})"));
  CHECK(digests["keys/3"] == digest(R"({"dimensions":8,"key_id":3,"name":"image","nullable":true,"type":"vector"})"));
  CHECK(digests["params/1"] == digest(R"({"name":"boost","nullable":true,"param_id":1,"type":"float"})"));
  CHECK(digests["params/2"] ==
        digest(R"({"name":"hour","nullable":true,"param_id":2,"source":"context","type":"int"})"));
  CHECK(digests["capabilities/cap.rfc.0001.math.v1"] ==
        digest(R"({"id":"cap.rfc.0001.math.v1","payload_schema":{"type":"object"}})"));
  CHECK(digests["endpoints/ep_0001"] == digest(R"({"endpoint_id":"ep_0001","kind":"redis","name":"main"})"));
}

TEST_CASE("entries are in the order of their ids as texts, with their names") {
  const registries declared = loaded(basis);
  const std::vector<rankd::entry_digest> keys = declared.digests()[0].entries;
  REQUIRE(keys.size() == 3);
  CHECK(std::ranges::is_sorted(keys, {}, &rankd::entry_digest::id));
  CHECK(keys[1].id == "12");
  CHECK(keys[1].name == "score");
}

TEST_CASE("a change of what plans read changes the digest of that entry alone") {
  CHECK(changed_by(with("keys.toml", "\"score\"", "\"points\"")) == "keys/12 ");
  CHECK(changed_by(with("keys.toml", "default = 0.5", "default = 0.25")) == "keys/12 ");
  CHECK(changed_by(with("keys.toml", "nullable = false\ndefault = 0.5", "nullable = true\ndefault = 0.5")) ==
        "keys/12 ");
  CHECK(changed_by(with("keys.toml", "dimensions = 8", "dimensions = 9")) == "keys/3 ");
  CHECK(changed_by(with("params.toml", "\"float\"", "\"int\"")) == "params/1 ");
  CHECK(changed_by(with("params.toml", "nullable = true\n", "nullable = true\ndefault = 1.5\n")) == "params/1 ");
  CHECK(changed_by(with("params.toml", "nullable = true\n", "nullable = true\nsource = \"context\"\n")) == "params/1 ");
  CHECK(changed_by(with("params.toml", "\"context\"\n", "\"context\"\nrequired = true\n")) == "params/2 ");
  CHECK(changed_by(with("params.toml", "\"context\"\n", "\"context\"\nclock = \"seconds\"\n")) == "params/2 ");
  CHECK(changed_by(with("capabilities.toml", "\"object\"", "\"array\"")) == "capabilities/cap.rfc.0001.math.v1 ");
  CHECK(changed_by(with("endpoints.test.toml", "\"main\"", "\"other\"")) == "endpoints/ep_0001 ");
}

TEST_CASE("docs, what is checked at each load, places of endpoints, and the spelling change no digest") {
  CHECK(changed_by(with("keys.toml", "default = 0.5", "default = 5e-1\ndoc = \"Of all.\"")).empty());
  CHECK(changed_by(with("keys.toml", "default = 0.5",
                        "default = 0.5\nstatus = \"deprecated\"\nallow_write = false\nallow_read = false\n"
                        "replaced_by = 1"))
            .empty());
  CHECK(changed_by(with("params.toml", "nullable = true\n",
                        "nullable = true\nsource = \"override\"\nrequired = false\ndoc = \"More.\"\n"))
            .empty());
  CHECK(changed_by(with("capabilities.toml", "\"math\"", "\"maths\"")).empty());
  CHECK(changed_by(with("endpoints.test.toml", "6379", "6380")).empty());
}

TEST_CASE("an entry that is added has a digest, and leaves the others as they are") {
  texts more = basis;
  more.at("keys.toml") += "[[key]]\nkey_id = 2\nname = \"price\"\ntype = \"float\"\nnullable = true\n";
  CHECK(changed_by(more) == "keys/2 ");
}
