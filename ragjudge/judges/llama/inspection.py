"""What a judge would do with a model, found out without loading its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragjudge.errors import JudgeUnavailableError
from ragjudge.judges.llama.chat import ChatFormat, chat_format
from ragjudge.judges.llama.labels import probe_labels
from ragjudge.judges.llama.model import adds_first_token, neutraliser_of
from ragjudge.judges.llama.questions import Questioner, TooLong

if TYPE_CHECKING:
    from ragjudge.prompts.profile import Profile
    from ragjudge.records import Check


@dataclass(frozen=True)
class Inspection:
    """What is asked of a model, and how its answer is read.

    Attributes:
        chat: Its prompt frame.
        prompt: The whole prompt of a check.
        tokens: Length of that prompt; None without llama.cpp.
        labels: The tokens that mean each label; None without llama.cpp.
        missing: Why llama.cpp could not be asked; the first and the last token's texts are then left out.
    """

    chat: ChatFormat
    prompt: str
    tokens: int | None = None
    labels: Mapping[str, Sequence[str]] | None = None
    missing: str | None = None


def inspect_model(
    path: Path, check: Check, *, template: str | None, plain: bool, profile: Profile | None, window: int
) -> Inspection:
    """Render a check for a model.

    Args:
        path: The model's file.
        check: The check, in the profile's shape if there is one.
        template: Its chat template.
        plain: Whether it is asked in plain text all the same.
        profile: How it wants to be asked.
        window: Longest prompt in tokens.

    Raises:
        ModelFileError: The file cannot be loaded, or its chat template cannot be used.
        LabelsAlikeError: The model cannot tell the check's labels apart.
    """
    from ragjudge.gguf.header import check_gguf
    from ragjudge.judges.llama.library import open_vocabulary

    check_gguf(path)
    try:
        with open_vocabulary(path) as vocabulary:
            bos, eos = vocabulary.bos(), vocabulary.eos()
            chat = chat_format(
                template,
                bos=bos.text if bos else "",
                eos=eos.text if eos else "",
                plain=plain,
                profile=profile,
            )
            neutralise = neutraliser_of(vocabulary, chat)
            questioner = Questioner(
                vocabulary,
                chat,
                neutralise,
                add_special=adds_first_token(vocabulary, chat),
                window=window,
            )
            (asked,) = questioner.questions([check])
            return Inspection(
                chat,
                chat.render(check.system, neutralise(check.shared + check.own)),
                None if isinstance(asked, TooLong) else len(asked[0].tokens),
                {
                    label: [vocabulary.piece(token).decode("utf-8", "replace") for token in tokens]
                    for label, tokens in probe_labels(vocabulary, check.labels).items()
                },
            )
    except JudgeUnavailableError as error:
        chat = chat_format(template, bos="", eos="", plain=plain, profile=profile)
        return Inspection(chat, chat.render(check.system, check.shared + check.own), missing=error.message)
