# tests/tools/test_site.py: what tools/site reads in headers, comments and pages, what it links, and what it refuses.
import json
import re
import shutil
import subprocess
import sys
import types
import unittest

from tree import TOOLS, ToolCase

sys.path.insert(0, str(TOOLS))
from sitelib import code, comments, debian, links, order, search, site as pages  # noqa: E402
from sitelib.names import Target, anchor_of  # noqa: E402


def missing():
    """Why whole sites cannot be made here; empty where they can."""
    try:
        debian.module("markdown_it")
        debian.module("pygments")
        cindex = debian.module("clang.cindex")
        cindex.Index.create()
    except debian.SiteError as error:
        return str(error)
    except cindex.LibclangError as error:
        return str(error)
    return ""


WHY = missing()

HEADER = "include/braid/task/pool.hpp"
LIST = "docs/api.txt"
API = """\
# names
BRAID_CHECK macro braid/task/pool.hpp
both concept braid/task/pool.hpp
flow class braid/task/pool.hpp
level enum braid/task/pool.hpp
post function braid/task/pool.hpp
pool class braid/task/pool.hpp
this_thread::name function braid/task/pool.hpp
word alias braid/task/pool.hpp
"""
CODE = """\
// braid/task/pool.hpp: workers that run jobs.
#pragma once

/// A contract.
#if 1
#define BRAID_CHECK(condition) (condition)
#else
#define BRAID_CHECK(condition) true
#endif
#define BRAID_API __attribute__((visibility("default")))
#undef BRAID_API
#define BRAID_API

namespace braid {
namespace detail {
struct machinery {};

/// A part of every pool.
template <typename T>
class control {
 public:
  /// Comes from the base.
  auto inherited() const -> int;
};
}  // namespace detail

/// Urgency of a job, ≤ three.
enum class level { low, high /* not shown */ };

/// Both at once.
template <typename T, typename U>
concept both = requires(T t, U u) {
  t + u;  // never shown
};

class pool;

/// Runs jobs. Blocks: until the workers run. Threads: any.
///
/// - one thing
/// - `post` and level::high
///
/// Cost: a lock.
class BRAID_API pool : public detail::control<pool> {
 public:
  /// Starts workers.
  explicit constexpr pool(int workers = 1) noexcept : workers_(workers) {}
  pool(const pool&) = delete;
  ~pool();
  /// How many there are.
  [[nodiscard]] auto count() const noexcept -> int { return workers_; }

  /// Threads: the maker's. Errors: none.
  template <typename Fn, typename U>
    requires both<Fn, U>
  [[nodiscard]] auto run(Fn&& fn) const -> int {
    return fn();
  }
  int size = 4;  ///< how many

 protected:
  /// For those that derive.
  void retire();
  void retire(int how);

 private:
  void secret();
  int workers_;
};

/// Runs `work` on `where`. Blocks until there is room.
template <typename Fn>
auto post(pool& where, Fn work) -> int;
template <typename Fn>
auto post(pool& where, level how, Fn work) -> int;

/// Only a specialisation is defined.
template <typename T>
class flow;

/// A flow of a signature.
template <typename T, typename... In>
class flow<T(In...)> {
 public:
  /// Goes.
  auto go(In... in) -> T;
};

/// A word.
#if defined(OTHER)
using word = unsigned;
#else
using word = unsigned long;
#endif

namespace this_thread {
/// The name of the calling thread.
auto name() -> const char*;
}  // namespace this_thread
}  // namespace braid
"""
README = """\
# braid

`pool` and `braid::post(where, work)`, see [pools](docs/pools.md#the-second) and `examples/00_a.cpp`.
"""
POOLS = """\
# Pools

## The `second`
<!-- from: examples/00_a.cpp#program -->
```cpp
braid::pool p;
```

| a | b |
|---|---|
| `level::high` | [back](../README.md) |
"""
EXAMPLE = """\
// examples/00_a.cpp: posts a job.
int main() {
  // [program]
  braid::pool p;
  // [/program]
}
"""
TREE = {HEADER: CODE, LIST: API, "README.md": README, "docs/pools.md": POOLS, "examples/00_a.cpp": EXAMPLE,
        "examples/00_a.txt": "posted\n"}


