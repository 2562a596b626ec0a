"""Plans for a judge that follows a profile: the same pieces, asked about in its own words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ragjudge.metrics.base import Plan
from ragjudge.prompts.profiled import in_profile
from ragjudge.records import Call, Check

if TYPE_CHECKING:
    from ragjudge.prompts.profile import Profile


def plan_in_profile(plan: Plan, profile: Profile | None) -> Plan:
    """Return a plan with its questions in a profile's shape; without a profile the plan itself.

    Raises:
        ConfigError: The profile's model was not trained for one of the questions.
    """
    if profile is None or not plan.calls:
        return plan
    asked: dict[int, Check] = {}

    def put(call: Call) -> Check:
        # A draft's checks are among the plan's calls; both must become the same ones.
        if id(call) not in asked:
            asked[id(call)] = in_profile(call, profile)
        return asked[id(call)]

    return replace(
        plan,
        calls=tuple(put(call) for call in plan.calls),
        drafts=tuple(
            replace(draft, checks=tuple(put(check) for check in draft.checks)) for draft in plan.drafts
        ),
    )
