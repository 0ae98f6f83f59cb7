# packaging/conan/conanfile.py: braid, the library alone, as a package of Conan 2, built of the tree that this file is in.
#
#   conan create packaging/conan --build=missing
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

TREE = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "modules/*")


class Braid(ConanFile):
    name = "braid"
    description = "One runtime for work-stealing tasks, coroutines on event loops, and threads"
    license = "Apache-2.0 WITH LLVM-exception"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "checked": [True, False], "uring": [True, False], "fibers": [True, False]}
    default_options = {"shared": True, "checked": False, "uring": True, "fibers": False}

    @property
    def tree(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self.tree, "CMakeLists.txt"))
        self.version = re.search(r"^project\(braid VERSION (\S+)", text, re.MULTILINE)[1]

    def export_sources(self):
        for pattern in TREE:
            copy(self, pattern, self.tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("openssl/[>=3.0 <4]")
        if self.options.uring:
            self.requires("liburing/[>=2.3 <3]")
        if self.options.fibers:
            self.requires("boost/[>=1.74 <2]")

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration("braid needs Linux on x86-64")
        check_min_cppstd(self, 23)

    def generate(self):
        made = CMakeToolchain(self)
        values = made.cache_variables
        values |= {"BRAID_PROGRAMS": False, "BUILD_TESTING": False}
        values |= {"BRAID_SHARED": bool(self.options.shared), "BRAID_CHECKED": bool(self.options.checked)}
        # A library of the system is not to be found where the package has none.
        for option, variable in (("uring", "BRAID_URING_LIBRARY"), ("fibers", "BRAID_FIBER_LIBRARY")):
            if not self.options.get_safe(option):
                values[variable] = "OFF"
        made.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install(component="library")

    def package_info(self):
        # The package for CMake is braid's own: it has the definitions, and finds OpenSSL.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "braid")]
        self.cpp_info.libs = ["braid"]
