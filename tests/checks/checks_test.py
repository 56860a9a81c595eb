#!/usr/bin/env python3
"""Each check fails on a small tree that breaks its rule."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import container  # noqa: E402
import dependencies_documented  # noqa: E402
import docs_links  # noqa: E402
import driver_symbols  # noqa: E402
import folders  # noqa: E402
import hardening  # noqa: E402
import include_arrows  # noqa: E402
import link_graph  # noqa: E402
import promised_tests  # noqa: E402
import source_rules  # noqa: E402
import words  # noqa: E402

CLEAN_HEADER = "#pragma once\n"


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()
        (self.root / "src").mkdir()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def messages(self, check):
        return [f"{p.relative_to(self.root)}:{n}: {m}" for p, n, m in check.find(self.root)]

    def assert_finds(self, check, *expected):
        found = self.messages(check)
        self.assertEqual(len(found), len(expected), found)
        for text in expected:
            self.assertTrue(any(text in message for message in found), (text, found))


class IncludeArrows(CheckTest):
    def module(self, name, uses="", text=""):
        uses = f"USES {uses}" if uses else ""
        self.write(f"src/{name}/CMakeLists.txt", f"carpool_module(NAME {name} {uses})\n")
        self.write(f"src/{name}/it.cpp", text)

    def test_passes_an_arrow_of_the_table_and_what_it_leads_to(self):
        self.module("base")
        self.module("core", "base")
        self.module("report", "core", '#include "core/it.hpp"\n#include "base/it.hpp"\n')
        self.assert_finds(include_arrows)

    def test_finds_an_include_against_the_arrow(self):
        self.module("base", text='#include "core/it.hpp"\n')
        self.module("core", "base")
        self.assert_finds(include_arrows, "src/base/it.cpp:1: src/base may not use src/core")

    def test_finds_uses_against_the_arrow(self):
        self.module("base", "core")
        self.module("core")
        self.assert_finds(include_arrows, "CMakeLists.txt:1: src/base may not use src/core")

    def test_finds_a_linked_target_against_the_arrow(self):
        self.module("base")
        self.write(
            "src/base/CMakeLists.txt", "target_link_libraries(it PRIVATE carpool_app carpool_warnings)"
        )
        self.assert_finds(include_arrows, "src/base may not use src/app")

    def test_finds_an_include_of_what_is_not_linked(self):
        self.module("base")
        self.module("core", text='#include "base/it.hpp"\n')
        self.assert_finds(include_arrows, "src/core/CMakeLists.txt has no arrow to base")

    def test_finds_a_folder_that_is_not_in_the_table(self):
        self.module("drawer")
        self.assert_finds(include_arrows, "src/drawer:1: not in the table")

    def test_finds_an_include_without_folder_and_of_test_code(self):
        self.module("base", text='#include "it.hpp"\n#include "base/tests/it.hpp"\n')
        self.assert_finds(include_arrows, "name the folder", "only tests may use")

    def test_finds_vendor_headers_and_dynamic_loading(self):
        self.module("base", text="#include <cuda_runtime.h>\n#include <dlfcn.h>\ndlopen(name, 0);\n")
        self.assert_finds(include_arrows, "it.cpp:1: only", "it.cpp:2: only", "it.cpp:3: only")

    def test_finds_an_architecture_table_that_says_otherwise(self):
        self.module("base")
        self.module("core", "base")
        self.module("learn", "base")
        rows = ["| `src/base/` | – | nothing of ours |", "| `src/core/` | nouns | base, learn |"]
        self.write("ARCHITECTURE.md", "\n".join(rows))
        self.assert_finds(include_arrows, "2: src/core may use: base", "no row for src/learn")


class SourceRules(CheckTest):
    def test_passes_a_clean_tree(self):
        self.write("src/core/it.hpp", CLEAN_HEADER + "#include <Eigen/Core>\n// TODO(#12): later\n")
        self.write("src/base/clock.cpp", "std::chrono::steady_clock::now();\n")
        self.write("src/core/it.cpp", '#include "core/it.hpp"\n#include <nlohmann/json.hpp>\n')
        self.assert_finds(source_rules)

    def test_finds_a_long_file(self):
        self.write("src/core/it.cpp", "\n" * 321)
        self.write("src/core/tests/it_test.cpp", "\n" * 601)
        self.write("src/core/tests/short_test.cpp", "\n" * 600)
        self.assert_finds(source_rules, "more than 320 lines", "more than 600 lines")

    def test_finds_expensive_headers_in_a_header(self):
        for number, name in enumerate(["regex", "Eigen/QR", "nlohmann/json.hpp", "CLI/CLI.hpp"]):
            self.write(f"src/core/{number}.hpp", CLEAN_HEADER + f"#include <{name}>\n")
        self.assert_finds(source_rules, "<regex>", "<Eigen/QR>", "json.hpp>", "<CLI/CLI.hpp>")

    def test_finds_a_header_without_guard(self):
        self.write("src/core/it.hpp", "// #pragma once\n")
        self.assert_finds(source_rules, "no #pragma once")

    def test_finds_a_source_whose_own_header_is_not_first(self):
        self.write("src/core/it.hpp", CLEAN_HEADER)
        self.write("src/core/it.cpp", '#include <map>\n#include "core/it.hpp"\n')
        self.assert_finds(source_rules, 'it.cpp:1: the first #include is not "core/it.hpp"')

    def test_finds_two_types_of_one_name(self):
        self.write("src/base/a.hpp", CLEAN_HEADER + "namespace carpool {\nstruct Twice {\n};\n}\n")
        self.write("src/core/b.hpp", CLEAN_HEADER + "namespace carpool {\nclass Twice final {\n};\n}\n")
        self.assert_finds(source_rules, "carpool::Twice is defined in src/base/a.hpp too")

    def test_finds_clocks_and_sleeping(self):
        self.write("src/core/it.cpp", "Clock::now();\nsleep_for(1s);\n")
        self.assert_finds(source_rules, "it.cpp:1: reads a clock", "it.cpp:2: reads a clock")

    def test_finds_unfinished_parts_without_an_issue(self):
        self.write("docs/it.md", "TODO: more\n")
        self.assert_finds(source_rules, "docs/it.md:1: an unfinished part")

    def test_finds_paths_of_a_machine(self):
        self.write("scripts/it.sh", "cd /home/me\ncp a/home/b .\n")
        self.assert_finds(source_rules, "it.sh:1: a path")


class Folders(CheckTest):
    def setUp(self):
        super().setUp()
        for folder in ("base", "gpu"):
            self.write(f"src/{folder}/README.md", f"# src/{folder}\n")

    def test_passes_the_namespace_of_the_folder_or_one_within(self):
        self.write("src/base/it.hpp", "namespace carpool {\n")
        self.write("src/gpu/it.hpp", "namespace carpool::gpu {\n")
        self.write("src/gpu/nvml/it.hpp", "namespace toml {\n}\nnamespace carpool::gpu::nvml {\n")
        self.assert_finds(folders)

    def test_finds_another_namespace_and_none(self):
        self.write("src/gpu/it.hpp", "\nnamespace carpool::run {\n")
        self.write("src/gpu/other.hpp", "namespace carpool {\n")
        self.write("src/base/it.hpp", "int global = 0;\n")
        self.assert_finds(
            folders,
            "src/gpu/it.hpp:2: namespace carpool::run, expected carpool::gpu",
            "src/gpu/other.hpp:1: namespace carpool, expected carpool::gpu",
            "src/base/it.hpp:1: no namespace carpool",
        )

    def test_finds_a_large_folder_but_not_among_tests(self):
        for number in range(41):
            self.write(f"src/gpu/nvml/it{number}.hpp", "namespace carpool::gpu {\n")
            self.write(f"src/gpu/tests/it{number}.cpp", "namespace carpool::gpu {\n")
        self.assert_finds(folders, "src/gpu/nvml:1: 41 C++ files")

    def test_finds_a_folder_without_readme(self):
        self.write("src/run/it.hpp", "namespace carpool::run {\n")
        self.assert_finds(folders, "src/run:1: no README.md")


class Words(CheckTest):
    def test_passes_other_words_and_keys_of_files(self):
        self.write("src/core/it.cpp", 'read("stand_ins");  // there is no GPU; seatbelt; it is no longer\n')
        self.write("src/core/tests/data/it.json", "tenant\n")
        self.assert_finds(words)

    def test_finds_old_words_in_identifiers_comments_and_names_of_files(self):
        self.write("src/core/aftermath.hpp", "struct CoRunModel {\n  int old_seats;\n};  // the tenants\n")
        self.assert_finds(
            words,
            'aftermath.hpp:1: "aftermath" in the name of a file',
            '1: "co_run"',
            '2: "seat": say member',
            '3: "tenant"',
        )

    def test_finds_phrases_in_messages_and_comments_only(self):
        self.write("src/core/it.cpp", 'fail("x is no number");\n// Nobody runs.\nint nobody = 0;\n')
        self.assert_finds(words, 'it.cpp:1: "is no": say is not a', 'it.cpp:2: "nobody"')

    def test_passes_a_word_that_is_allowed_there(self):
        self.write("src/estimate/tests/readers_test.cpp", 'find("nobody");\n')
        self.assert_finds(words)


class LinkGraph(CheckTest):
    NINJA = """
