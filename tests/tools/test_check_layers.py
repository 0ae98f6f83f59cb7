# tests/tools/test_check_layers.py: every rule of tools/check_layers, broken and kept.
import unittest

from tree import ToolCase


class CheckLayers(ToolCase):
    tool = "check_layers"

    def test_a_layer_includes_itself_and_lower_layers(self):
        self.accepts({
            "include/braid/base/a.hpp": "#include <vector>\n",
            "include/braid/task/pool.hpp": "#include <braid/base/a.hpp>\n#include <braid/task/job.hpp>\n",
            "include/braid/task/job.hpp": "#include <braid/sync/missing.hpp>\n",
            "src/task/pool.cpp": '#include "private.hpp"\n#include <braid/task/pool.hpp>\n',
            "src/task/private.hpp": "",
        })

    def test_a_layer_includes_no_higher_layer(self):
        self.refuses({"include/braid/task/pool.hpp": "\n#include <braid/coro/task.hpp>\n"},
                     "include/braid/task/pool.hpp:2: layer task includes include/braid/coro/task.hpp of the higher layer coro")

    def test_a_source_includes_no_higher_layer(self):
        self.refuses({"src/sync/a.cpp": "#include <braid/thread/this_thread.hpp>\n"}, "src/sync/a.cpp:1: higher layer thread")

    def test_a_relative_include_is_no_way_round(self):
        self.refuses({"src/sync/a.cpp": '#include "../task/b.hpp"\n', "src/task/b.hpp": ""},
                     "src/sync/a.cpp:1: includes src/task/b.hpp of the higher layer task")

    def test_a_commented_include_is_none(self):
        self.accepts({"src/sync/a.cpp": "// #include <braid/task/pool.hpp>\n/*\n#include <braid/io/loop.hpp>\n*/\n"})

    def test_rankd_obeys_its_own_order(self):
        self.refuses({"rankd/rows/a.hpp": "#include <rankd/plan/b.hpp>\n"},
                     "rankd/rows/a.hpp:1: layer rows includes rankd/plan/b.hpp of the higher layer plan")
        self.accepts_instead({"rankd/plan/a.hpp": "#include <rankd/rows/b.hpp>\n", "rankd/rows/b.hpp": ""})

    def test_server_lies_between_engine_and_cli(self):
        self.refuses({"rankd/engine/a.cpp": "#include <rankd/server/s.hpp>\n",
                      "rankd/server/b.cpp": "#include <rankd/cli/c.hpp>\n",
                      "rankd/cli/c.cpp": "#include <rankd/server/s.hpp>\n#include <rankd/engine/e.hpp>\n"},
                     "rankd/engine/a.cpp:1: higher layer server", "rankd/server/b.cpp:1: higher layer cli")

    def test_rankd_uses_all_of_braid(self):
        self.accepts({"rankd/registry/a.hpp": "#include <braid/runtime/runtime.hpp>\n#include <braid/braid.hpp>\n",
                      "include/braid/braid.hpp": "#include <braid/runtime/runtime.hpp>\n",
                      "include/braid/runtime/runtime.hpp": ""})

    def test_the_library_knows_no_rankd(self):
        self.refuses({"include/braid/runtime/a.hpp": "#include <rankd/rows/b.hpp>\n",
                      "src/runtime/a.cpp": '#include "rankd/rows/b.hpp"\n',
                      "rankd/rows/b.hpp": ""},
                     "include/braid/runtime/a.hpp:1: the library includes rankd/rows/b.hpp",
                     "src/runtime/a.cpp:1: the library includes rankd/rows/b.hpp")

    def test_each_layer_calls_the_system_by_one_interface(self):
        self.accepts({"src/platform/system.hpp": "", "src/sync/a.cpp": '#include "../platform/system.hpp"\n',
                      "src/platform/linux/a.cpp": '#include "../system.hpp"\n#include <braid/coro/task.hpp>\n#if defined(__linux__)\n#endif\n',
                      "include/braid/base/config.hpp": "#if defined(_WIN32)\n#endif\n"})
        self.accepts({"src/platform/descriptors.hpp": "", "include/braid/io/loop.hpp": "",
                      "src/io/a.cpp": '#include "../platform/descriptors.hpp"\n',
                      "src/platform/windows/a.cpp": '#include "../descriptors.hpp"\n#include <braid/io/loop.hpp>\n'})

    def test_the_interface_to_the_system_is_below_all_layers_and_its_sources_are_above(self):
        self.accepts({"src/runtime/a.hpp": "", "src/platform/windows/a.cpp": '#include "../../runtime/a.hpp"\n'})
        self.refuses({"src/platform/descriptors.hpp": "#include <braid/io/loop.hpp>\n", "include/braid/io/loop.hpp": "",
                      "src/net/b.cpp": '#include "../runtime/a.hpp"\n', "src/runtime/a.hpp": ""},
                     "src/platform/descriptors.hpp:1: layer base includes include/braid/io/loop.hpp of the higher layer io",
                     "src/net/b.cpp:1: layer net includes src/runtime/a.hpp of the higher layer runtime")

    def test_code_for_one_system_stands_in_its_folder(self):
        self.refuses({"src/sync/a.cpp": "\n#ifdef _WIN32\n#endif\n",
                      "include/braid/task/b.hpp": "#if defined(__linux__) && !defined(X)\n#endif\n"},
                     "src/sync/a.cpp:2: compiles code for one system", "include/braid/task/b.hpp:1: compiles code for one system")

    def test_no_layer_includes_the_header_of_a_part(self):
        self.refuses({"src/runtime/a.cpp": "#include <braid/braid.hpp>\n",
                      "include/braid/coro/a.hpp": "#include <braid/base.hpp>\n"},
                     "src/runtime/a.cpp:1: include/braid/braid.hpp is for programs",
                     "include/braid/coro/a.hpp:1: include/braid/base.hpp is for programs")

    def test_the_header_of_a_part_includes_its_layer_and_what_is_below(self):
        self.accepts({"include/braid/braid.hpp": "#include <braid/io.hpp>\n#include <braid/runtime/runtime.hpp>\n",
                      "include/braid/io.hpp": "#include <braid/io/loop.hpp>\n#include <braid/base/error.hpp>\n",
                      "include/braid/http.hpp": "#include <braid/net/http_client.hpp>\n#include <braid/io.hpp>\n"})

    def test_the_header_of_a_part_includes_nothing_higher(self):
        self.refuses({"include/braid/task.hpp": "#include <braid/coro/task.hpp>\n#include <braid/io.hpp>\n",
                      "include/braid/braid.hpp": "#include <rankd/rows/b.hpp>\n", "rankd/rows/b.hpp": ""},
                     "include/braid/task.hpp:1: layer task includes include/braid/coro/task.hpp of the higher layer coro",
                     "include/braid/task.hpp:2: layer task includes include/braid/io.hpp of the higher layer io",
                     "include/braid/braid.hpp:1: the library includes rankd/rows/b.hpp of the application")

    def test_nothing_includes_tests(self):
        self.refuses({"rankd/rows/a.cpp": "#include <tests/support/b.hpp>\n", "tests/support/b.hpp": ""},
                     "rankd/rows/a.cpp:1: tests/support/b.hpp, which belongs to neither")

    def test_a_public_header_includes_no_private_one(self):
        self.refuses({"include/braid/task/a.hpp": '#include "task/b.hpp"\n', "src/task/b.hpp": ""},
                     "include/braid/task/a.hpp:1: src/task/b.hpp, which is not installed")

    def test_tests_include_everything(self):
        self.accepts({"tests/base/a_test.cpp": "#include <braid/runtime/r.hpp>\n#include <rankd/cli/c.hpp>\n"
                                               "#include <braid/braid.hpp>\n"})

    def test_every_file_lies_in_a_layer(self):
        self.refuses({"include/braid/extra/a.hpp": "", "include/braid/b.hpp": "", "src/c.cpp": "", "rankd/d.cpp": "",
                      "include/other/e.hpp": ""},
                     "include/braid/extra/a.hpp:1: lies in no layer of braid", "include/braid/b.hpp:1: lies in no layer",
                     "src/c.cpp:1: lies in no layer", "rankd/d.cpp:1: lies in no layer of rankd",
                     "include/other/e.hpp:1: lies in no layer")

    def test_a_file_in_no_layer_is_complained_about_once(self):
        self.refuses({"include/braid/extra/a.hpp": "", "src/base/a.cpp": "#include <braid/extra/a.hpp>\n"},
                     "include/braid/extra/a.hpp:1: lies in no layer")

    def test_an_angled_include_does_not_mean_the_neighbour(self):
        self.accepts({"src/io/signal.h": "#include <signal.h>\n"})

    def test_a_circle_is_reported_where_it_closes(self):
        self.refuses({"include/braid/base/a.hpp": "#include <braid/base/b.hpp>\n",
                      "include/braid/base/b.hpp": "\n#include <braid/base/c.hpp>\n",
                      "include/braid/base/c.hpp": '\n\n#include "a.hpp"\n'},
                     "include/braid/base/c.hpp:3: include/braid/base/a.hpp -> include/braid/base/b.hpp -> "
                     "include/braid/base/c.hpp -> include/braid/base/a.hpp")

    def test_a_file_that_includes_itself_is_a_circle(self):
        self.refuses({"tests/base/a.hpp": '#include "a.hpp"\n'}, "tests/base/a.hpp:1: closes a cycle")

    def test_two_ways_to_one_header_are_no_circle(self):
        self.accepts({"src/base/a.cpp": '#include "b.hpp"\n#include "c.hpp"\n', "src/base/b.hpp": '#include "d.hpp"\n',
                      "src/base/c.hpp": '#include "d.hpp"\n', "src/base/d.hpp": ""})


if __name__ == "__main__":
    unittest.main()
