"""The Python sources compile, and import nothing that they do not use."""

import ast
import unittest

import tree

FOLDERS = (tree.PACKAGE, tree.WORKLOADS, tree.ROOT / "tests" / "python")


def sources():
    for folder in FOLDERS:
        yield from sorted(folder.rglob("*.py"))


def imported_names(module):
    for node in ast.walk(module):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield (alias.asname or alias.name).partition(".")[0]


def used_names(module):
    used = {node.id for node in ast.walk(module) if isinstance(node, ast.Name)}
    # What __all__ exports is used by others.
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            used.add(node.value)
    return used


class Sources(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreater(len(list(sources())), 15)

    def test_every_file_compiles_and_uses_what_it_imports(self):
        for path in sources():
            with self.subTest(str(path.relative_to(tree.ROOT))):
                text = path.read_text(encoding="utf-8")
                compile(text, str(path), "exec")  # Warnings are errors here.
                module = ast.parse(text)
                self.assertEqual(set(imported_names(module)) - used_names(module), set())

    def test_unused_imports_are_found(self):
        module = ast.parse("import os.path\nfrom a import b as c, d\nd()")
        self.assertEqual(set(imported_names(module)) - used_names(module), {"os", "c"})


if __name__ == "__main__":
    unittest.main()
