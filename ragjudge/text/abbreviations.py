"""Words that decide whether a full stop ends a sentence. All in lower case, without the last full stop.

Punkt's own list comes from a newspaper; these are the kinds that answers and documents add to it.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Something always follows these: a name, a figure, an example.
NEVER_LAST = _words(
    """
    mr mrs ms mx dr drs prof st sr. ste mme mlle fr. rev hon gen col lt capt cmdr cdr maj sgt cpl pvt adm
    brig sen rep gov pres supt insp det messrs amb fig figs eq eqs eqn eqns thm lem prop. def. chap chs secs
    pars vols arts nos exs refs ref. e.g i.e eg ie viz cf vs v approx ca c. resp esp incl excl lit cit
    op.cit loc ibid. al. mt ft. pt. no. dept. art.
    """
)

# These often end a sentence, too: the next word decides.
MAYBE_LAST = _words(
    """
    al etc inc ltd co corp llc plc bros gmbh assn assoc dept univ inst intl natl govt admin est ave blvd rd
    hwy jr sr esq ph.d phd m.d b.a m.a b.sc m.sc m.b.a ll.b ll.m d.phil j.d r.n u.s u.k u.n e.u u.s.a
    u.s.s.r u.a.e d.c n.y l.a a.m p.m am pm b.c a.d b.c.e c.e jan feb mar apr jun jul aug sep sept oct nov
    dec mon tue tues wed thu thur thurs fri ed eds trans repr rev'd ibid et.al suppl abbr dist max. min. avg
    temp misc hist orig cont ext tel ph a.k.a f.k.a n.b p.s r.i.p i.q i.v i.m p.o b.i.d t.i.d q.i.d q.d
    p.r.n
    """
)

# An abbreviation only in front of a figure ("No. 5", "p. 12"); otherwise an ordinary word or a letter.
BEFORE_FIGURE = _words(
    """
    no nos nr art arts sec ch p pp vol para par app ex cap line ver pt ser tab op fig figs eq eqs ref refs
    stat §
    """
)

# Titles that, unlike "Gen." or "Rep.", are not said of an office of "the U.S."
PERSONAL_TITLES = _words("mr mrs ms dr prof")

# What follows "5 p.m." inside the same sentence.
AFTER_CLOCK_TIME = _words(
    """
    monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun january february
    march april may june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec est edt cst cdt mst mdt pst pdt gmt utc bst cet cest eastern central mountain pacific
    greenwich
    """
)

# Names that carry an exclamation or question mark.
MARKED_NAMES = _words("yahoo jeopardy yum wham oklahoma mamma! panic! guess moulin chips")

# Words that begin a sentence when they have a capital letter and follow an abbreviation or an initial.
STARTERS = _words(
    """
    the a an it he she they we you this that these those there here its his her their our my your i in on at
    as by for from with without to of off into under over between among during despite unlike until since
    after before because while when where whereas although though if unless once whenever about above and
    but or nor so yet then thus therefore hence however moreover furthermore additionally meanwhile
    nevertheless nonetheless instead also besides likewise similarly finally first second third next later
    today some many most several both each every all any no not none few other others another such what who
    whom whose which why how is are was were do does did has have had can could will would should may might
    must let please according nearly almost only even just perhaps maybe yes overall still again now one two
    three it's he's she's there's that's they're we're you're i'm i've didn't don't doesn't isn't wasn't
    can't won't let's
    """
)
