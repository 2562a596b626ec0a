"""Questions in the shape that a profile publishes, in the place of our own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ragjudge.errors import ConfigError
from ragjudge.prompts.profile import load_profile
from ragjudge.prompts.template import Template
from ragjudge.records import Call, Check

if TYPE_CHECKING:
    from ragjudge.prompts.profile import Profile


def in_profile(call: Call, profile: Profile) -> Check:
    """Ask a question the way a profile does.

    Claim, chunks and slots are taken from the check, with the profile's delimiters broken up in them.

    Raises:
        ConfigError: The profile's model was not trained for this question.
    """
    templates = profile_templates(profile.identity)
    template = templates.get(_asked_as(call.template)) if isinstance(call, Check) else None
    if template is None or not isinstance(call, Check):
        raise ConfigError(
            f"the judge follows the profile {profile.name!r}, which knows no question {call.template!r}; it "
            f"knows: {', '.join(templates)}.",
            hint="grade this metric with another judge, or without a profile (`profile: none`)",
        )
    chunks = [profile.harmless(call.shared[each.text : each.text_end]) for each in call.segments]
    slots = {name: profile.harmless(text) for name, text in call.slots}
    return template.check(profile.harmless(call.claim), slots, chunks)


def _asked_as(template: str) -> str:
    """Return the name of the question that a template asks, however much it shows."""
    return template.removesuffix("_excerpt")


@cache
def profile_templates(identity: str) -> Mapping[str, Template]:
    """Return the templates of a profile, by the name of the template that each takes the place of.

    Args:
        identity: ``name`` or ``name@version``.
    """
    profile = load_profile(identity)
    return {
        name: Template.model_validate(_with_name(question, f"{profile.name}.{name}", profile.version))
        for name, question in profile.questions.items()
    }


def _with_name(question: Mapping[str, Any], name: str, version: int) -> dict[str, Any]:
    return {**question, "name": name, "version": version}