def text_of(markup):
    return re.sub(r"<[^>]+>", "", markup)


class Comments(unittest.TestCase):
    def test_labels_are_cut_out_wherever_they_stand(self):
        doc = comments.read("/// Starts. Blocks: until done,\n/// or stopped. Errors: closed;\n/// `f`. Cost: none.\n///\n/// More: x.")
        self.assertEqual(doc.paragraphs, ("Starts.", "More: x."))
        self.assertEqual(doc.labels, (("Blocks", "until done,\nor stopped."), ("Errors", "closed;\n`f`."), ("Cost", "none.")))
        self.assertEqual(doc.label("Blocks"), "until done, or stopped.")

    def test_a_word_in_a_sentence_is_no_label(self):
        self.assertEqual(comments.read("/// All of Threads: no.").labels, ())

    def test_trailing_comments_and_the_first_sentence(self):
        self.assertEqual(comments.read("///< in bytes; at\n///< most").paragraphs, ("in bytes; at\nmost",))
        self.assertEqual(comments.read("/// What it is, e.g. `a.b`. Then more.").summary, "What it is, e.g. `a.b`.")
        self.assertEqual(comments.read("/// Threads: any.").summary, "Threads: any.")
        self.assertFalse(comments.read(None))


class Order(unittest.TestCase):
    def test_pages_have_the_order_of_the_table_and_unknown_ones_come_in_more(self):
        files = ["docs/new.md", "docs/pools.md", "README.md", "docs/design/a.md", "docs/tutorial.md", "docs/other/x.md", "src/a.md",
                 "docs/tutorial_rankd.md", "docs/tutorial_b.md"]
        self.assertEqual(order.pages_of(files), ["README.md", "docs/tutorial.md", "docs/tutorial_b.md", "docs/pools.md",
                                                 "docs/tutorial_rankd.md", "docs/new.md", "docs/design/a.md", "docs/other/x.md"])
        self.assertEqual([order.section_of(path) for path in ("docs/new.md", "docs/other/x.md", "src/a.md")],
                         ["More", "More", order.LINKED_ONLY])


class Places(unittest.TestCase):
    def test_links_are_relative(self):
        self.assertEqual(Target("api/braid/a.html", "x").seen_from("docs/b.html"), "../api/braid/a.html#x")
        self.assertEqual(Target("docs/b.html", "x").seen_from("docs/b.html"), "#x")
        self.assertEqual(anchor_of("a::operator=="), "a.operator-3d-3d")

    def test_anchors_of_headings_are_those_of_github(self):
        taken = set()
        self.assertEqual([pages.slug(title, taken) for title in ("Two words, `x`!", "Two words x", "C++ & more")],
                         ["two-words-x", "two-words-x-1", "c--more"])

    def test_faults_of_markup_are_found(self):
        parsed = links.Parsed('<p id="a"><b></p><p id="a"><img src="https://x/y.png"></p>')
        self.assertEqual([sentence for _, sentence in parsed.faults],
                         ["</p> closes nothing", "two elements have the id a", "<img> loads https://x/y.png from the network"])


    def test_a_link_needs_its_page_and_its_anchor(self):
        parsed = {"a/b.html": links.Parsed('<p id="x y"></p>')}
        for href, fault in (("b.html", ""), ("../c.css", ""), ("#x%20y", ""), ("https://x", ""), ("c.html", "no page"),
                            ("b.html#y", "no anchor"), ("../a/b.html#x%20y", "")):
            with self.subTest(href):
                found = links.fault_of("a/b.html", href, parsed, {"c.css"})
                self.assertIn(fault, found)
                self.assertEqual(bool(fault), bool(found))

    def test_names_in_code_are_links_where_they_are_the_library_s(self):
        linker = code.Linker(Known(), "p.html")
        for before, word, is_link in ((["braid", "::"], "pool", True), ([], "pool", False), ([], "post_all", True),
                                      (["->"], "post_all", False), ([" ->"], "post_all", True), (["."], "post_all", False),
                                      (["std", "::"], "post_all", False)):
            with self.subTest(before=before, word=word):
                self.assertEqual(linker.target(word, before) is not None, is_link)
        self.assertEqual(linker.seen, {"pool", "post_all"})