build bin/carpool_run_test: CXX_EXECUTABLE_LINKER a.o | lib/libcarpool_run.a
  LINK_LIBRARIES = {libraries}

build bin/carpool_model_test: CXX_EXECUTABLE_LINKER b.o
  LINK_LIBRARIES = lib/libcarpool_model.a -lxgboost
"""

    def found(self, libraries, programs=("run",)):
        self.write("build.ninja", self.NINJA.format(libraries=libraries))
        return list(link_graph.find(self.root / "build.ninja", programs))

    def test_passes_programs_without_models(self):
        self.assertEqual(self.found("lib/libcarpool_run.a lib/libcarpool_core.a"), [])

    def test_finds_a_model_and_its_library(self):
        self.assertEqual(
            self.found("lib/libcarpool_learn.a /usr/lib/libxgboost.so"),
            ["carpool_run_test links libcarpool_learn.a", "carpool_run_test links xgboost"],
        )

    def test_finds_a_missing_program(self):
        self.assertEqual(len(self.found("", programs=("run", "store"))), 1)


class Hardening(CheckTest):
    SOURCE = r"""
        #include <cstdio>
        #include <cstring>
        #include <vector>
        extern "C" __attribute__((visibility("default"))) int InitializeInjection(char* to, const char* from) {
          char text[64];
          std::strcpy(text, from);
          return std::snprintf(to, 64, "%s", text) + std::vector<int>(3)[static_cast<unsigned>(*from)];
        }
        void (*volatile landing)() = nullptr;
        """
    LANDINGS = "".join(f"void f{i}() {{ landing = f{i}; }}\n" for i in range(120))
    FLAGS = ["-O1", "-fPIC", "-fstack-protector-strong", "-fcf-protection", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3",
             "-D_GLIBCXX_ASSERTIONS", "-Wl,-z,relro,-z,now,-z,noexecstack"]

    def found(self, name, *flags):
        shared = ["-shared"] if ".so" in name else []
        main = "" if shared else "int main(int n, char** v) { return InitializeInjection(v[0], v[n]); }"
        self.write("it.cpp", self.SOURCE + self.LANDINGS + main)
        built = self.root / name
        subprocess.run(["g++", "-w", *flags, *shared, "-o", built, self.root / "it.cpp"], check=True)
        return " ".join(hardening.problems_of(built))

    def test_passes_a_hardened_program(self):
        self.assertEqual(self.found("it", *self.FLAGS, "-pie"), "")

    def test_finds_what_a_program_lacks(self):
        found = self.found("it", "-O1", "-no-pie", "-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE",
                           "-Wl,-z,lazy,-z,execstack")
        for lack in ("RELRO", "executable", "stack protector", "checked C", "endbr64", "position-", "assertions"):
            self.assertIn(lack, found)

    def test_finds_a_library_that_needs_more_than_the_oldest_glibc(self):
        self.SOURCE = "#include <sys/stat.h>\n" + self.SOURCE + "int size(int f) { struct stat s; return fstat(f, &s); }"
        found = self.found("libit.so", *self.FLAGS)
        self.assertIn("fstat needs GLIBC_2.33", found)
        self.assertIn("link the C++ runtime statically", found)
        self.assertIn("is visible to the programs", found)


    def test_finds_what_a_library_in_front_of_the_driver_lacks(self):
        self.SOURCE += "int number();\nint global = number();"
        found = self.found("libcarpool_cuda.so", *self.FLAGS)
        self.assertIn("cuInit is missing", found)
        self.assertIn("SONAME", found)
        self.assertIn("unload", found)
        self.assertIn("constructors", found)


class DriverSymbols(CheckTest):
    def write_lists(self, symbols):
        self.write("src/interpose/library/driver_symbols.inc",
                   "".join(f"DRIVER_SYMBOL({name})\n" for name in symbols))
        self.write("src/interpose/library/driver_calls.inc", "DRIVER_CALL(cuInit, (unsigned))\n")
        self.write("src/interpose/library/copy_calls.inc", "")

    def test_finds_names_in_disorder_and_wrappers_without_a_name(self):
        self.write_lists(["cuMemFree_v2", "cuMemAlloc_v2"])
        found = " ".join(self.messages(driver_symbols))
        self.assertIn("not sorted", found)
        self.assertIn("cuInit is not in the list", found)

    def test_passes_lists_that_agree(self):
        self.write_lists(["cuInit"])
        found = [it for it in self.messages(driver_symbols) if "toolkit" not in it]
        self.assertEqual(found, [])


class DocsLinks(CheckTest):
    def test_passes_links_that_lead_somewhere(self):
        self.write("docs/it.md", "## What it is\n[a](../README.md) [b](#what-it-is)\n")
        self.write("README.md", "[a](docs/it.md#what-it-is) [b](https://x.org) `[c](none)`\n")
        self.assert_finds(docs_links)

    def test_finds_links_to_nothing(self):
        self.write("README.md", "[a](docs/none.md)\n```\n[b](none)\n```\n[c](#none)\n")
        self.assert_finds(docs_links, "README.md:1: docs/none.md", "README.md:5: #none")


class DependenciesDocumented(CheckTest):
    def test_passes_when_list_and_document_agree(self):
        self.write("scripts/packages.txt", "# list\n[build]\ncmake\n")
        self.write("docs/dependencies.md", "## To build `[build]`\n| `cmake` | makes |\n")
        self.assert_finds(dependencies_documented)

    def test_finds_what_only_one_of_them_names(self):
        self.write("scripts/packages.txt", "[build]\ncmake\n[test]\nshellcheck\n")
        self.write(
            "docs/dependencies.md",
            "## To build `[build]`\n| `cmake` | makes |\n| `shellcheck` | in the wrong section |\n",
        )
        self.assert_finds(
            dependencies_documented,
            "packages.txt:4: shellcheck has no row under [test]",
            "dependencies.md:3: shellcheck is not under [build]",
        )


class Container(CheckTest):
    def write_dockerfile(self, *lines):
        self.write("packaging/Dockerfile", "# The image.\nFROM debian:12\n" + "\n".join(lines) + "\n")
        self.write("scripts/packages.txt", "[build]\ncmake\n")
        self.write("scripts/packages.sh", "")
        self.write(".dockerignore", "/build/\n**/__pycache__/\n")
        self.write("build/x", "")

    def test_passes_what_exists(self):
        self.write_dockerfile("COPY scripts/packages.sh scripts/packages.txt scripts/",
                              "RUN scripts/packages.sh ensure build && \\", "    rm -rf /x", "COPY . .",
                              "COPY --from=build /packages /packages")
        self.assert_finds(container)

    def test_finds_files_sections_and_packages_that_do_not_exist(self):
        self.write_dockerfile("COPY gone.txt build/x /", "RUN true && \\", "    scripts/gone.sh",
                              "RUN scripts/packages.sh ensure build lint",
                              "RUN apt-get install -y cmake no-such-library /packages/*.deb")
        self.write("scripts/packages.txt", "[build]\nno-such-package-anywhere\n")
        package = ("no package no-such-package-anywhere", "Dockerfile:7: Debian 12 has no package no-such-library")
        package = package if container.known_packages(["x"]) != {"x"} else ()
        self.assert_finds(container, "Dockerfile:3: gone.txt does not exist", "build/x is kept out by .dockerignore",
                          "Dockerfile:4: scripts/gone.sh does not exist", "no section [lint]", *package)


class PromisedTests(CheckTest):
    def page(self, *names):
        self.write("docs/security.md", "| promise | test |\n|---|---|\n" +
                   "".join(f"| A promise | {name} |\n" for name in names))
        self.write("src/run/tests/it_test.cpp", "TEST(Suite, Holds) {}\n")
        self.write("tests/e2e/it_test.py", "class Topic:\n    def test_holds(self):\n        pass\n")
        self.write("bench/campaign/run", "")

    def test_passes_suites_tests_and_benchmarks(self):
        self.page("`Suite`", "`Suite.Holds`", "e2e `Topic`", "`it_test.test_holds`", "`bench/campaign`")
        self.assert_finds(promised_tests)

    def test_finds_a_test_that_does_not_exist(self):
        self.page("`Suite.Gone`", "`Suite`, e2e `Gone`")
        self.assert_finds(promised_tests, "no test Suite.Gone", "no test Gone")

    def test_finds_a_page_without_promises(self):
        self.page()
        self.assert_finds(promised_tests, "no promise names a test")


if __name__ == "__main__":
    unittest.main()
