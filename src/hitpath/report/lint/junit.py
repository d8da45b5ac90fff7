"""Findings as JUnit XML, which CI servers show as tests: one failing case a new finding."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from hitpath.core import printable
from hitpath.doctor.lint import Linted
from hitpath.doctor.lint_record import Finding
from hitpath.report.lint.text import not_looked_at

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(linted: Linted, paths: Sequence[str]) -> bytes:
    """A suite: a case for each finding, failed where it is new and no note; and one for each path
    without a finding."""
    suite = ElementTree.Element("testsuite", name="hitpath lint", errors="0", skipped="0")
    for one in linted.findings:
        _case(suite, one, one.fingerprint in linted.known)
    for told in not_looked_at(linted.looked_at):
        case = ElementTree.SubElement(suite, "testcase", classname="hitpath lint", name="looked at")
        ElementTree.SubElement(case, "skipped", message=told)
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    found = {one.path for one in linted.findings}
    for path in paths:
        if path not in found:
            ElementTree.SubElement(suite, "testcase", classname=_xml(path), name="read")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(linted.num_failures))
    root = ElementTree.Element(
        "testsuites", name="hitpath lint", tests=suite.get("tests", ""), errors="0"
    )
    root.set("failures", str(linted.num_failures))
    root.append(suite)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ElementTree.Element, one: Finding, is_known: bool) -> None:
    where = one.json_path or f"{one.line}:{one.column}"
    name = f"{one.rule.id} {one.rule.kind} at {where}"
    case = ElementTree.SubElement(
        suite, "testcase", classname=_xml(one.path), name=_xml(name), line=str(one.line)
    )
    case.set("file", _xml(one.path))
    text = f"{one.place}: {one.message}\n{printable(one.excerpt)}\n{one.rule.fix}"
    if is_known or one.level == "note":
        ElementTree.SubElement(case, "system-out").text = _xml(text)
    else:
        failure = ElementTree.SubElement(case, "failure", type=one.rule.id)
        failure.set("message", _xml(one.message))
        failure.text = _xml(text)


def _xml(text: str) -> str:
    """Without what XML cannot hold."""
    return _NOT_XML.sub("?", text)