class Known:
    """Stands for the names of the library: pool and post_all."""

    @staticmethod
    def in_code(name, _scope=""):
        return Target("a.html") if name.removeprefix("braid::") in ("pool", "post_all") else None

    @staticmethod
    def entry(name):
        return types.SimpleNamespace(name=name.removeprefix("braid::"))


class Script(unittest.TestCase):
    """assets/site.js, under Node where it is there."""
    INDEX = [["pool", "class braid/task/pool.hpp", "p", "Worker threads.", "threads: any. blocks: never."],
             ["pool::shutdown", "function braid/task/pool.hpp", "s", "Ends.", "blocks: until all have ended."],
             ["post", "function braid/task/pool.hpp", "o", "Posts to a pool.", ""],
             ["Thread pools", "Compute", "g", "Of pools.", ""],
             ["What may any thread call?", "question", "q", "callable from any thread", ""]]

    def find(self, query):
        node = shutil.which("node") or shutil.which("nodejs")
        if not node:
            self.skipTest("no Node here")
        program = ("globalThis.document = {documentElement: {dataset: {}}, addEventListener() {}}; globalThis.window = globalThis;"
                   f"require({json.dumps(str(TOOLS / 'sitelib/assets/site.js'))});"
                   f"console.log(JSON.stringify(window.braidSearch({json.dumps(self.INDEX)}, {json.dumps(query)}).map((e) => e[2])))")
        return json.loads(subprocess.run([node, "-e", program], capture_output=True, text=True, check=True).stdout)

    def test_names_come_before_text(self):
        self.assertEqual(self.find("pool"), ["p", "s", "g", "o"])
        self.assertEqual(self.find("braid::pool"), ["p", "s", "g", "o"])

    def test_labels_are_asked_for(self):
        self.assertEqual(self.find("blocks:until"), ["s"])
        self.assertEqual(self.find("threads:"), ["p"])
        self.assertEqual(self.find("threads:until"), [])

    def test_a_question_leads_to_its_answers(self):
        self.assertEqual(self.find("from any thread")[0], "q")


