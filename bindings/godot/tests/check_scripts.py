"""Checks GDScript, scenes and the addon against what the library registers, without an engine.

    check_scripts.py REGISTERED    what tests/host/host.c printed
"""

import re
import sys
import unittest
from collections import defaultdict
from pathlib import Path

from gdtoolkit.parser import parser

GODOT = Path(__file__).resolve().parent.parent
DEMO = GODOT / "demo"
ADDON = GODOT / "addons" / "open_apple_models"
GUIDE = GODOT.parent / "README.md"

# Of the engine's own members, those that the scripts here use.
NODE = {"add_child", "get_parent", "name", "queue_free"}


class Registered:
    """The classes of the library, with their members."""

    def __init__(self, text):
        self.parents = {}
        self.methods = defaultdict(dict)
        self.signals = defaultdict(dict)
        self.properties = defaultdict(dict)
        # The library itself says a line, too.
        for line in filter(lambda line: "\t" in line, text.splitlines()):
            kind, owner, *rest = line.split("\t")
            if kind == "class":
                self.parents[owner] = rest[0]
            elif kind == "method":
                self.methods[owner][rest[0]] = (int(rest[1]) - int(rest[2]), int(rest[1]))
            elif kind == "signal":
                self.signals[owner][rest[0]] = int(rest[1])
            elif kind == "property":
                self.properties[owner][rest[0]] = rest[1]

    def has(self, owner, member):
        own = self.methods[owner].keys() | self.signals[owner].keys() | self.properties[owner].keys()
        return member in own or self.parents[owner] == "Node" and member in NODE


def code_blocks(document, heading=None):
    """The GDScript of a document, or of one section of it."""
    text = document.read_text(encoding="utf-8")
    if heading:
        text = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.S | re.M).group(1)
    return re.findall(r"^```gdscript\n(.*?)^```", text, re.S | re.M)


def arguments(text):
    """How many arguments stand between the parenthesis that begins the text and its end."""
    depth, count, empty = 0, 1, True
    for match in re.finditer(r'"(?:\\.|[^"\\])*"|[\[({]|[\])}]|,|\S', text):
        token = match.group()
        if token in "[({":
            depth += 1
            if depth == 1:
                continue
        elif token in "])}":
            depth -= 1
            if depth == 0:
                return 0 if empty else count
        elif token == "," and depth == 1:
            count += 1
        empty = False
    raise ValueError(f"no end of the arguments: {text[:60]}")


class Script:
    """A script, as far as its uses of the library's classes go."""

    def __init__(self, name, text):
        self.name = name
        self.text = text
        # No '#' stands inside a text here; the parser has the last word on what is a comment.
        self.code = re.sub(r"(^|\s)##?.*$", "", text, flags=re.M)
        # A name has one class all over a script, or the check below would be a guess.
        self.types = dict(re.findall(r"(\w+)\s*:\s*(Oam\w+)", self.code))
        self.types |= dict(re.findall(r"var (\w+)\s*:=\s*(Oam\w+)\.new\(", self.code))
        self.functions = {
            name: arguments(f"({parameters})")
            for name, parameters in re.findall(r"^func (\w+)\((.*?)\)", self.code, re.M)
        }

    def uses(self):
        """Each `name.member` of a name with a known class: class, member, and the text behind it."""
        for match in re.finditer(r"(?<![\w.])(\w+)\.(\w+)", self.code):
            name, member = match.groups()
            if name in self.types:
                yield self.types[name], member, self.code[match.end():]


def scripts():
    found = [Script(path.name, path.read_text(encoding="utf-8")) for path in sorted(DEMO.glob("*.gd"))]
    for document, heading in ((GUIDE, "Godot"), (GODOT / "README.md", None)):
        blocks = code_blocks(document, heading)
        found += [Script(f"{document.parent.name}/{document.name}", block) for block in blocks]
    return found


class Scripts(unittest.TestCase):
    def test_all_scripts_parse(self):
        for script in scripts():
            with self.subTest(script.name):
                parser.parse(script.text + "\n")

    def test_the_demo_and_the_guide_use_the_library(self):
        uses = {script.name for script in scripts() if any(script.uses())}
        self.assertLessEqual({"tavern.gd", "bindings/README.md", "godot/README.md"}, uses)

    def test_all_classes_exist(self):
        for script in scripts():
            for name in re.findall(r"\bOam\w+", script.code):
                self.assertIn(name, REGISTERED.parents, script.name)

    def test_all_members_exist(self):
        for script in scripts():
            for owner, member, _ in script.uses():
                self.assertTrue(REGISTERED.has(owner, member), f"{script.name}: {owner}.{member}")

    def test_methods_get_as_many_arguments_as_they_take(self):
        for script in scripts():
            for owner, member, behind in script.uses():
                if member in REGISTERED.methods[owner] and behind.startswith("("):
                    least, most = REGISTERED.methods[owner][member]
                    self.assertIn(arguments(behind), range(least, most + 1), f"{script.name}: {owner}.{member}")

    def test_signals_reach_functions_with_as_many_parameters(self):
        for script in scripts():
            for owner, member, behind in script.uses():
                handler = re.match(r"\.connect\((\w+)\)", behind)
                if member in REGISTERED.signals[owner] and handler and handler.group(1) in script.functions:
                    parameters = script.functions[handler.group(1)]
                    self.assertEqual(parameters, REGISTERED.signals[owner][member], f"{script.name}: {owner}.{member}")

    def test_only_properties_are_assigned_that_can_be(self):
        for script in scripts():
            for owner, member, behind in script.uses():
                if re.match(r"\s*=(?!=)", behind):
                    self.assertEqual(REGISTERED.properties[owner].get(member), "rw", f"{script.name}: {owner}.{member}")


