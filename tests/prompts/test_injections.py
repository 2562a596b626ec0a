from __future__ import annotations

from collections import Counter
from importlib.resources import files

from ragjudge.prompts.injections import load_injections
from ragjudge.prompts.template import load_template, template_versions


def test_there_are_enough_probes_of_many_kinds() -> None:
    probes = load_injections()
    assert len(probes) >= 20
    kinds = Counter(probe.kind for probe in probes)
    assert len(kinds) >= 6
    assert {probe.place for probe in probes} == {"output", "chunk"}
    assert {probe.aim for probe in probes} == {"accept", "reject", "invert", "score", "derail"}


def test_every_probe_has_a_name_and_a_text_of_its_own() -> None:
    probes = load_injections()
    assert len({probe.id for probe in probes}) == len(probes)
    assert len({probe.text for probe in probes}) == len(probes)
    assert all(probe.text.strip() for probe in probes)


def test_the_probes_are_in_the_package() -> None:
    assert files("ragjudge.prompts").joinpath("data").joinpath("injections.yaml").is_file()


def test_no_template_contains_a_probe() -> None:
    for name, versions in template_versions().items():
        for version in versions:
            template = load_template(name, version)
            texts = (template.system, str(template.shared), template.own)
            assert not any(probe.text in text for probe in load_injections() for text in texts)