@unittest.skipIf(WHY, WHY)
class Made(ToolCase):
    """A whole site of a small tree."""
    tool = "site"

    def make(self, files=None, *arguments):
        self.write(TREE | (files or {}))
        status, printed = self.run_tool(*arguments)
        return status, [line for line in printed.splitlines() if not line.startswith("==")]

    def page(self, path):
        return (self.root / "build/site" / path).read_text(encoding="utf-8")

    def test_a_tree_without_faults(self):
        status, printed = self.make()
        self.assertEqual(printed, ["site: 9 pages, 0 diagnostics"])
        self.assertEqual(status, 0)
        self.assertEqual(self.make()[0], 0)  # replaces what it has written

    def test_the_reference_shows_signatures_as_written(self):
        self.make()
        page = self.page("api/braid/task/pool.html")
        signatures = [text_of(found) for found in re.findall(r'<div class="signature".*?<pre>(.*?)</pre>', page, re.DOTALL)]
        self.assertEqual(signatures, [
            "BRAID_CHECK(condition)", "enum class level",
            "template &lt;typename T, typename U&gt;\nconcept both = requires(T t, U u) {\n  t + u;\n}",
            "class pool : public detail::control&lt;pool&gt;", "auto inherited() const -&gt; int",
            "explicit constexpr pool(int workers = 1) noexcept", "[[nodiscard]] auto count() const noexcept -&gt; int",
            "template &lt;typename Fn, typename U&gt;\n  requires both&lt;Fn, U&gt;\n[[nodiscard]] auto run(Fn&amp;&amp; fn) const -&gt; int",
            "void retire()", "void retire(int how)",
            "template &lt;typename Fn&gt;\nauto post(pool&amp; where, Fn work) -&gt; int",
            "template &lt;typename Fn&gt;\nauto post(pool&amp; where, level how, Fn work) -&gt; int",
            "template &lt;typename T, typename... In&gt;\nclass flow&lt;T(In...)&gt;", "auto go(In... in) -&gt; T",
            "using word = unsigned long", "auto name() -&gt; const char*"])
        self.assertNotIn("secret", page)
        self.assertNotIn("workers_", page)
        self.assertIn("Urgency of a job, ≤ three.", page)
        self.assertIn("For derived classes", page)
        self.assertIn("Can be neither copied nor moved.", page)
        self.assertLess(page.index('id="pool.retire-2"'), page.index("For those that derive."))  # they share a comment

    def test_what_overrides_without_a_comment_leads_to_what_it_overrides(self):
        self.make({HEADER: CODE.replace("class pool;\n", """\
/// A base.
class base {
 public:
  /// Says something.
  virtual void say();
};
""").replace("public detail::control<pool>", "public base").replace("  int size = 4;", "  void say() override;\n  int size = 4;"),
                   LIST: API + "base class braid/task/pool.hpp\n"})
        self.assertIn('<p>As <a href="#base.say"><code>base::say</code></a>.</p>', self.page("api/braid/task/pool.html"))

    def test_comments_have_their_labels_and_links(self):
        self.make()
        page = self.page("api/braid/task/pool.html")
        self.assertIn('<div class="blocks"><dt>Blocks</dt><dd>until the workers run.</dd></div>', page)
        self.assertIn('<div class="cost"><dt>Cost</dt><dd>a lock.</dd></div>', page)
        self.assertIn('<p class="item"><a href="#post"><code>post</code></a> and <a href="#level.high"><code>level::high</code></a>', page)
        self.assertIn('<tr id="pool.size"><td><code>', page)
        line = CODE.splitlines().index("class control {") + 1
        self.assertIn(f'detail::<a href="../../../source/{HEADER}.html#L{line}">control</a>', page)
        self.assertIn('Examples: <a href="../../../examples/00_a.html">00 a</a>', page)
        line = CODE.splitlines().index("class BRAID_API pool : public detail::control<pool> {") + 1
        self.assertIn(f'href="../../../source/{HEADER}.html#L{line}"', page)
        self.assertIn(f'<span id="L{line}">', self.page(f"source/{HEADER}.html"))

    def test_questions_are_answered_by_labels(self):
        self.make()
        sections = self.page("api/labels.html").split("<h2 ")
        answers = {section.split('"')[1]: re.findall(r"<tr><td><a [^>]*><code>(.*?)</code>", section) for section in sections[1:]}
        self.assertEqual(answers["may-block"], ["pool", "post"])  # one by its label, one by a sentence
        self.assertEqual(answers["any-thread"], ["pool"])
        self.assertEqual(answers["some-threads"], ["pool::run"])

    def test_pages_of_the_guide_lead_to_each_other_and_to_the_reference(self):
        self.make()
        home, page = self.page("index.html"), self.page("docs/pools.html")
        self.assertIn('<a href="api/braid/task/pool.html#pool"><code>pool</code></a>', home)
        self.assertIn('<a href="api/braid/task/pool.html#post"><code>braid::post(where, work)</code></a>', home)
        self.assertIn('<a href="docs/pools.html#the-second">pools</a>', home)
        self.assertIn('<a href="examples/00_a.html"><code>examples/00_a.cpp</code></a>', home)
        self.assertIn('<h2 id="the-second">', page)
        self.assertIn('<a href="../api/braid/task/pool.html#level.high">', page)
        self.assertIn('braid::<a href="../api/braid/task/pool.html#pool">pool</a>', page)
        self.assertIn('<figcaption><a href="../examples/00_a.html">examples/00_a.cpp</a>', page)
        self.assertNotIn("<!--", page)
        self.assertIn("posted", self.page("examples/00_a.html"))
        self.assertNotIn("[program]", self.page("examples/00_a.html"))

    def test_the_index_has_names_labels_and_sections(self):
        self.make()
        text = self.page(search.INDEX).removeprefix("window.braidIndex = ").rstrip().removesuffix(";")
        listed = [entry[0] for entry in json.loads(text)]
        self.assertEqual([listed.count(name) for name in ("post", "pool::retire", "pool::secret")], [1, 1, 0])
        entries = {entry[0]: entry for entry in json.loads(text)}
        self.assertEqual(entries["pool"][1:3], ["class braid/task/pool.hpp", "api/braid/task/pool.html#pool"])
        self.assertIn("blocks: until the workers run. ", entries["pool"][4])
        self.assertEqual(entries["pool::run"][4], "threads: the maker's. errors: none.")
        self.assertEqual(entries["Pools: The second"][2], "docs/pools.html#the-second")

    def test_check_writes_nothing(self):
        self.assertEqual(self.make(None, "--check")[0], 0)
        self.assertFalse((self.root / "build").exists())

    # what is refused

    def refused(self, files, *expected):
        status, printed = self.make(files, "--check")
        self.assertEqual(printed[:-1], list(expected))
        self.assertEqual(status, 1)

    def test_links_that_lead_nowhere(self):
        self.refused({"docs/pools.md": "# Pools\n\n[a](none.md)\ntext [b](../README.md#none)\n\n[c](#here)\n",
                      "README.md": "# braid\n\n[pools](docs/pools.md)\n"},
                     "docs/pools.md:3: the link to none.md leads to no page and no file that can be shown",
                     "docs/pools.md:4: the link ../index.html#none leads to no anchor of index.html",
                     "docs/pools.md:6: the link #here leads to no anchor of docs/pools.html")

    def test_an_example_that_is_not_there(self):
        self.refused({"docs/pools.md": "# Pools\n\n`examples/99_z.cpp`\n\n## The second\n"},
                     "docs/pools.md:3: the example examples/99_z.cpp does not exist")

    def test_a_name_without_a_comment(self):
        self.refused({HEADER: CODE.replace("/// A word.\n", "").replace("/// A contract.\n", "")},
                     f"{HEADER}:5: no comment describes the macro BRAID_CHECK",
                     f"{HEADER}:{CODE.splitlines().index('using word = unsigned long;') - 1}: no comment describes the alias word")

    def test_a_name_that_no_header_declares(self):
        self.refused({LIST: API + "gone class braid/task/pool.hpp\n"},
                     f"{LIST}:10: libclang finds no class gone in braid/task/pool.hpp")

    def test_a_header_that_does_not_compile_and_one_that_is_not_there(self):
        status, printed = self.make({HEADER: CODE.replace("using word = unsigned long", "using word = unsigned nothing")})
        self.assertEqual(status, 2)
        self.assertIn("site: the headers do not compile: ", printed[0])
        status, printed = self.make({HEADER: CODE, LIST: API + "a class braid/none.hpp\n"})
        self.assertEqual((status, printed), (2, [f"site: {LIST} names braid/none.hpp, which does not exist: run tools/check_api --fix"]))

    def test_a_folder_of_somebody_else_is_kept(self):
        self.write({"build/site/mine.txt": "x\n"})
        status, printed = self.make()
        self.assertEqual(status, 2)
        self.assertIn("is not empty and holds no site", printed[0])
        self.assertTrue((self.root / "build/site/mine.txt").exists())


class Missing(unittest.TestCase):
    def test_a_missing_module_names_its_package(self):
        debian.PACKAGES["no_such_module"] = "python3-none"
        self.addCleanup(debian.PACKAGES.pop, "no_such_module")
        with self.assertRaisesRegex(debian.SiteError, "the package python3-none is missing .*apt-get install python3-none"):
            debian.module("no_such_module")


@unittest.skipIf(WHY, WHY)
class Code(unittest.TestCase):
    def test_lines_stay_lines(self):
        shown = code.highlight("/* a\n b */ int x;\n", "cpp")
        self.assertEqual(shown, '<span class="c">/* a</span>\n<span class="c"> b */</span> <span class="kt">int</span> x;\n')

    def test_an_unknown_language_is_plain(self):
        self.assertEqual(code.highlight("a < b", "nothing"), "a &lt; b")


if __name__ == "__main__":
    unittest.main()