class Library(unittest.TestCase):
    def test_no_member_of_a_class_hides_another(self):
        for owner in REGISTERED.parents:
            own = [*REGISTERED.methods[owner], *REGISTERED.signals[owner], *REGISTERED.properties[owner]]
            self.assertEqual(len(own), len(set(own)), owner)

    def test_no_member_has_the_name_of_one_of_the_engine(self):
        engine = {"call", "connect", "disconnect", "emit_signal", "free", "get", "get_class", "has_method", "has_signal",
                  "is_class", "notification", "script", "set", "to_string", "tr", "duplicate", "find_child", "get_children",
                  "get_node", "get_owner", "get_path", "get_tree", "is_ready", "name", "owner", "print_tree", "process_mode",
                  "ready", "renamed", "replace_by", "reparent", "request_ready", "rpc", "tree_entered", "tree_exited"}
        for owner, parent in REGISTERED.parents.items():
            taken = engine if parent == "Node" else engine - NODE
            own = REGISTERED.methods[owner].keys() | REGISTERED.signals[owner].keys() | REGISTERED.properties[owner].keys()
            self.assertEqual(own & taken, set(), owner)


class Scene(unittest.TestCase):
    def setUp(self):
        self.text = (DEMO / "tavern.tscn").read_text(encoding="utf-8")
        parts = re.split(r"^\[(.*?)\]$", self.text, flags=re.M)
        self.parts = [(dict(re.findall(r'(\w+)="([^"]*)"', head)), head.split()[0], body)
                      for head, body in zip(parts[1::2], parts[2::2])]
        self.nodes = {}
        for tags, kind, body in self.parts:
            if kind == "node":
                parent = tags.get("parent")
                path = tags["name"] if parent in (".", None) else f"{parent}/{tags['name']}"
                self.nodes["." if parent is None else path] = (tags["type"], body)

    def test_nodes_and_resources_have_only_properties_that_exist(self):
        seen = set()
        for tags, kind, body in self.parts:
            owner = tags.get("type", "")
            if kind in ("node", "sub_resource") and owner.startswith("Oam"):
                for name in re.findall(r"^(\w+) = ", body, re.M):
                    self.assertEqual(REGISTERED.properties[owner].get(name), "rw", f"{owner}.{name}")
                seen.add(owner)
        self.assertLessEqual({"OamBridge", "OamNpc", "OamWorld", "OamTool"}, seen)

    def test_references_inside_the_scene_lead_somewhere(self):
        resources = {tags["id"] for tags, kind, _ in self.parts if kind in ("sub_resource", "ext_resource")}
        used = set(re.findall(r'(?:Sub|Ext)Resource\("([^"]+)"\)', self.text))
        self.assertEqual(used, resources)
        for path, (_, body) in self.nodes.items():
            for target in re.findall(r'NodePath\("([^"]+)"\)', body):
                self.assertIn(self.resolve(path, target), self.nodes)

    def resolve(self, start, path):
        steps = start.split("/")
        for step in path.split("/"):
            steps = steps[:-1] if step == ".." else [*steps, step]
        return "/".join(steps)

    def test_the_script_finds_its_nodes_and_their_types(self):
        script = (DEMO / "tavern.gd").read_text(encoding="utf-8")
        for path in re.findall(r"\$([\w/]+)", script):
            self.assertIn(path, self.nodes)
        for kind, path in re.findall(r": (\w+) = \$([\w/]+)", script):
            self.assertEqual(self.nodes[path][0], kind)

    def test_handled_tools_are_those_of_the_scene(self):
        script = (DEMO / "tavern.gd").read_text(encoding="utf-8")
        defined = {re.search(r'^name = "(.*)"$', body, re.M).group(1)
                   for tags, kind, body in self.parts if tags.get("type") == "OamTool"}
        self.assertEqual(set(re.findall(r'handle_tool\("(\w+)"', script)), defined)


class Files(unittest.TestCase):
    def test_paths_lead_to_files(self):
        sources = [DEMO / "project.godot", *DEMO.glob("*.tscn"), *DEMO.glob("*.gd"), *ADDON.glob("*.gdextension")]
        paths = {path for source in sources for path in re.findall(r'"res://([^"]+)"', source.read_text(encoding="utf-8"))}
        self.assertIn("tavern.tscn", paths)
        for path in paths:
            if "/bin/" not in path:
                self.assertTrue((DEMO / path).is_file(), path)

    def test_the_library_is_where_the_addon_looks_for_it(self):
        text = (ADDON / "open_apple_models.gdextension").read_text(encoding="utf-8")
        libraries = re.findall(r'^\w+\.(?:debug|release)[\w.]* = "res://addons/open_apple_models/(.+)"$', text, re.M)
        self.assertTrue(any((ADDON / library).is_file() for library in libraries))
        self.assertIn('entry_symbol = "open_apple_models_init"', text)

    def test_icons_are_of_classes_that_exist(self):
        text = (ADDON / "open_apple_models.gdextension").read_text(encoding="utf-8")
        icons = re.findall(r"^(Oam\w+) = ", text, re.M)
        self.assertTrue(icons)
        for owner in icons:
            self.assertIn(owner, REGISTERED.parents)


if __name__ == "__main__":
    REGISTERED = Registered(Path(sys.argv.pop()).read_text(encoding="utf-8"))
    unittest.main()
