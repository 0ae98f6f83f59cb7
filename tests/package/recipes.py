# tests/package/recipes.py: checks that the recipes for Conan and vcpkg are well formed, that they name options that braid has,
# and that they have its version. conan_recipe.py builds the recipe for Conan; no test builds that for vcpkg.
#
#   python3 tests/package/recipes.py
import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from checks import must

SOURCES = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCES / "tools"))
from packagelib import version  # noqa: E402

CONAN, PORT = SOURCES / "packaging/conan", SOURCES / "packaging/vcpkg/braid"
FUNCTIONS = ("vcpkg_cmake_configure", "vcpkg_cmake_install", "vcpkg_cmake_config_fixup", "vcpkg_fixup_pkgconfig",
             "vcpkg_install_copyright")


def check_variables(text, where):
    """Each variable of a build that a recipe gives is one of braid."""
    known = (SOURCES / "cmake/options.cmake").read_text(encoding="utf-8")
    for name in set(re.findall(r"\bBRAID_\w+", text)):
        must(re.search(rf"(option|set|find_library|find_path)\({name} ", known), f"{where}: braid has no {name}")


def check_conan():
    recipe = (CONAN / "conanfile.py").read_text(encoding="utf-8")
    tree = ast.parse(recipe)
    check_variables(recipe, "conanfile.py")
    listed = next(ast.literal_eval(node.value) for node in tree.body
                  if isinstance(node, ast.Assign) and node.targets[0].id == "TREE")
    for pattern in listed:
        must(any(SOURCES.glob(pattern)), f"conanfile.py: there is no {pattern}")
    found = re.search(r"^project\(braid VERSION (\S+)", (SOURCES / "CMakeLists.txt").read_text(encoding="utf-8"), re.MULTILINE)
    must('r"^project\\(braid VERSION (\\S+)"' in recipe and found[1] == version(SOURCES), "conanfile.py finds another version")
    ast.parse((CONAN / "test_package/conanfile.py").read_text(encoding="utf-8"))
    program = re.search(r"add_executable\(program (\S+)\)", (CONAN / "test_package/CMakeLists.txt").read_text(encoding="utf-8"))[1]
    must((CONAN / "test_package" / program).exists(), f"test_package: there is no {program}")


def check_port():
    manifest = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
    must((manifest["name"], manifest["version"]) == (PORT.name, version(SOURCES)), f"vcpkg.json is of {manifest['version']}")
    check_variables((PORT / "portfile.cmake").read_text(encoding="utf-8"), "portfile.cmake")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.cmake"
        stubs = [f'function({name})\n  message("{name} ${{ARGN}}")\nendfunction()\n' for name in FUNCTIONS]
        script.write_text("".join(stubs) + f'include("{PORT}/portfile.cmake")\n', encoding="utf-8")
        ran = subprocess.run(["cmake", f"-DCURRENT_PACKAGES_DIR={folder}/none", "-DVCPKG_LIBRARY_LINKAGE=dynamic", "-P", script],
                             capture_output=True, text=True, check=False)
        must(ran.returncode == 0, f"portfile.cmake: {ran.stderr}")
        for word in (f"vcpkg_cmake_configure SOURCE_PATH;{SOURCES};", "-DBRAID_SHARED=1"):
            must(word in ran.stderr, f"portfile.cmake does not say {word}: {ran.stderr}")


if __name__ == "__main__":
    check_conan()
    check_port()
    print("the recipes are well formed")
