"""English function words that the rules for clauses go by. All in lower case."""

from __future__ import annotations

from ragjudge.text.verbs import ADVERBS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COORDINATORS = _words("and but so yet while whereas")
SUBJECT_PRONOUNS = _words("he she they we i")
PRONOUNS = SUBJECT_PRONOUNS | _words("it you everyone everybody someone somebody everything something")
OBJECT_PRONOUNS = _words("him her them us me it himself herself itself themselves each")
QUANTIFIERS = _words(
    """
    this that these those some many most few several all both each every one another others no any half much
    more none such two three four five six seven eight nine ten eleven twelve thirteen twenty thirty forty
    fifty hundreds thousands millions nobody
    """
)
DETERMINERS = _words("the a an this these those its his her their our my your whose no every each another")
RELATIVES = _words("who whom whose which where when")
# Behind these no word of the sentence says whether a coordination stands inside or outside.
HARD = _words(
    """
    that if whether unless either neither how what why whatever whoever lest provided suppose supposing
    assuming whenever wherever without
    """
)
CONDITIONS = _words("if unless whether lest supposing assuming provided")
SOFT = RELATIVES | _words("because although though since until while whereas before after as once than till")
# Those of them that may open a sentence and leave what stands behind the comma a statement of its own.
REASONS = _words("because although though since until while whereas before after as")
PREPOSITIONS = _words(
    """
    in on at by from with for to of during under over despite among amongst between through throughout
    following due into onto within across around about against along behind below beneath beside besides
    beyond inside outside near off out toward towards upon via per unlike like including alongside amid
    without above since until till after before as than
    """
)
# Behind "after his death, …" the second half holds as well; behind "in his view, …" it need not.
SEQUENCES = _words("after before following since until by")
UNITS = _words(
    """
    second seconds minute minutes hour hours day days night nights week weeks month months season seasons year
    years decade decades century centuries time times
    """
)
LATER = _words("before after since later earlier ago afterwards prior")
CONNECTIVES = _words(
    """
    however therefore thus moreover furthermore consequently instead nevertheless nonetheless meanwhile indeed
    then hence today yesterday afterwards afterward similarly likewise additionally accordingly conversely
    overall further second third first finally lastly later rather
    """
)
FORMULAS = (
    "in fact",
    "in addition",
    "in contrast",
    "in turn",
    "in total",
    "as a result",
    "for example",
    "for instance",
    "of course",
    "after all",
    "by contrast",
    "on the other hand",
    "at the same time",
    "as well",
)
NEGATIONS = _words("never rarely hardly seldom scarcely barely only")
# Subjects that say something else of two things together than of each.
NOT_CARRIED = _words(
    "no nobody none few neither little nothing only hardly either any anyone nor or who what which"
)
_NOT_ADVERBS = _words(
    """
    family italy july assembly ally bully reply supply belly lily fly early daily weekly monthly yearly only
    elderly friendly lovely likely unlikely rely apply multiply comply july sicily thessaly
    """
)
_TITLES = _words(
    """
    president king queen pope emperor empress prince princess saint general captain sir lady lord duke count
    pastor bishop professor doctor judge senator governor mayor minister director actor actress singer
    composer first second third last new old great late whole entire young former modern many two early
    ancient original nearby western eastern northern southern central three four
    """
)


def is_adverb(low: str) -> bool:
    """Tell whether a word is an adverb that may stand beside a verb, or looks like one with "-ly"."""
    return low in ADVERBS or (low.endswith("ly") and len(low) > 4 and low not in _NOT_ADVERBS)


def goes_before_name(low: str) -> bool:
    """Tell whether a name may follow a word and belong to the same phrase."""
    return low in _TITLES or low in PREPOSITIONS or low in DETERMINERS or low.endswith("'s")
